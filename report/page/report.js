// measures: the pair figures of results/figures.py, from name to title; level: of significance;
// shares and quantities: bars and series of the split by template, from name to title
const { runs: RUNS, measures: MEASURES, differences: DIFFERENCES, scales: SCALES, names: NAMES,
  level: LEVEL, shares: SHARES, quantities: QUANTITIES } =
  JSON.parse(document.getElementById("data").textContent);
const KINDS = ["tied", "both_right", "both_wrong", "different"]; // as in examples.py
const SHOWN = 6;

const byId = (id) => document.getElementById(id);
const tag = (code) => code.replace(/_/g, "-");

const languageName = (code) => (byId("labels")?.value === "codes" ? code : NAMES[code]);

const fullName = (code) => {
  const name = languageName(code);
  return name === code ? code : `${name} (${code})`;
};

function ofPair(values, one, two) {
  if (!values) return null;
  const [pair, reversed] = [`${one}-${two}`, `${two}-${one}`];
  return values[pair in values ? pair : reversed] ?? null;
}

/* " (low to high)" of a 95% interval; nothing where there is none. */
const within = (bounds) => (bounds ? ` (${show(bounds[0])} to ${show(bounds[1])})` : "");

/* Accuracy */

function drawAccuracy() {
  const all = [...new Set(RUNS.flatMap((run) => run.results.languages))];
  const rate = (code) => RUNS[0].results.accuracy[code] ?? -1;
  all.sort((one, two) => rate(two) - rate(one));
  const series = RUNS.map(({ name, results }) => {
    const bounds = all.map((code) => results.intervals.accuracy?.[code] ?? null);
    const values = all.map((code) => results.accuracy[code] ?? null);
    return { values, bounds, tips: all.map((code, i) =>
      `${name}\n${fullName(code)}: ${show(values[i])}${within(bounds[i])}`) };
  });
  drawBars(byId("accuracy"), all.map(languageName), series, levels());
}

/* The facts right in exactly k languages, of those right somewhere; the runs may have other L. */
function drawShares() {
  const found = RUNS.map(({ results }) => results.k_share ?? []);
  const labels = Array.from({ length: Math.max(...found.map((values) => values.length)) },
    (_, i) => String(i + 1));
  const series = RUNS.map(({ name }, index) => {
    const values = labels.map((_, i) => found[index][i] ?? null);
    return { values, bounds: values.map(() => null), tips: values.map((value, i) =>
      `${name}\nright in exactly ${i + 1}: ${show(value)}`) };
  });
  drawBars(byId("shares"), labels, series, []);
}

function levels() {
  const kinds = [["chance", "6 4", (results) => results.chance.accuracy],
    ["frequent answers", "2 3", (results) => results.floors?.frequency?.accuracy]];
  return kinds.flatMap(([name, dash, of]) =>
    [...new Set(RUNS.map((run) => of(run.results)).filter((value) => value !== undefined))]
      .map((value) => ({ name, dash, value })));
}

/* Heat map */

/* The shown run, and the difference between two runs if one is shown. */
function shown() {
  const [kind, index] = (byId("view")?.value ?? "run-0").split("-");
  if (kind === "run") return { run: RUNS[index] };
  return { run: RUNS[DIFFERENCES[index].runs[0]], difference: DIFFERENCES[index] };
}

const measure = () => document.querySelector(".switch input:checked").value;

function inOrder({ run, difference }) {
  const { languages } = difference ?? run.results;
  return (difference ?? run).orders[byId("order").value][measure()].map((i) => languages[i]);
}

function scaleOf(name, run) {
  const [low, high, chance] = SCALES[name];
  const title = MEASURES[name] + (RUNS.length > 1 ? `, ${run.name}` : "");
  return { title, ramp: RAMP, low, high,
    mark: chance === null ? null : { name: "chance", value: chance } };
}

