/* figures: { NAME: { title, says, share, lower } }; models: [{ name, parameters, languages,
   differing, values: { NAME: [mean, low, high, plus_minus] }, by: { NAME: [value of each language] } }];
   quantiles: of Student's t at 97.5%, of 1, 2, … degrees of freedom; files: { NAME: text }. */
const { figures: FIGURES, models: MODELS, languages: LANGUAGES, differing: DIFFERING, quantiles:
  QUANTILES, sort: SORT, files: FILES } = JSON.parse(document.getElementById("data").textContent);

const NAMED = 15; // at most, points with names
const byId = (id) => document.getElementById(id);
const meanOf = (model, name) => (name === "parameters" ? model.parameters : model.values[name][0]);
const titleOf = (name) => FIGURES[name].title;
const known = (value) => value !== null && value !== undefined;

/* The models whose name contains all words of the filter. */
function chosen() {
  const words = byId("filter").value.toLowerCase().split(/\s+/);
  return MODELS.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}

/* Fill a table that is sorted by a column; its headings are buttons.

   columns: [{ key, name, says, value (of a row), text, rising }]; the first one has words. */
function fillTable(place, columns, rows, state) {
  const found = columns.find(({ key }) => key === state.by);
  const [by, rising] = found ? [found, state.rising] : [columns[0], true];
  const order = (one, other) => {
    const [a, b] = [by.value(one), by.value(other)];
    if (!known(a) || !known(b)) return known(b) - known(a);
    return (a < b ? -1 : a > b ? 1 : 0) * (rising ? 1 : -1);
  };
  const heads = columns.map((column, i) => {
    const button = make("button", { class: "sort", type: "button", title: column.says ?? "" },
      column.name);
    button.addEventListener("click", () => {
      state.rising = state.by === column.key ? !state.rising : column.rising;
      state.by = column.key;
      fillTable(place, columns, rows, state);
    });
    return make("th", { class: i ? "figure-cell" : "", scope: "col",
      ...(column === by ? { "aria-sort": rising ? "ascending" : "descending" } : {}) }, button);
  });
  const lines = [...rows].sort(order).map((row) => make("tr", {}, ...columns.map((column, i) =>
    make("td", i ? { class: "figure-cell" } : {}, column.text(row)))));
  place.replaceChildren(make("div", { class: "scroll", tabindex: "0" }, make("table", {},
    make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...lines))));
}

const NAME = { key: "name", name: "model", rising: true, value: ({ name }) => name.toLowerCase(),
  text: ({ name }) => name };

function cell(model, name) {
  const [mean, low, high, half] = model.values[name];
  if (!byId("intervals").checked) return show(mean);
  return show(mean) + (known(half) ? ` ± ${show(half)}` : "") +
    (known(low) ? `\n${show(low)} to ${show(high)}` : "");
}

const STATE = { by: SORT, rising: SORT === "name" || SORT === "parameters" ||
  FIGURES[SORT]?.lower === true };

function drawTable() {
  const shown = [...document.querySelectorAll("#figures input:checked")].map(({ value }) => value);
  const columns = [NAME,
    { key: "parameters", name: "size", rising: true, value: (model) => model.parameters,
      text: ({ parameters }) => (known(parameters) ? shorten(parameters) : "–") },
    { key: "languages", name: "languages", rising: false, value: (model) => model.languages,
      text: (model) => `${model.languages}` },
    ...DIFFERING.map((key, i) => ({ key: `differing-${key}`, name: key, rising: true,
      value: (model) => model.differing[i], text: (model) => model.differing[i] })),
    ...shown.map((key) => ({ key, name: titleOf(key), says: FIGURES[key].says,
      rising: FIGURES[key].lower === true, value: (model) => meanOf(model, key),
      text: (model) => cell(model, key) }))];
  fillTable(byId("board"), columns, chosen(), STATE);
}

const OF_LANGUAGES = { by: "mean", rising: false };

function drawLanguages() {
  const place = byId("languages");
  if (!place) return;
  const name = byId("language-figure").value;
  const codes = byId("codes").value.toLowerCase().split(/[\s,]+/).filter(Boolean);
  const shown = LANGUAGES.map((_, i) => i).filter((i) => !codes.length ||
    codes.includes(LANGUAGES[i].toLowerCase()));
  const mean = (model) => {
    const values = shown.map((i) => model.by[name][i]).filter(known);
    return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
  };
  const rising = FIGURES[name].lower === true;
  const columns = [NAME, { key: "mean", name: "mean", rising, value: mean,
    text: (model) => show(mean(model)) }, ...shown.map((i) => ({ key: LANGUAGES[i],
    name: LANGUAGES[i], rising, value: (model) => model.by[name][i],
    text: (model) => show(model.by[name][i]) }))];
  fillTable(place, columns, chosen(), OF_LANGUAGES);
}

