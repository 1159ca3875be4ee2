// MEASURES: the pair figures of results/figures.py, from name to title
const { runs: RUNS, measures: MEASURES } =
  JSON.parse(document.getElementById("data").textContent);
const KINDS = ["tied", "both_right", "both_wrong", "different"]; // as in answers.py
const SHOWN = 6;
// Cividis: made to be read alike with and without colour blindness; lighter is higher.
const RAMP = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173",
  "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];

const show = (value, digits = 3) => (value === null || value === undefined ? "–"
  : value.toFixed(digits).replace(/^-(?=[0.]+$)/, ""));

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function languageName(code) {
  try {
    const tag = code.replace(/_/g, "-");
    const name = new Intl.DisplayNames(["en"], { type: "language" }).of(tag);
    return name === tag ? code : `${code} – ${name}`;
  } catch {
    return code;
  }
}

function pairValue(results, measure, one, two) {
  const values = results[measure];
  const value = values[`${one}-${two}`];
  return value === undefined ? values[`${two}-${one}`] ?? null : value;
}

/* " (low to high)" of a figure's 95 % interval; nothing where there is none. */
function boundsOf(results, measure, ...names) {
  const known = results.intervals?.[measure] ?? {};
  const bounds = names.map((name) => known[name]).find((found) => found);
  return bounds ? ` (${show(bounds[0])} to ${show(bounds[1])})` : "";
}

/* Accuracy */

function drawAccuracy(place, runs) {
  const all = [...new Set(runs.flatMap((run) => run.results.languages))];
  const rate = (code) => runs[0].results.accuracy[code] ?? -1;
  const order = all.sort((one, two) => rate(two) - rate(one));
  const room = place.parentElement.clientWidth;
  const width = Math.min(room, 200 + 120 * order.length);
  const lying = width < 68 + 20 * order.length * Math.sqrt(runs.length);
  const traces = runs.map((run, index) => accuracyTrace(run, index, order, lying));
  const codes = { tickvals: order.map((_, i) => i), ticktext: order.map(plain), fixedrange: true,
    zeroline: false, showgrid: false, tickangle: 0, tickfont: { size: 12 },
    range: lying ? [order.length - 0.4, -0.6] : [-0.6, order.length - 0.4] };
  const share = { range: [0, 1], tickformat: ".0%", fixedrange: true, zeroline: false,
    gridcolor: css("--line") };
  if (lying) share.side = "top";
  const thick = 18 + 10 * (runs.length - 1);
  Plotly.react(place, traces, {
    ...basics(width, lying ? 60 + thick * order.length : 340),
    margin: { l: 52, r: 16, t: 44, b: lying ? 16 : 36 },
    barmode: "group", bargap: 0.25, showlegend: false,
    xaxis: lying ? share : codes, yaxis: lying ? codes : share,
    ...chanceLines(runs, lying),
  }, STILL);
}

function accuracyTrace(run, index, order, lying) {
  const places = order.map((_, i) => i);
  const values = order.map((code) => run.results.accuracy[code] ?? null);
  const bounds = order.map((code, i) => run.results.intervals?.accuracy?.[code] ?? [values[i], values[i]]);
  const bars = { type: "data", symmetric: false, thickness: 1, width: 2, color: css("--ink"),
    array: bounds.map(([, high], i) => high - values[i]),
    arrayminus: bounds.map(([low], i) => values[i] - low) };
  return {
    type: "bar", orientation: lying ? "h" : "v",
    x: lying ? values : places, y: lying ? places : values,
    [lying ? "error_x" : "error_y"]: bars,
    hovertext: order.map((code, i) => `${plain(run.name)}<br>${plain(languageName(code))}: ` +
      show(values[i]) + boundsOf(run.results, "accuracy", code)),
    hoverinfo: "text", marker: { color: css(`--bar-${index % 5}`) },
  };
}

function chanceLines(runs, lying) {
  const levels = [["chance", "dash", (results) => results.chance.accuracy],
    ["frequent answers", "dot", (results) => results.floors?.frequency?.accuracy]];
  const lines = levels.flatMap(([name, dash, of]) =>
    [...new Set(runs.map((run) => of(run.results)).filter((value) => value !== undefined))]
      .map((value, index) => ({ name, dash, value, named: index === 0 })));
  const shapes = lines.map(({ value, dash }) => ({
    type: "line", line: { color: css("--ink"), width: 1.5, dash },
    ...(lying ? { x0: value, x1: value, y0: 0, y1: 1, yref: "paper" }
      : { y0: value, y1: value, x0: 0, x1: 1, xref: "paper" }),
  }));
  const annotations = lines.filter(({ named }) => named).map(({ name, value }) => ({
    text: `${name} ${(100 * value).toFixed(1)} %`, showarrow: false, font: { color: css("--ink") },
    bgcolor: css("--back"), opacity: 0.9,
    ...(lying ? { x: value, y: 0, yref: "paper", yanchor: "bottom", xanchor: "left", xshift: 4 }
      : { x: 1, xref: "paper", y: value, xanchor: "right", yanchor: "bottom" }),
  }));
  return { shapes, annotations };
}