function scaleOfDifferences(name, { values, title }) {
  const sizes = Object.values(values[name] ?? {}).map(([value]) => Math.abs(value ?? 0));
  const end = Math.ceil(20 * Math.max(...sizes, 0.05) - 1e-9) / 20;
  return { title: `${MEASURES[name]}, ${title}; dot: p < ${LEVEL}`, ramp: DIVERGING, low: -end,
    high: end, mark: { name: "no difference", value: 0 } };
}

/* The pairs whose value is at least the mean of all (Qi et al. 2023, figure 7). */
function highPairs(run, name) {
  const known = Object.entries(run.results[name] ?? {}).filter(([, value]) => value !== null);
  const mean = known.reduce((sum, [, value]) => sum + value, 0) / known.length;
  return new Set(known.filter(([, value]) => value >= mean - 1e-12).map(([pair]) => pair));
}

/* Pair → both, shown or other: high by both measures, by the shown one or by the other alone. */
function squaresOf(run, name) {
  const other = byId("squares").value;
  const undirected = [...byId("squares").options].some(({ value }) => value === name);
  if (!other || !undirected) return {};
  const [first, second] = [highPairs(run, name), highPairs(run, other)];
  return Object.fromEntries([...new Set([...first, ...second])].map((pair) =>
    [pair, !second.has(pair) ? "shown" : first.has(pair) ? "both" : "other"]));
}

function nameSquares(squares, name) {
  const other = MEASURES[byId("squares").value];
  const titles = { both: `${MEASURES[name]} and ${other}`, shown: `${MEASURES[name]} alone`,
    other: `${other} alone` };
  byId("high").replaceChildren(...!other ? [] : Object.entries(titles).map(([kind, title]) => {
    const pairs = Object.keys(squares).filter((pair) => squares[pair] === kind);
    return make("p", { class: "hint", "data-kind": kind }, `${title}: ${pairs.length} pairs ` +
      `(${kind === "both" ? "blue" : "red"})${pairs.length ? ": " : ""}${pairs.join(", ")}`);
  }));
}

function drawMap() {
  const view = shown();
  const { run, difference } = view;
  const [name, codes, chosen] = [measure(), inOrder(view), chosenPair()];
  const squares = difference ? {} : squaresOf(run, name);
  nameSquares(squares, name);
  const cells = codes.flatMap((one, row) => codes.map((two, column) => ({
    row, column, pair: one === two ? null : `${one}/${two}`,
    chosen: one !== two && chosen.includes(one) && chosen.includes(two),
    square: { both: "#2f7bff", shown: "#ff3b30", other: "#ff3b30" }[ofPair(squares, one, two)],
    ...cellOf(run, difference, name, one, two),
  })));
  if (codes.length > 16) for (const cell of cells) cell.text = "";
  const place = byId("heat");
  place.dataset.name = difference ? `${name}-difference` : name;
  drawHeat(place, codes.map(languageName), cells,
    difference ? scaleOfDifferences(name, difference) : scaleOf(name, run));
}

function cellOf(run, difference, name, one, two) {
  const head = `${fullName(one)} – ${fullName(two)}\n`;
  if (one === two) return { value: null, tip: `${fullName(one)}: itself`, text: "" };
  if (difference) {
    const [value, low, high, p] = ofPair(difference.values[name], one, two) ?? [null];
    const bounds = low === null || low === undefined ? null : [low, high];
    const tested = p === null || p === undefined ? "" : `, p = ${p.toPrecision(2)}`;
    return { value, text: value === null ? "" : show(value, 2), marked: tested && p < LEVEL,
      tip: `${head}${MEASURES[name]}, ${difference.title}: ${show(value)}${within(bounds)}${tested}` };
  }
  const value = ofPair(run.results[name], one, two);
  const bounds = ofPair(run.results.intervals[name], one, two);
  return { value, text: value === null ? "" : show(value, 2),
    tip: `${run.name}\n${head}${MEASURES[name]} ${show(value)}${within(bounds)}` +
      ceilingOf(run, name, one, two) };
}

/* RankC within both languages, over templates; nothing where there are none. */
function ceilingOf(run, name, one, two) {
  const own = run.results.rankc_templates;
  return own && name === "rankc"
    ? `\nwithin over templates: ${one} ${show(own[one])}, ${two} ${show(own[two])}` : "";
}

