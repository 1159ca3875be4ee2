const DATA = JSON.parse(document.getElementById("data").textContent);
const SIDES = ["sentence", "template"];

/* The line of one wording and, below it, the band of its 95 % intervals. */
function curveTraces(language, side, index) {
  const rows = DATA.curves.map((curve) => curve[language]);
  const k = rows.map((_, i) => i + 1);
  const values = rows.map((row) => row[side]);
  const bounds = rows.map((row, i) => row[`${side}_ci`] ?? [values[i], values[i]]);
  const color = css(`--bar-${index}`);
  const tips = rows.map((row, i) => `${side}, recall@${i + 1}: ${values[i].toFixed(3)}` +
    (row[`${side}_ci`] ? ` (${bounds[i].map((bound) => bound.toFixed(3)).join(" to ")})` : ""));
  return [
    { type: "scatter", mode: "lines", hoverinfo: "skip", line: { width: 0 }, fill: "toself",
      fillcolor: color, opacity: 0.2, x: [...k, ...k.toReversed()],
      y: [...bounds.map(([, high]) => high), ...bounds.map(([low]) => low).toReversed()] },
    { type: "scatter", mode: "lines+markers", x: k, y: values, hovertext: tips, cliponaxis: false,
      hoverinfo: "text", line: { color, width: 2, dash: index ? "dash" : "solid" },
      marker: { size: 7, symbol: index ? "diamond" : "circle" } },
  ];
}

function drawCurve() {
  const place = document.getElementById("curve");
  const language = document.querySelector("select.curve").value;
  const width = Math.min(place.parentElement.clientWidth, 640);
  Plotly.react(place, SIDES.flatMap((side, index) => curveTraces(language, side, index)), {
    ...basics(width, 360), showlegend: false, margin: { l: 72, r: 16, t: 16, b: 44 },
    xaxis: { title: { text: "k" }, dtick: 1, fixedrange: true, showgrid: false },
    yaxis: { title: { text: "recall@k" }, range: [0, 1], tickformat: ".0%", fixedrange: true, zeroline: false,
      gridcolor: css("--line") },
  }, STILL);
}

function drawBoxes() {
  const place = document.getElementById("boxes");
  const traces = SIDES.map((side, index) => {
    const boxes = DATA.languages.map((language) => DATA.boxes[language][side]);
    const of = (name) => boxes.map((box) => box[name]);
    return { type: "box", name: side, x: DATA.languages.map(plain), q1: of("q1"),
      median: of("median"), q3: of("q3"), lowerfence: of("low"), upperfence: of("high"),
      mean: of("mean"), boxmean: true, boxpoints: false, marker: { color: css(`--bar-${index}`) } };
  });
  const count = DATA.languages.length;
  const room = Math.min(place.parentElement.clientWidth, 260 + 120 * count);
  const width = Math.max(room, 90 + 44 * count);
  Plotly.react(place, traces, {
    ...basics(width, 400), showlegend: false, boxmode: "group",
    margin: { l: 56, r: 16, t: 16, b: 44 },
    xaxis: { type: "category", fixedrange: true },
    yaxis: { title: { text: "rank" }, autorange: "reversed", fixedrange: true, zeroline: false,
      gridcolor: css("--line") },
  }, STILL);
}

function drawAll() {
  drawCurve();
  drawBoxes();
}

drawAll();
document.querySelector("select.curve").addEventListener("change", drawCurve);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
let waiting = 0;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(drawAll, 150);
});