/* Heat map */

// One scale for all runs: from chance (where there is one) to the next twentieth above the highest.
function scaleOf(measure) {
  const values = RUNS.flatMap((run) => Object.values(run.results[measure]))
    .filter((value) => value !== null);
  const floor = measure === "rankc" ? Math.min(...RUNS.map((run) => run.results.chance.rankc)) : 0;
  const low = Math.floor(20 * Math.min(floor, ...values) + 1e-9) / 20;
  const high = Math.ceil(20 * Math.max(...values, low + 0.1) - 1e-9) / 20;
  return [low, Math.max(low + 0.05, Math.min(1, high))];
}

function drawHeat(section, run) {
  const place = section.querySelector(".heat");
  const measure = section.querySelector(".switch input:checked").value;
  const codes = run.results.languages;
  const [low, high] = scaleOf(measure);
  const room = place.parentElement.clientWidth - 70;
  const numbers = codes.length <= 16;
  const cell = Math.max(numbers ? 38 : 15, Math.min(56, Math.floor(room / codes.length)));
  const z = codes.map((one) => codes.map((two) => pairValue(run.results, measure, one, two)));
  const tips = codes.map((one, i) => codes.map((two, j) => (i === j ? `${plain(one)}: itself`
    : `${plain(one)} – ${plain(two)}<br>${MEASURES[measure]} ${show(z[i][j])}` +
    boundsOf(run.results, measure, `${one}-${two}`, `${two}-${one}`))));
  const trace = {
    type: "heatmap", z, zmin: low, zmax: high, showscale: false, xgap: 1, ygap: 1,
    colorscale: RAMP.map((colour, i) => [i / (RAMP.length - 1), colour]),
    text: z.map((row) => row.map((value) => (value === null ? "" : show(value, 2)))),
    texttemplate: numbers ? "%{text}" : "", textfont: { size: 13 },
    hovertext: tips, hoverinfo: "text", hoverongaps: true,
  };
  const axis = { tickvals: codes.map((_, i) => i), ticktext: codes.map(plain), fixedrange: true,
    showgrid: false, zeroline: false, ticks: "", tickfont: { size: cell < 20 ? 11 : 12 } };
  const side = cell * codes.length;
  Plotly.react(place, [trace], {
    ...basics(side + 62, side + 62), plot_bgcolor: css("--card"),
    margin: { l: 52, r: 10, t: 52, b: 10 },
    xaxis: { ...axis, side: "top", tickangle: numbers ? 0 : -90 },
    yaxis: { ...axis, autorange: "reversed" },
    shapes: chosenCells(section, codes),
  }, STILL);
  section.querySelector(".low").textContent = low.toFixed(2);
  section.querySelector(".high").textContent = high.toFixed(2);
  section.querySelector(".ramp").style.background = `linear-gradient(to right, ${RAMP.join(", ")})`;
}

function chosenCells(section, codes) {
  const [one, two] = chosenPair(section).map((code) => codes.indexOf(code));
  return [[one, two], [two, one]].map(([x, y]) => ({
    type: "rect", x0: x - 0.5, x1: x + 0.5, y0: y - 0.5, y1: y + 0.5,
    line: { color: "#e0218a", width: 3 },
  }));
}

/* Examples */

function chosenPair(section) {
  return ["first", "second"].map((name) => section.querySelector(`select.${name}`).value);
}

function kindOf(one, two) {
  if (one[5] > 1 || two[5] > 1) return "tied";
  if (one[1] !== two[1]) return "different";
  return one[4] ? "both_right" : "both_wrong";
}

function pairIndex(count, one, two) {
  const [i, j] = one < two ? [one, two] : [two, one];
  return i * count - (i * (i + 1)) / 2 + (j - i - 1);
}

