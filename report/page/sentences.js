const DATA = JSON.parse(document.getElementById("data").textContent);

const span = (low, high, from, to) => (value) => from + ((value - low) / (high - low)) * (to - from);

/* Both wordings with the bands of their 95% intervals. */
function drawCurve() {
  const place = document.getElementById("curve");
  const language = document.querySelector("select.curve").value;
  const rows = DATA.curves.map((curve) => curve[language]);
  const [width, bottom] = [Math.min(place.parentElement.clientWidth, 640), 310];
  const x = span(0.5, rows.length + 0.5, 64, width - 16);
  const y = span(0, 1, bottom, 16);
  const parts = [0, 0.2, 0.4, 0.6, 0.8, 1].flatMap((value) => [
    line(64, y(value), width - 16, y(value), { stroke: "var(--line)" }),
    label(56, y(value), `${Math.round(100 * value)}%`, { "text-anchor": "end" }),
  ]);
  rows.forEach((_, i) => {
    parts.push(label(x(i + 1), bottom + 16, `${i + 1}`, { "text-anchor": "middle" }));
  });
  parts.push(label((64 + width) / 2, bottom + 36, "k of recall@k", { "text-anchor": "middle" }));
  DATA.sides.forEach((side, index) => {
    const colour = `var(--bar-${index})`;
    const values = rows.map((row) => row[side]);
    const bounds = rows.map((row, i) => row[`${side}_ci`] ?? [values[i], values[i]]);
    const path = (heights, places) => heights.map((v, i) => `${x(places[i] + 1)} ${y(v)}`).join("L");
    const all = [...values.keys()];
    const band = `M${path(bounds.map(([, high]) => high), all)}` +
      `L${path(bounds.map(([low]) => low).toReversed(), all.toReversed())}Z`;
    parts.push(
      svg("path", { d: band, fill: colour, opacity: 0.2, "pointer-events": "none" }),
      svg("path", { class: "curve", d: `M${path(values, all)}`, fill: "none", stroke: colour,
        "stroke-width": 2, "pointer-events": "none", "stroke-dasharray": index ? "6 4" : "none" }),
      ...values.map((value, i) => svg("circle", { cx: x(i + 1), cy: y(value), r: 4, fill: colour,
        "data-tip": `${side}, recall@${i + 1}: ${show(value)}` + within(rows[i], side) })));
  });
  draw(place, width, bottom + 50, ...parts);
}

function within(row, side) {
  const bounds = row[`${side}_ci`];
  return bounds ? ` (${bounds.map((bound) => show(bound)).join(" to ")})` : "";
}

/* Quartiles, median, whiskers and mean of the ranks, 1 at the top. */
function drawBoxes() {
  const place = document.getElementById("boxes");
  const count = DATA.languages.length;
  const room = Math.min(place.parentElement.clientWidth, 160 + 120 * count);
  const width = Math.max(room, 90 + 44 * count);
  const [top, bottom] = [16, 350];
  const worst = Math.max(2, ...DATA.languages.flatMap((language) =>
    DATA.sides.map((side) => Math.max(DATA.boxes[language][side].high, DATA.boxes[language][side].mean))));
  const y = span(1, worst, top, bottom);
  const step = Math.max(1, Math.ceil((worst - 1) / 8));
  const parts = [];
  for (let rank = 1; rank <= worst; rank += step) {
    parts.push(line(56, y(rank), width - 8, y(rank), { stroke: "var(--line)" }),
      label(48, y(rank), `${rank}`, { "text-anchor": "end" }));
  }
  parts.push(label(0, 0, "rank", { transform: `translate(16 ${(top + bottom) / 2}) rotate(-90)` }));
  const group = (width - 64) / count;
  const thick = Math.min(32, group / 2 - 8);
  DATA.languages.forEach((language, i) => {
    const middle = 56 + (i + 0.5) * group;
    parts.push(label(middle, bottom + 18, language, { "text-anchor": "middle" }));
    DATA.sides.forEach((side, index) => {
      const box = DATA.boxes[language][side];
      const colour = `var(--bar-${index})`;
      const left = middle + (index ? 3 : -3 - thick);
      const flat = (value, dash = "none") => line(left, y(value), left + thick, y(value),
        { stroke: colour, "stroke-width": 2, "stroke-dasharray": dash });
      const centre = left + thick / 2;
      parts.push(
        line(centre, y(box.low), centre, y(box.q1), { stroke: colour }),
        line(centre, y(box.q3), centre, y(box.high), { stroke: colour }),
        svg("rect", { class: "box", x: left, y: y(box.q1), width: thick,
          height: Math.max(1, y(box.q3) - y(box.q1)), fill: colour, "fill-opacity": 0.25,
          stroke: colour }),
        flat(box.median), flat(box.mean, "3 3"),
        svg("rect", { x: left, y: y(box.low) - 4, width: thick, fill: "transparent",
          height: y(box.high) - y(box.low) + 8, "data-tip": `${language}, ${side}\n` +
          Object.entries(box).map(([name, value]) => `${name} ${value.toFixed(2)}`).join("\n") }));
    });
  });
  draw(place, width, bottom + 34, ...parts);
}

/* The figures beside recall@1 of the chosen language; the first choice is QE where measured. */
function chooseFigures() {
  const chosen = document.querySelector("select.beside");
  const names = Object.keys(DATA.changes[document.querySelector("select.changed").value].correlations);
  const kept = [chosen.value, "QE", names[0]].find((name) => names.includes(name));
  chosen.replaceChildren(...names.map((name) => new Option(name, name, name === kept, name === kept)));
  drawChanges();
}

/* The change of recall@1 of each relation beside that of another figure. */
function drawChanges() {
  const place = document.getElementById("changes");
  const found = DATA.changes[document.querySelector("select.changed").value];
  const name = document.querySelector("select.beside").value;
  const points = Object.keys(found.n_queries).flatMap((relation) => {
    const [x, y] = [found.figures[name]?.[relation], found.figures["recall@1"][relation]];
    const tip = `${relation}\n${name} ${show(x)}\nrecall@1 ${show(y)}`;
    return x == null || y == null ? [] : [{ x, y, tip, name: relation }];
  });
  const { n, r, p, ci } = found.correlations[name];
  const mean = (key) => points.reduce((sum, point) => sum + point[key], 0) / points.length;
  const [middle, height] = [mean("x"), mean("y")];
  const slope = points.reduce((sum, { x, y }) => sum + (x - middle) * (y - height), 0) /
    points.reduce((sum, { x }) => sum + (x - middle) ** 2, 0);
  const interval = ci ? ` (${ci.map((end) => end.toFixed(2)).join(" to ")})` : "";
  drawPoints(place, points, { y: "change of recall@1",
    x: r == null ? `${name}, n = ${n}, r undefined` :
      `${name}, n = ${n}, r = ${r.toFixed(2)}${interval}, p = ${p.toFixed(3)}`,
    line: r == null ? null : [slope, height - slope * middle], log2: false });
}

function drawAll() {
  drawCurve();
  drawBoxes();
  drawChanges();
}

chooseFigures();
drawAll();
document.querySelector("select.curve").addEventListener("change", drawCurve);
document.querySelector("select.changed").addEventListener("change", chooseFigures);
document.querySelector("select.beside").addEventListener("change", drawChanges);
redraw(drawAll);