/* Examples */

const chosenPair = () => ["first", "second"].map((name) => byId(name).value);

const tied = ([, , shared]) => shared > 1;
const isRight = (row, fact) => !tied(row) && fact.right.includes(row[1][0][1]);

function kindOf(fact, one, two) {
  const rows = [fact.rows[one], fact.rows[two]];
  if (rows.some(tied)) return "tied";
  if (rows[0][1][0][1] !== rows[1][1][0][1]) return "different";
  return isRight(rows[0], fact) ? "both_right" : "both_wrong";
}

function pairIndex(count, one, two) {
  const [i, j] = one < two ? [one, two] : [two, one];
  return i * count - (i * (i + 1)) / 2 + (j - i - 1);
}

function drawExamples() {
  const { run } = shown();
  const codes = run.results.languages;
  const pair = chosenPair();
  const places = pair.map((code) => codes.indexOf(code));
  const [one, two] = places;
  byId("examples-note").textContent = run.note ?? "";
  byId("examples-of").textContent = `${RUNS.length > 1 ? `${run.name}: e` : "E"}xamples from ` +
    `${run.facts.length.toLocaleString("en")} of ${run.total.toLocaleString("en")} facts, ` +
    "chosen so that every pair has some.";
  const place = byId("examples");
  if (one === two || one < 0 || two < 0) {
    const text = one === two ? "Choose two different languages." : "This run does not have both languages.";
    place.replaceChildren(make("p", { class: "note" }, text));
    return;
  }
  const counts = Object.fromEntries(
    run.counts[pairIndex(codes.length, one, two)].map((count, i) => [KINDS[i], count]));
  const found = { tied: [], both_right: [], both_wrong: [], different: [] };
  for (const fact of run.facts) found[kindOf(fact, one, two)].push(fact);
  const half = SHOWN / 2;
  const same = [...found.both_right.slice(0, half), ...found.both_wrong.slice(0, half)];
  const agree = counts.both_right + counts.both_wrong;
  const add = (title, name, facts) => group(title, name, facts, pair, places);
  place.replaceChildren(
    make("p", { class: "values" }, pair.map(fullName).join(" – ") + ": " + Object.entries(MEASURES)
      .map(([key, name]) => `${name} ${show(ofPair(run.results[key], ...pair))}` +
        within(ofPair(run.results.intervals[key], ...pair))).join(" · ")),
    ...add(`Same answer: ${agree} of ${run.total} facts (${counts.both_right} right, ` +
      `${counts.both_wrong} wrong)`, "agree", same),
    ...add(`Different answers: ${counts.different} of ${run.total} facts`, "differ",
      found.different.slice(0, SHOWN)),
    ...(counts.tied ? add(`Tie for the best score: ${counts.tied} of ${run.total} facts`, "tied",
      found.tied.slice(0, half)) : []),
  );
}

function group(title, name, facts, pair, places) {
  const cards = facts.map((fact) => make("article", { class: "fact" },
    make("p", { class: "soft" }, fact.relation === "" || fact.id.startsWith(fact.relation)
      ? fact.id : `${fact.relation} · ${fact.id}`),
    make("div", { class: "sides" },
      ...pair.map((code, i) => side(code, fact.rows[places[i]], fact)))));
  return [make("h4", {}, title), make("div", { class: name }, ...cards)];
}

/* One language of a fact: the prompt, and the candidates from the best to the worst score. */
function side(code, row, fact) {
  const [prompt, ranking, shared, left] = row;
  const lang = { lang: tag(code), dir: "auto" };
  const parts = [make("p", { class: "code" }, fullName(code))];
  if (prompt !== null) {
    const [before, ...after] = prompt.split("[Y]");
    const slot = make("span", { class: "slot", role: "img", "aria-label": "blank" });
    parts.push(make("p", { class: "prompt", ...lang }, before, slot, after.join("[Y]")));
  }
  if (shared > 1) parts.push(make("p", { class: "tie" }, `model: tie between ${shared} candidates`));
  const items = ranking.map(([rank, index, name, score]) => {
    const right = fact.right.includes(index);
    const first = rank === 1 && shared === 1;
    const kind = right ? "is-right" : first ? "is-wrong" : "";
    return make("li", { value: rank, class: kind }, make("bdi", lang, name ?? `candidate ${index}`),
      ` ${right ? "✓ " : first ? "✗ " : ""}`, make("span", { class: "score" }, score.toFixed(2)));
  });
  const more = left ? [make("p", { class: "soft" }, `${left} more candidates`)] : [];
  return make("div", { class: "side" }, ...parts, make("ol", { class: "ranking" }, ...items), ...more);
}

