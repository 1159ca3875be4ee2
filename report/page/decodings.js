const { runs: RUNS } = JSON.parse(document.getElementById("data").textContent);

const byId = (id) => document.getElementById(id);
const within = (bounds) => (bounds ? ` (${show(bounds[0])} to ${show(bounds[1])})` : "");
const chosenRun = (id) => RUNS[byId(id)?.value ?? 0];

function drawAccuracy() {
  const all = [...new Set(RUNS.flatMap((run) => run.results.languages))];
  const rate = (code) => RUNS[0].results.accuracy[code] ?? -1;
  all.sort((one, two) => rate(two) - rate(one));
  const series = RUNS.map(({ name, results }) => {
    const values = all.map((code) => results.accuracy[code] ?? null);
    const bounds = all.map((code) => results.intervals.accuracy?.[code] ?? null);
    return { values, bounds, tips: all.map((code, i) =>
      `${name}\n${code}: ${show(values[i])}${within(bounds[i])}`) };
  });
  drawBars(byId("accuracy"), all, series, []);
}

/* Accuracy with at most 1, 2, … masks: all answers, those of one token and of more. */
function drawMasks() {
  const place = byId("masks");
  if (!place) return;
  const curves = chosenRun("masks-run").results.by_masks?.[byId("masks-language").value];
  const count = curves?.all.length ?? 1;
  const [width, bottom] = [Math.min(place.parentElement.clientWidth, 640), 310];
  const known = Object.values(curves ?? {}).flat().filter((value) => value !== null);
  const high = Math.min(1, Math.ceil(10 * Math.max(0.1, ...known) - 1e-9) / 10);
  const x = (m) => 64 + ((m - 0.5) / count) * (width - 80);
  const y = (value) => bottom - (value / high) * (bottom - 16);
  const parts = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    line(64, y(share * high), width - 16, y(share * high), { stroke: "var(--line)" }),
    label(56, y(share * high), `${(100 * share * high).toFixed(1)}%`, { "text-anchor": "end" }),
  ]);
  for (let m = 1; m <= count; m += 1) {
    parts.push(label(x(m), bottom + 16, `${m}`, { "text-anchor": "middle" }));
  }
  parts.push(label((64 + width) / 2, bottom + 36, "largest number of masks",
    { "text-anchor": "middle" }));
  Object.entries(curves ?? {}).forEach(([name, values], index) => {
    const places = values.map((value, i) => [x(i + 1), y(value ?? 0)]);
    if (values.every((value) => value === null)) return;
    parts.push(svg("path", { class: "curve", d: `M${places.map((at) => at.join(" ")).join("L")}`,
      fill: "none", stroke: `var(--bar-${index})`, "stroke-width": 2 }),
    ...places.map(([cx, cy], i) => svg("circle", { cx, cy, r: 4, fill: `var(--bar-${index})`,
      "data-tip": `${name}, at most ${i + 1} masks: ${show(values[i])}` })));
  });
  draw(place, width, bottom + 50, ...parts);
}

function drawMap() {
  const place = byId("heat");
  if (!place) return;
  const { name, results } = chosenRun("heat-run");
  const codes = results.languages;
  const known = Object.values(results.coverlap).filter((value) => value !== null);
  const cells = codes.flatMap((one, row) => codes.map((two, column) => {
    const value = results.coverlap[`${one}-${two}`] ?? results.coverlap[`${two}-${one}`] ?? null;
    const tip = one === two ? `${one}: itself` : `${one} – ${two}: COverlap ${show(value)}`;
    return { row, column, value, tip, text: value === null || codes.length > 16 ? "" : show(value, 2),
      pair: null };
  }));
  const high = Math.max(0.05, Math.ceil(20 * Math.max(0, ...known) - 1e-9) / 20);
  drawHeat(place, codes, cells, { title: `COverlap, ${name}`, low: 0, high, ramp: RAMP, mark: null });
}

function drawAll() {
  drawAccuracy();
  drawMasks();
  drawMap();
}

drawAll();
for (const select of document.querySelectorAll("select.masks")) {
  select.addEventListener("change", drawMasks);
}
byId("heat-run")?.addEventListener("change", drawMap);
redraw(drawAll);
setUpReliability(RUNS);
