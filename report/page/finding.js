"use strict";

/* Choices of a page: pictures, colours and order of heat maps, names of languages, rows and columns
   of tables, pictures as files. The pictures themselves are drawn when the page is written. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const RAMP = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173",
  "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"]; // as in svg.py
const DIVERGING = ["#2166ac", "#92c5de", "#f7f7f7", "#f4a582", "#b35806"];
const FRAMES = ["#2f7bff", "#ff3b30", "#e0218a"]; // the last is the chosen pair

const byId = (id) => document.getElementById(id);
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const show = (value, digits = 3) => (value === null || value === undefined ? "–"
  : value.toFixed(digits).replace(/^-(?=[0.]+$)/, ""));

/* Languages */

const nameOf = (code) => (byId("labels")?.value === "codes" ? code : DATA.names[code] ?? code);

function nameLanguages() {
  for (const text of all("text[data-code]")) {
    text.dataset.name ??= text.textContent;
    text.textContent = byId("labels")?.value === "codes" ? text.dataset.code : text.dataset.name;
  }
}

/* Heat maps */

function colourOf(ramp, share) {
  const place = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const i = Math.min(ramp.length - 2, Math.floor(place));
  const [from, to] = [ramp[i], ramp[i + 1]].map((hex) =>
    [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16)));
  return from.map((value, k) => Math.round(value + (to[k] - value) * (place - i)));
}

/* The place of a cell among a view's values: those above the diagonal, or all by rows. */
function placeOf(view, n, row, column) {
  if (!view.half) return row * n + column;
  const [i, j] = row < column ? [row, column] : [column, row];
  return row === column ? -1 : i * n - (i * (i + 1)) / 2 + (j - i - 1);
}

/* The scale of a view, as find_scale_ends in svg.py. */
function endsOf({ low, high, diverging, values }) {
  const numbers = values.filter((value) => value !== null);
  if (!numbers.length) numbers.push(0, 1);
  let [from, to] = [low ?? Math.min(...numbers), high ?? Math.max(...numbers)];
  if (diverging) [from, to] = [-Math.max(-from, to), Math.max(-from, to)];
  return from < to ? [from, to] : [from - 0.05, to + 0.05];
}

/* Colour the cells of a figure by its view, in an order; frame the cells of a pair of codes. */
function paint(figure, place, order, pair = []) {
  const { names, orders, views } = DATA.heats[figure.id];
  const view = { ...views[views[place].source ?? place], ...views[place] };
  const codes = Object.keys(names);
  const places = order === "similarity" ? view.similarity : orders[order];
  const [low, high] = endsOf(view);
  const ramp = view.diverging ? DIVERGING : RAMP;
  const group = figure.querySelector(".cells");
  const [texts, cells] = [all(".texts text", figure), group.children];
  const [left, top, size] = ["left", "top", "size"].map((key) => Number(group.dataset[key]));
  const frames = [];
  places.forEach((i, row) => places.forEach((j, column) => {
    const [cell, at] = [cells[row * codes.length + column], placeOf(view, codes.length, i, j)];
    const value = view.values[at] ?? null;
    const colour = value === null ? null : colourOf(ramp, (value - low) / (high - low));
    cell.setAttribute("fill", colour ? `rgb(${colour})` : "var(--card)");
    cell.dataset.pair = i === j ? "" : `${codes[i]}/${codes[j]}`;
    if (!cell.firstChild) cell.append(document.createElementNS(SVG, "title"));
    cell.firstChild.textContent = i === j ? nameOf(codes[i]) : `${nameOf(codes[i])} – ` +
      `${nameOf(codes[j])}\n${view.measure} ${show(value)}${view.details?.[at] ?? ""}`;
    const text = texts[row * codes.length + column];
    if (text) {
      text.textContent = value === null ? "" : show(value, 2);
      const light = colour && colour[0] * 0.3 + colour[1] * 0.59 + colour[2] * 0.11 > 125;
      text.setAttribute("fill", light ? "#111" : "#fff");
    }
    const chosen = i !== j && pair.includes(codes[i]) && pair.includes(codes[j]);
    for (const frame of [Number(view.framed[at] ?? 0), chosen ? FRAMES.length : 0]) {
      if (!frame) continue;
      frames.push(`<path stroke="${FRAMES[frame - 1]}" d="M${left + size * column + 1} ` +
        `${top + size * row + 1}h${size - 3}v${size - 3}h-${size - 3}z"/>`);
    }
  }));
  figure.querySelector(".frames").innerHTML = frames.join("");
  for (const axis of ["g.rows", "g.columns"]) { // the page has `columns` too
    all(`${axis} text`, figure).forEach((text, i) => {
      text.dataset.code = codes[places[i]];
      text.dataset.name = names[codes[places[i]]];
    });
  }
  paintScale(figure, view, low, high, ramp);
  nameFramed(figure, view, codes);
}