/* Templates */

function drawTemplates() {
  const run = RUNS[byId("template-run").value];
  const chosen = run.results.templates.rows.filter(({ language, relation }) =>
    language === byId("template-language").value && relation === byId("template-relation").value);
  drawBars(byId("by-template"), chosen.map(({ text }) => text), [{
    values: chosen.map(({ accuracy }) => accuracy), bounds: chosen.map(() => null),
    tips: chosen.map((row) => `${row.template}\n${row.text}\n${row.n} facts\naccuracy ` +
      `${show(row.accuracy)}\nsame answer as the fact's other templates ${show(row.consistency)}`),
  }], []);
  if (byId("split")) drawSplit(run);
}

function drawSplit({ name, results }) {
  const keys = Object.keys(SHARES);
  const clip = (bounds) => bounds?.map((end) => Math.min(1, Math.max(0, end))) ?? null;
  const series = Object.entries(QUANTITIES).map(([quantity, title]) => {
    const found = results.templates[quantity] ?? {};
    return { values: keys.map((key) => found[key] ?? null),
      bounds: keys.map((key) => clip(found[`${key}_ci`])),
      tips: keys.map((key) => `${name}, ${title}\n${SHARES[key]}: ${show(found[key])}` +
        within(found[`${key}_ci`])) };
  });
  drawBars(byId("split"), Object.values(SHARES), series, []);
}

/* The page */

function drawAll() {
  drawAccuracy();
  if (byId("shares")) drawShares();
  if (byId("heat")) drawMap();
  if (byId("by-template")) drawTemplates();
}

function choose(pair) {
  ["first", "second"].forEach((name, i) => { byId(name).value = pair[i]; });
  drawExamples();
  drawMap();
}

function keepInAddress() {
  const pair = chosenPair().map(encodeURIComponent);
  history.replaceState(null, "", `#${RUNS.indexOf(shown().run)}/${pair.join("/")}`);
}

function followHash() {
  const [index, ...pair] = location.hash.slice(1).split("/").map(decodeURIComponent);
  if (!RUNS[index] || pair.length !== 2 || !byId("heat")) return;
  if (byId("view")) byId("view").value = `run-${index}`;
  choose(pair);
  byId("examples-block").scrollIntoView();
}

function nameOptions() {
  for (const id of ["first", "second"]) {
    for (const option of byId(id).options) option.textContent = fullName(option.value);
  }
}

drawAll();
byId("labels")?.addEventListener("change", () => { nameOptions(); drawAll(); drawExamples(); });
if (byId("heat")) {
  nameOptions();
  drawExamples();
  const again = () => { choose(chosenPair()); keepInAddress(); };
  for (const id of ["first", "second", "view"]) byId(id)?.addEventListener("change", again);
  for (const id of ["order", "squares"]) byId(id).addEventListener("change", drawMap);
  for (const input of document.querySelectorAll(".switch input")) {
    input.addEventListener("change", drawMap);
  }
  byId("heat").addEventListener("click", ({ target }) => {
    if (!target.dataset.pair) return;
    choose(target.dataset.pair.split("/"));
    keepInAddress();
    byId("examples-block").scrollIntoView();
  });
}
for (const select of document.querySelectorAll("select.by-template")) {
  select.addEventListener("change", drawTemplates);
}
followHash();
window.addEventListener("hashchange", followHash);
redraw(drawAll);
setUpReliability(RUNS);