function drawExamples(section, run) {
  const place = section.querySelector(".examples");
  const codes = run.results.languages;
  const pair = chosenPair(section);
  const [one, two] = pair.map((code) => codes.indexOf(code));
  if (one === two) {
    place.replaceChildren(make("p", { class: "note" }, "Choose two different languages."));
    return;
  }
  const counts = Object.fromEntries(
    run.counts[pairIndex(codes.length, one, two)].map((count, i) => [KINDS[i], count]));
  const found = { tied: [], both_right: [], both_wrong: [], different: [] };
  for (const fact of run.facts) found[kindOf(fact.rows[one], fact.rows[two])].push(fact);
  const half = SHOWN / 2;
  const same = [...found.both_right.slice(0, half), ...found.both_wrong.slice(0, half)];
  const agree = counts.both_right + counts.both_wrong;
  place.replaceChildren(
    make("p", { class: "values" }, pair.join(" – ") + ": " + Object.entries(MEASURES)
      .map(([key, name]) => `${name} ${show(pairValue(run.results, key, ...pair))}` +
        boundsOf(run.results, key, pair.join("-"), pair.toReversed().join("-"))).join(" · ")),
    ...group(`Same answer: ${agree} of ${run.total} facts (${counts.both_right} right, ` +
      `${counts.both_wrong} wrong)`, "agree", same, pair, [one, two]),
    ...group(`Different answers: ${counts.different} of ${run.total} facts`, "differ",
      found.different.slice(0, SHOWN), pair, [one, two]),
    ...(counts.tied ? group(`Tie for the best score: ${counts.tied} of ${run.total} facts`, "tied",
      found.tied.slice(0, half), pair, [one, two]) : []),
  );
}

const label = ({ id, relation }) => (id.startsWith(relation) ? id : `${id} · ${relation}`);

function group(title, name, facts, pair, places) {
  const cards = facts.map((fact) => make("article", { class: "fact" },
    make("p", { class: "soft" }, label(fact)),
    make("div", { class: "sides" },
      ...pair.map((code, i) => side(code, fact.rows[places[i]])))));
  return [make("h4", {}, title), make("div", { class: name }, ...cards)];
}

function side(code, [prompt, , best, right, correct, shared]) {
  const lang = { lang: code.replace(/_/g, "-"), dir: "auto" };
  const parts = [make("p", { class: "code" }, languageName(code))];
  if (prompt !== null) {
    const [before, ...after] = prompt.split("[Y]");
    const slot = make("span", { class: "slot", role: "img", "aria-label": "blank" });
    parts.push(make("p", { class: "prompt", ...lang }, before, slot, after.join("[Y]")));
  }
  if (shared > 1) parts.push(make("p", { class: "tie" }, `model: tie between ${shared} candidates`));
  else {
    parts.push(make("p", { class: correct ? "is-right" : "is-wrong" },
      `${correct ? "✓" : "✗"} model: `, make("bdi", lang, best)));
  }
  if (!correct) parts.push(make("p", {}, "right: ", make("bdi", lang, right)));
  return make("div", { class: "side" }, ...parts);
}

/* The page */

function choose(section, run, pair) {
  if (!pair.every((code) => run.results.languages.includes(code))) return;
  ["first", "second"].forEach((name, i) => {
    section.querySelector(`select.${name}`).value = pair[i];
  });
  drawExamples(section, run);
  drawHeat(section, run);
}

function keepInAddress(section) {
  const pair = chosenPair(section).map(encodeURIComponent);
  history.replaceState(null, "", `#${section.dataset.run}/${pair.join("/")}`);
}

function followHash() {
  const [index, ...pair] = location.hash.slice(1).split("/").map(decodeURIComponent);
  const section = document.querySelector(`section[data-run="${CSS.escape(index)}"]`);
  if (!section || pair.length !== 2 || !section.querySelector(".chooser")) return;
  choose(section, RUNS[Number(index)], pair);
  section.querySelector(".examples-block").scrollIntoView();
}

function listen(section, run) {
  const again = () => {
    choose(section, run, chosenPair(section));
    keepInAddress(section);
  };
  section.querySelectorAll("select").forEach((list) => {
    for (const option of list.options) option.textContent = languageName(option.value);
    list.addEventListener("change", again);
  });
  section.querySelectorAll(".switch input").forEach((input) => {
    input.addEventListener("change", () => drawHeat(section, run));
  });
  section.querySelector(".heat").on("plotly_click", ({ points: [point] }) => {
    const codes = run.results.languages;
    if (point.x === point.y) return;
    choose(section, run, [codes[point.y], codes[point.x]]);
    keepInAddress(section);
    section.querySelector(".examples-block").scrollIntoView();
  });
}

const SECTIONS = [...document.querySelectorAll("section.run")];

function drawAll() {
  if (RUNS.length > 1) drawAccuracy(document.getElementById("accuracy-all"), RUNS);
  SECTIONS.forEach((section, i) => {
    drawAccuracy(section.querySelector(".accuracy"), [RUNS[i]]);
    if (section.querySelector(".heat")) drawHeat(section, RUNS[i]);
  });
}

drawAll();
SECTIONS.forEach((section, i) => {
  if (!section.querySelector(".heat")) return;
  drawExamples(section, RUNS[i]);
  listen(section, RUNS[i]);
});
followHash();
window.addEventListener("hashchange", followHash);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
let waiting = 0;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(drawAll, 150);
});
