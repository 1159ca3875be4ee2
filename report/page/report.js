/* Examples of the facts of a run in two languages.

   RUNS: [{ name, languages, counts ([pairs][kinds]), facts, total, note }], see examples.py. */

const RUNS = DATA.runs;
const KINDS = ["tied", "both_right", "both_wrong", "different"]; // as in examples.py
const SHOWN = 6;
const BLOCK = byId("examples-block")?.closest("section").querySelector(".drawings");

const tag = (code) => code.replace(/_/g, "-");

const fullName = (code) => {
  const name = nameOf(code);
  return name === code ? code : `${name} (${code})`;
};

const showSelect = () => BLOCK.querySelector("select[data-label=show]");

/* The shown run; of a difference the first one. */
const shownRun = () => RUNS.find(({ name }) => name === showSelect()?.value) ?? RUNS[0];

/* The values of a pair by each measure, from the heat maps of the shown run. */
function describePair(run, pair) {
  const lines = new Map();
  for (const figure of all(".figure", BLOCK)) {
    const { names, views } = DATA.heats[figure.id];
    const [i, j] = pair.map((code) => Object.keys(names).indexOf(code));
    JSON.parse(figure.dataset.pictures).forEach(([, { measure, show: of }], k) => {
      if ((of && of !== run.name) || lines.has(measure) || i < 0 || j < 0) return;
      const view = views[views[k].source ?? k];
      const at = placeOf(view, Object.keys(names).length, i, j);
      lines.set(measure, `${measure} ${show(view.values[at])}` +
        `${(view.details[at] ?? "").split("\n")[0]}`);
    });
  }
  return [...lines.values()].join(" · ");
}

const tied = ([, , shared]) => shared > 1;
const isRight = (row, fact) => !tied(row) && fact.right.includes(row[1][0][1]);

function kindOf(fact, one, two) {
  const rows = [fact.rows[one], fact.rows[two]];
  if (rows.some(tied)) return "tied";
  if (rows[0][1][0][1] !== rows[1][1][0][1]) return "different";
  return isRight(rows[0], fact) ? "both_right" : "both_wrong";
}

function drawExamples() {
  const run = shownRun();
  const codes = run.languages;
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
    run.counts[placeOf({ half: true }, codes.length, one, two)].map((count, i) => [KINDS[i], count]));
  const found = { tied: [], both_right: [], both_wrong: [], different: [] };
  const words = byId("words").value.toLowerCase();
  for (const fact of run.facts) {
    const verdicts = places.map((k, i) => `${pair[i]}: ${fact.rows[k][6]};`); // as in make_verdicts_table
    const text = [fact.id, fact.relation, fact.rows[one], fact.rows[two], verdicts].flat(Infinity).join("\n");
    if (text.toLowerCase().includes(words)) found[kindOf(fact, one, two)].push(fact);
  }
  const half = SHOWN / 2;
  const same = [...found.both_right.slice(0, half), ...found.both_wrong.slice(0, half)];
  const tie = run.facts[0]?.rows[0][6] ? "Answer without an object" : "Tie for the best score";
  const agree = counts.both_right + counts.both_wrong;
  const add = (title, name, facts) => group(title, name, facts, pair, places);
  place.replaceChildren(
    make("p", { class: "values" }, `${pair.map(fullName).join(" – ")}: ${describePair(run, pair)}`),
    ...add(`Same answer: ${agree} of ${run.total} facts (${counts.both_right} right, ` +
      `${counts.both_wrong} wrong)`, "agree", same),
    ...add(`Different answers: ${counts.different} of ${run.total} facts`, "differ",
      found.different.slice(0, SHOWN)),
    ...(counts.tied ? add(`${tie}: ${counts.tied} of ${run.total} facts`, "tied",
      found.tied.slice(0, half)) : []),
  );
}

function group(title, name, facts, pair, places) {
  const cards = facts.map((fact) => make("article", { class: "fact" },
    make("p", { class: "soft" }, make("a", { href: addressOf(pair, fact.id) },
      fact.relation === "" || fact.id.startsWith(fact.relation) ? fact.id : `${fact.relation} · ${fact.id}`)),
    make("div", { class: "sides" },
      ...pair.map((code, i) => side(code, fact.rows[places[i]], fact)))));
  return [make("h4", {}, title), make("div", { class: name }, ...cards)];
}

/* One language of a fact: the prompt, and the candidates from the best to the worst score. */
function side(code, row, fact) {
  const [prompt, ranking, shared, left, asked, answer, verdict, entity] = row;
  const lang = { lang: tag(code), dir: "auto" };
  const parts = [make("p", { class: "code" }, fullName(code))];
  if (verdict) {
    const right = verdict.startsWith("right");
    const name = entity ? [": ", make("bdi", lang, ranking[0][2] ?? ""), ` (${entity})`] : [];
    return make("div", { class: "side" }, ...parts, make("p", { class: "prompt", ...lang }, asked),
      make("blockquote", lang, answer), make("p", { class: right ? "is-right" : "is-wrong" },
        `${right ? "✓" : "✗"} ${verdict}`, ...name));
  }
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

/* The page */

function choose(pair) {
  ["first", "second"].forEach((name, i) => { byId(name).value = pair[i]; });
  drawExamples();
  drawBlock(BLOCK, pair);
}

/* The address of a pair of languages, or of one of its facts: #run/first/second/fact. */
const addressOf = (...parts) =>
  `#${[RUNS.indexOf(shownRun()), ...parts.flat().map(encodeURIComponent)].join("/")}`;

const keepInAddress = () => history.replaceState(null, "", addressOf(chosenPair()));

function followHash() {
  let parts = [];
  try {
    parts = location.hash.slice(1).split("/").map(decodeURIComponent);
  } catch {
    return; // a malformed address
  }
  const [index, first, second, id = ""] = parts;
  const pair = [first, second];
  if (!RUNS[index] || !pair.every((code) => code in DATA.names)) return;
  byId("words").value = id;
  if (showSelect()) showSelect().value = RUNS[index].name;
  choose(pair);
  byId("examples-block").scrollIntoView();
}

function nameOptions() {
  for (const id of ["first", "second"]) {
    for (const option of byId(id).options) option.textContent = fullName(option.value);
  }
}

/* The pairs of the tables become links. */
function linkPairs() {
  for (const cell of all("td:first-child", BLOCK.parentElement)) {
    const pair = cell.textContent.split(" – ");
    if (pair.length !== 2 || !pair.every((code) => code in DATA.names)) continue;
    const summary = cell.closest("details").querySelector("summary").textContent;
    const index = RUNS.findIndex(({ name }) => summary.startsWith(`${name}: `));
    cell.replaceChildren(make("a", { href: `#${index}/${pair.join("/")}` }, cell.textContent));
  }
}

if (BLOCK) {
  chosenPair = () => ["first", "second"].map((name) => byId(name).value);
  const again = () => { choose(chosenPair()); keepInAddress(); };
  for (const id of ["first", "second"]) byId(id).addEventListener("change", again);
  BLOCK.addEventListener("change", again);
  BLOCK.addEventListener("click", ({ target }) => {
    if (!target.dataset.pair) return;
    choose(target.dataset.pair.split("/"));
    keepInAddress();
    byId("examples-block").scrollIntoView();
  });
  byId("words").addEventListener("input", drawExamples);
  byId("labels").addEventListener("change", () => { nameOptions(); drawExamples(); });
  nameOptions();
  linkPairs();
  choose(chosenPair());
  followHash();
  window.addEventListener("hashchange", followHash);
}