function paintScale(figure, { measure, mark }, low, high, ramp) {
  const scale = figure.querySelector(".scale");
  const steps = all("rect", scale);
  steps.forEach((step, i) => {
    step.setAttribute("fill", `rgb(${colourOf(ramp, (i + 0.5) / steps.length)})`);
  });
  const write = (name, text) => { scale.querySelector(`.${name}`).textContent = text; };
  write("low", show(low, 2));
  write("high", show(high, 2));
  write("measure", measure);
  write("named", mark?.[0] ?? "");
  const [line, label] = [scale.querySelector(".mark"), scale.querySelector(".named")];
  line.setAttribute("visibility", mark ? "visible" : "hidden");
  if (!mark) return;
  const [start, wide] = [Number(steps[0].getAttribute("x")), 220];
  const x = start + (wide * (Math.min(high, Math.max(low, mark[1])) - low)) / (high - low);
  const half = 3.6 * mark[0].length;
  line.setAttribute("d", line.getAttribute("d").replace(/(?<=[ML])[\d.]+/g, x.toFixed(1)));
  label.setAttribute("x", Math.max(start + 36 + half, Math.min(x, start + wide - 36 - half)));
}

/* What the frames are, with the pairs that have them. */
function nameFramed(figure, view, codes) {
  const lines = view.squares.map((name, k) => {
    const pairs = [];
    codes.forEach((first, i) => codes.slice(i + 1).forEach((second, j) => {
      const at = placeOf(view, codes.length, i, i + 1 + j);
      if (Number(view.framed[at]) === k + 1) pairs.push(`${first}-${second}`);
    }));
    return `${name} (${["blue", "red"][k]}): ${pairs.length} pairs${pairs.length ? ": " : ""}` +
      pairs.join(", ");
  });
  figure.closest(".drawing").querySelector(".framed").textContent = lines.join("\n");
}

/* Choices of pictures */

/* The place of the picture that has the choices of its block's selects, or else `–` in their
   place; -1 if there is none. */
function chosenPicture(pictures, choices) {
  const find = (...others) => pictures.findIndex(([, options]) =>
    Object.entries(options).every(([label, x]) => x === choices[label] || others.includes(x)));
  const place = find();
  return place < 0 ? find("–") : place;
}

function drawBlock(block, pair = []) {
  const choices = Object.fromEntries(all("select[data-label]", block).map((select) =>
    [select.dataset.label, select.value]));
  for (const figure of all(".figure", block)) {
    const pictures = JSON.parse(figure.dataset.pictures);
    const place = chosenPicture(pictures, choices);
    figure.closest(".drawing").hidden = place < 0;
    if (place < 0) continue;
    [figure.dataset.name] = pictures[place];
    if (DATA.heats[figure.id]) paint(figure, place, choices.order, pair);
  }
  nameLanguages();
}

let chosenPair = () => []; // the report has one
const drawAll = () => all(".drawings").forEach((block) => drawBlock(block, chosenPair()));