/* Least squares of points { x, y }: slope, intercept, r, and half the 95% interval of the slope. */
function regress(points) {
  const n = points.length;
  const mean = (key) => points.reduce((sum, point) => sum + point[key], 0) / n;
  const [x, y] = [mean("x"), mean("y")];
  const sum = (f) => points.reduce((total, point) => total + f(point.x - x, point.y - y), 0);
  const varies = (key) => points.some((point) => point[key] !== points[0][key]);
  if (n < 3 || !varies("x")) return null;
  const [xx, yy, xy] = [sum((a) => a * a), sum((a, b) => b * b), sum((a, b) => a * b)];
  const slope = xy / xx;
  const rest = Math.max(0, yy - slope * xy);
  return { slope, intercept: y - slope * x, r: varies("y") ? xy / Math.sqrt(xx * yy) : null,
    half: QUANTILES[n - 3] * Math.sqrt(rest / (n - 2) / xx) };
}

/* The points of two figures; many names would hide each other. */
function pointsOf(x, y) {
  const models = chosen().filter((model) => known(meanOf(model, x)) && known(meanOf(model, y)));
  return models.map((model) => {
    const [across, up] = [meanOf(model, x), meanOf(model, y)];
    const first = x === "parameters" ? `${shorten(across)} parameters` : `${titleOf(x)} ${show(across)}`;
    return { x: across, y: up, name: models.length > NAMED ? "" : model.name, group: "",
      tip: `${model.name}\n${first}\n${titleOf(y)} ${show(up)}` };
  });
}

const signed = (value) => (value < 0 ? "" : "+") + value.toFixed(2);

function drawSize() {
  const name = byId("size-figure").value;
  const points = pointsOf("parameters", name);
  const found = regress(points.map(({ x, y }) => ({ x: Math.log2(x), y })));
  const [scale, unit] = FIGURES[name].share ? [100, " points"] : [1, ""];
  byId("slope").textContent = !found ? "A slope needs three models of different size." :
    `${signed(scale * found.slope)}${unit} per doubling of the parameters (95%: ` +
    `${signed(scale * (found.slope - found.half))} to ${signed(scale * (found.slope + found.half))}), ` +
    `r = ${show(found.r)}, ${points.length} models.`;
  drawPoints(byId("size"), points, { x: "parameters", y: titleOf(name), log2: true,
    line: found && [found.slope, found.intercept] });
}

function drawPair() {
  const [x, y] = ["pair-x", "pair-y"].map((id) => byId(id).value);
  const points = pointsOf(x, y);
  const found = regress(points);
  byId("correlation").textContent = known(found?.r) ?
    `r = ${show(found.r)}, ${points.length} models.` :
    "A correlation needs three models with different values.";
  drawPoints(byId("pair"), points, { x: titleOf(x), y: titleOf(y), log2: false, line: null });
}

function drawModels() {
  if (!byId("bars")) return;
  const name = byId("bars-figure").value;
  const models = chosen().filter((model) => known(meanOf(model, name)));
  models.sort((one, other) => (meanOf(other, name) - meanOf(one, name)) *
    (FIGURES[name].lower ? -1 : 1));
  const bounds = models.map(({ values }) => (known(values[name][1]) ? values[name].slice(1, 3) : null));
  drawBars(byId("bars"), models.map((model) => model.name), [{ bounds,
    values: models.map((model) => meanOf(model, name)),
    tips: models.map((model) => `${model.name}\n${titleOf(name)} ${cell(model, name)}`) }], []);
}

function drawPictures() {
  drawSize();
  drawPair();
  drawModels();
}

function drawAll() {
  drawTable();
  drawLanguages();
  drawPictures();
}

drawAll();
redraw(drawPictures);
byId("filter").addEventListener("input", drawAll);
byId("intervals").addEventListener("change", drawTable);
byId("figures").addEventListener("change", drawTable);
for (const [id, again] of [["size-figure", drawSize], ["pair-x", drawPair], ["pair-y", drawPair],
  ["bars-figure", drawModels], ["language-figure", drawLanguages]]) {
  byId(id)?.addEventListener("change", again);
}
byId("codes")?.addEventListener("input", drawLanguages);
document.addEventListener("click", ({ target }) => {
  const name = target.dataset?.file;
  if (!name) return;
  const address = `data:text/plain;charset=utf-8,${encodeURIComponent(FILES[name])}`;
  make("a", { href: address, download: name }).click();
});
