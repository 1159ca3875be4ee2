const DATA = JSON.parse(document.getElementById("data").textContent);
const WRITTEN = 16; // languages with values in the cells

const byId = (id) => document.getElementById(id);
const chosen = () => DATA.similarities.find(({ name }) => name === byId("similarity").value);
const labelOf = (place) => (byId("labels").value === "codes" ? DATA.languages : DATA.names)[place];

/* The place of a pair among the values: pairs are in the order of the languages. */
function pairIndex(one, two) {
  const [i, j] = one < two ? [one, two] : [two, one];
  return i * DATA.languages.length - (i * (i + 1)) / 2 + (j - i - 1);
}

function drawScatter() {
  const { name, line: fitted, places, values } = chosen();
  const points = places.flatMap((one, i) => places.slice(i + 1).map((two) => {
    const [x, y] = [values, DATA.values].map((of) => of[pairIndex(one, two)]);
    const pair = `${labelOf(one)} – ${labelOf(two)}`;
    return { x, y, name: pair, tip: `${pair}\n${name} ${show(x)}\n${DATA.of} ${show(y)}` };
  }));
  byId("scatter").dataset.name = `${name}-scatter`;
  drawPoints(byId("scatter"), points, { x: name, y: DATA.of, line: fitted });
}

function drawTable(place, title, values) {
  const order = DATA.orders[byId("order").value];
  const known = values.filter((value) => value !== null);
  const [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  const cells = order.flatMap((one, row) => order.map((two, column) => {
    const value = one === two ? null : values[pairIndex(one, two)];
    return { row, column, value, tip: `${labelOf(one)} – ${labelOf(two)}\n${title} ${show(value)}`,
      text: value === null || order.length > WRITTEN ? "" : show(value, 2) };
  }));
  const scale = { title, low, high: high > low ? high : low + 1, ramp: RAMP, mark: null };
  drawHeat(place, order.map(labelOf), cells, scale);
}

function drawAll() {
  const { name, says, title, values } = chosen();
  byId("says").textContent = `${name}: ${says}`;
  byId("title").textContent = `${name}: ${title}`;
  byId("name").textContent = name;
  byId("heat").dataset.name = name;
  drawScatter();
  drawTable(byId("figure"), DATA.of, DATA.values);
  drawTable(byId("heat"), name, values);
}

for (const id of ["similarity", "order", "labels"]) byId(id).addEventListener("change", drawAll);
drawAll();
redraw(drawAll);