/* The picture as a file, with colours in place of variables. */
function save(figure, kind) {
  const style = getComputedStyle(document.documentElement);
  const colour = (_, name) => style.getPropertyValue(name).trim();
  const back = `<rect width="100%" height="100%" fill="var(--back)"/>`;
  const svg = new XMLSerializer().serializeToString(figure.querySelector("svg"));
  const text = svg.replace(">", `>${back}`)
    .replace(/var\((--[\w-]+)\)/g, colour);
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  const download = (href) => make("a", { href, download: `${figure.dataset.name}.${kind}` }).click();
  if (kind === "svg") return download(address);
  const image = new Image();
  image.onload = () => {
    const canvas = make("canvas", { width: 2 * image.width, height: 2 * image.height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    download(canvas.toDataURL());
  };
  image.src = address;
}

/* Tables: headings that sort, a filter of many rows, a choice among many columns */

function sortRows(table, place, rising) {
  const valueOf = (row) => {
    const { textContent: text, dataset: { value } } = row.children[place];
    const number = Number.parseFloat(value ?? text.replace(/,/g, ""));
    return Number.isNaN(number) ? text.toLowerCase() : number;
  };
  const isMissing = (value) => value === "–" || value === "";
  const groups = []; // a row without a name, or of a floor, stays below the row that it belongs to
  for (const row of all("tbody tr", table)) {
    if (groups.length && /^(—\s|floor$|$)/.test(row.cells[0].textContent)) groups.at(-1)[1].push(row);
    else groups.push([valueOf(row), [row]]);
  }
  groups.sort(([a], [b]) => {
    if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return (a < b ? -1 : a > b ? 1 : 0) * (rising ? 1 : -1);
  });
  table.tBodies[0].append(...groups.flatMap(([, rows]) => rows));
  all("th", table).forEach((head, i) => {
    if (i === place) head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  });
}

/* Bars from 0 to the values of each column, the largest one as long as its cell. */
function drawBars(table) {
  all("th.value", table).forEach(({ cellIndex }) => {
    const cells = all("tbody tr", table).map((row) => row.cells[cellIndex]);
    const values = cells.map((cell) => Math.max(0, Number.parseFloat(cell.textContent) || 0));
    const largest = Math.max(...values) || 1;
    cells.forEach((cell, i) => cell.style.setProperty("--bar", values[i] / largest));
  });
}

/* A choice of a language, whose figures stand in place of the means of the table of models. */
function offerLanguages(table, tools, sources) {
  const codes = new Set(sources.flatMap((source) => all("th", source).slice(2).map((x) => x.textContent)));
  const options = ["all", ...codes].map((code) => make("option", {}, code));
  const select = make("select", {}, ...options);
  const [heads, rows] = [all("th", table), all("tbody tr", table)];
  select.addEventListener("change", () => {
    for (const row of rows) row.hidden = select.value !== "all" && row.matches(".floor");
    for (const source of sources) {
      const place = heads.findIndex((head) => head.textContent === source.dataset.figure);
      const column = all("th", source).findIndex((head) => head.textContent === select.value);
      for (const { cells } of all("tbody tr", source)) {
        const row = rows.find((x) => x.cells[0].textContent === cells[0].textContent);
        const cell = row.cells[place];
        cell.mean ??= [...cell.childNodes];
        cell.replaceChildren(...(column < 0 ? cell.mean : [cells[column].textContent]));
      }
    }
    drawBars(table);
  });
  tools.append(make("label", {}, "language ", select));
}

function setUpTable(holder) {
  const table = holder.querySelector("table");
  const [heads, rows] = [all("th", table), all("tbody tr", table)];
  heads.forEach((head, place) => {
    const button = make("button", { class: "sort", type: "button" }, ...head.childNodes);
    button.addEventListener("click", () => {
      const first = !head.classList.contains("figure-cell"); // words rise, figures fall
      const sorted = head.getAttribute("aria-sort");
      sortRows(table, place, sorted ? sorted === "descending" : first);
    });
    head.append(button);
  });
  drawBars(table);
  const tools = make("div", { class: "chooser" });
  const sources = holder.matches("section:first-of-type *") ? all("details[data-figure]") : [];
  if (sources.length) offerLanguages(table, tools, sources);
  if (rows.length > 20) {
    const filter = make("input", { type: "search", placeholder: "text" });
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    tools.append(make("label", {}, "rows with ", filter));
  }
  if (heads.length > 8 || heads.some((head) => head.hidden)) {
    const boxes = heads.map((head, place) => {
      const box = make("input", { type: "checkbox", ...(head.hidden ? {} : { checked: "" }) });
      box.addEventListener("change", () => {
        for (const row of table.rows) row.cells[place].hidden = !box.checked;
      });
      return make("label", {}, box, ` ${head.textContent}`);
    });
    tools.append(make("details", {}, make("summary", {}, "Columns"),
      make("fieldset", { class: "switch" }, ...boxes)));
  }
  if (tools.children.length) holder.prepend(tools);
}

document.addEventListener("click", ({ target }) => {
  if (!target.matches("button.save")) return;
  save(target.closest(".drawing").querySelector(".figure"), target.dataset.kind);
});
all(".table").forEach(setUpTable);
for (const block of all(".drawings")) {
  block.addEventListener("change", () => drawBlock(block, chosenPair()));
}
byId("labels")?.addEventListener("change", drawAll);
drawAll();
