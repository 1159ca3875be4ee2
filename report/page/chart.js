"use strict";

/* Pictures as SVG: text, bars with intervals, heat maps, points; hover values; buttons to save them.
   Colours are CSS variables, so that a picture follows the colour scheme. */

const SVG = "http://www.w3.org/2000/svg";
const FONT = "12px system-ui, 'Noto Sans', sans-serif";
// Cividis: made to be read alike with and without colour blindness; lighter is higher.
const RAMP = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173",
  "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
// Of differences: blue is below zero, orange above.
const DIVERGING = ["#2166ac", "#92c5de", "#f7f7f7", "#f4a582", "#b35806"];

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function label(x, y, content, attributes = {}) {
  return svg("text", { x, y, fill: "var(--ink)", "dominant-baseline": "central", ...attributes },
    content);
}

const line = (x1, y1, x2, y2, attributes = {}) =>
  svg("line", { x1, y1, x2, y2, stroke: "var(--ink)", ...attributes });

const show = (value, digits = 3) => (value === null || value === undefined ? "–"
  : value.toFixed(digits).replace(/^-(?=[0.]+$)/, ""));

const PEN = document.createElement("canvas").getContext("2d");
PEN.font = FONT;
/* A long name, shortened for a chart; tips and tables have it whole. */
const cut = (name) => (name.length > 32 ? `${name.slice(0, 31)}…` : name);
const widest = (texts) => Math.ceil(Math.max(0, ...texts.map((text) => PEN.measureText(text).width)));

/* Draw into an element of the macro `drawing`; parts are SVG elements. */
function draw(place, width, height, ...parts) {
  place.replaceChildren(svg("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`,
    style: `font: ${FONT}` }, svg("rect", { width, height, fill: "var(--back)" }), ...parts));
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/* The picture as a file: colours in place of variables, hover texts as titles. */
function save(place, kind) {
  const picture = place.querySelector("svg").cloneNode(true);
  for (const element of picture.querySelectorAll("[data-tip]")) {
    element.append(svg("title", {}, element.dataset.tip));
    element.removeAttribute("data-tip");
  }
  const text = picture.outerHTML.replace(/var\((--[\w-]+)\)/g, (_, name) => css(name));
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  const download = (href) => make("a", { href, download: `${place.dataset.name}.${kind}` }).click();
  if (kind === "svg") return download(address);
  const image = new Image();
  image.onload = () => {
    const canvas = make("canvas", { width: 2 * image.width, height: 2 * image.height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    download(canvas.toDataURL());
  };
  image.src = address;
}

document.addEventListener("click", ({ target }) => {
  if (!target.matches("button.save")) return;
  save(target.parentElement.querySelector(".figure"), target.dataset.kind);
});

const TIP = make("div", { class: "tip", hidden: "" });
document.body.append(TIP);
document.addEventListener("pointermove", ({ target, clientX, clientY }) => {
  const text = target.dataset?.tip;
  TIP.hidden = !text;
  if (!text) return;
  TIP.textContent = text;
  const left = Math.min(clientX + 12, window.innerWidth - TIP.offsetWidth - 8);
  const below = clientY + 16 + TIP.offsetHeight < window.innerHeight;
  TIP.style.left = `${Math.max(8, left)}px`;
  TIP.style.top = `${below ? clientY + 16 : clientY - 10 - TIP.offsetHeight}px`;
});
document.addEventListener("scroll", () => { TIP.hidden = true; }, true);

/* Draw again when the window's width changes. */
function redraw(drawAll) {
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
}

/* Bars from 0 to 1, a group for each label.

   series: [{ values, bounds ([low, high] or null), tips }], one bar of each in a group;
   levels: [{ name, value, dash }], lines with their names above the plot, one row for each. */
function drawBars(place, names, series, levels) {
  const labels = names.map(cut);
  const thick = series.length > 1 ? 11 : 15;
  const step = thick * series.length + 8;
  const left = widest(labels) + 12;
  const top = 18 * levels.length + 8;
  const width = Math.min(place.parentElement.clientWidth, 720);
  const bottom = top + step * labels.length;
  const x = (value) => left + value * (width - left - 24);
  const parts = [0, 0.2, 0.4, 0.6, 0.8, 1].flatMap((value) => [
    line(x(value), top, x(value), bottom, { stroke: "var(--line)" }),
    label(x(value), bottom + 14, `${Math.round(100 * value)}%`, { "text-anchor": "middle" }),
  ]);
  labels.forEach((name, i) => {
    const start = top + i * step + 4;
    parts.push(label(left - 8, start + (step - 8) / 2, name, { "text-anchor": "end" }));
    series.forEach(({ values, bounds, tips }, index) => {
      if (values[i] === null) return;
      const y = start + index * thick;
      parts.push(svg("rect", { class: "bar", x: left, y, width: Math.max(0, x(values[i]) - left),
        height: thick - 1, fill: `var(--bar-${index % 5})` }));
      if (bounds[i]) parts.push(whiskers(bounds[i].map(x), y + (thick - 1) / 2));
      parts.push(svg("rect", { x: left, y, width: width - left, height: thick,
        fill: "transparent", "data-tip": tips[i] }));
    });
  });
  levels.forEach(({ name, value, dash }, row) => {
    const y = 18 * row + 10;
    const text = `${name} ${(100 * value).toFixed(1)}%`;
    const end = x(value) + 6 + widest([text]) > width;
    parts.push(
      line(x(value), y - 6, x(value), bottom, { "stroke-dasharray": dash, "stroke-width": 1.5,
        "pointer-events": "none" }),
      label(x(value) + (end ? -6 : 6), y, text, { class: "level", "text-anchor": end ? "end" : "start" }));
  });
  draw(place, width, bottom + 26, ...parts);
}

function whiskers([low, high], y) {
  const ends = [low, high].map((x) => `M${x} ${y - 3}v6`).join("");
  return svg("path", { class: "interval", d: `M${low} ${y}H${high}${ends}`, stroke: "var(--ink)",
    fill: "none" });
}

function colourOf(ramp, share) {
  const place = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const i = Math.min(ramp.length - 2, Math.floor(place));
  const [one, two] = [ramp[i], ramp[i + 1]].map((hex) =>
    [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16)));
  return one.map((value, k) => Math.round(value + (two[k] - value) * (place - i)));
}

/* A square of cells, a scale below it.

   cells: [{ row, column, value, tip, text, marked, chosen, square, pair }]; value null: no colour;
   square: colour of a frame inside the cell;
   scale: { title, low, high, ramp, mark ({ name, value } or null) }. */
function drawHeat(place, given, cells, scale) {
  const labels = given.map(cut);
  const names = widest(labels) + 10;
  const room = place.parentElement.clientWidth - names - 8;
  const most = cells.some(({ text }) => text) ? 38 : 15;
  const size = Math.max(most, Math.min(64, Math.floor(room / labels.length)));
  const upright = Math.max(...labels.map((name) => widest([name]))) > size - 4;
  const top = upright ? names : 24;
  const side = size * labels.length;
  const width = Math.max(names + side + 8, names + 240);
  const share = (value) => (value - scale.low) / (scale.high - scale.low);
  const parts = labels.flatMap((name, i) => {
    const middle = (i + 0.5) * size;
    const above = upright
      ? { transform: `translate(${names + middle} ${top - 6}) rotate(-90)` }
      : { transform: `translate(${names + middle} ${top - 10})`, "text-anchor": "middle" };
    return [label(names - 6, top + middle, name, { "text-anchor": "end" }), label(0, 0, name, above)];
  });
  for (const { row, column, value, tip, text, marked, pair } of cells) {
    const [x, y] = [names + column * size, top + row * size];
    const colour = value === null ? null : colourOf(scale.ramp, share(value));
    const dark = colour && colour[0] * 0.3 + colour[1] * 0.59 + colour[2] * 0.11 > 125;
    const ink = { fill: !colour ? "var(--soft)" : dark ? "#111" : "#fff", "pointer-events": "none" };
    parts.push(svg("rect", { class: "cell", x, y, width: size - 1, height: size - 1,
      fill: colour ? `rgb(${colour})` : "var(--card)", "data-tip": tip,
      ...(pair ? { "data-pair": pair } : {}) }));
    if (text) {
      parts.push(label(x + size / 2, y + size / 2, text, { ...ink, "text-anchor": "middle" }));
    }
    if (marked) {
      parts.push(svg("circle", { class: "marked", cx: x + size - 6, cy: y + 5, r: 2.5, ...ink }));
    }
  }
  for (const { row, column, square } of cells.filter((cell) => cell.square)) {
    parts.push(svg("rect", { class: "square", x: names + column * size + 1.5,
      y: top + row * size + 1.5, width: size - 4, height: size - 4, fill: "none", stroke: square,
      "stroke-width": 2, "pointer-events": "none" }));
  }
  for (const { row, column } of cells.filter(({ chosen }) => chosen)) {
    parts.push(svg("rect", { x: names + column * size, y: top + row * size, width: size - 1,
      height: size - 1, fill: "none", stroke: "#e0218a", "stroke-width": 3,
      "pointer-events": "none" }));
  }
  draw(place, width, top + side + 62, ...parts, ...drawScale(scale, names, top + side + 14));
}

function drawScale({ title, low, high, ramp, mark }, left, y) {
  const long = 220;
  const x = (value) => left + (long * (value - low)) / (high - low);
  const steps = Array.from({ length: 44 }, (_, i) => svg("rect", { x: left + i * 5, y, width: 5.5,
    height: 10, fill: `rgb(${colourOf(ramp, (i + 0.5) / 44)})` }));
  const ends = [[low, "start"], [high, "end"]].map(([value, anchor]) =>
    label(x(value), y + 20, show(value, 2), { "text-anchor": anchor }));
  const half = mark && widest([mark.name]) / 2;
  const beside = mark && Math.max(left + 36 + half, Math.min(x(mark.value), left + long - 36 - half));
  const marks = !mark ? [] : [
    line(x(mark.value), y - 3, x(mark.value), y + 13, { "stroke-width": 2, class: "chance" }),
    label(beside, y + 20, mark.name, { "text-anchor": "middle" }),
  ];
  return [...steps, ...ends, ...marks, label(left, y + 38, title)];
}

const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/* As `shorten` in order.py: 559M. */
const shorten = (value) => SHORT.format(value).replace("K", "k");

/* Points with their names, where few, and a line.

   points: [{ x, y, tip, name, group }], groups in colours; x, y: names of the axes;
   line: [slope, intercept] or null, of log2 of x with log2. */
function drawPoints(place, points, { x: across, y: up, line: fitted, log2 }) {
  if (!points.length) return draw(place, 320, 60, label(16, 32, "no values"));
  const at = log2 ? Math.log2 : (value) => value;
  const ends = (values) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = (high - low) * 0.08 || Math.abs(high) * 0.1 || 0.1;
    return [low - room, high + room];
  };
  const groups = [...new Set(points.map(({ group }) => group))];
  const keys = groups.length > 1 ? groups : [];
  const [width, top] = [Math.min(place.parentElement.clientWidth, 640), 16 + 18 * keys.length];
  const bottom = top + 314;
  const [left, right] = ends(points.map((point) => at(point.x)));
  const [low, high] = ends(points.map((point) => point.y));
  const x = (value) => 64 + ((value - left) / (right - left)) * (width - 80);
  const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
  const colour = (group) => `var(--bar-${groups.indexOf(group) % 5})`;
  const parts = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => {
    const [column, row] = [left + share * (right - left), low + share * (high - low)];
    return [line(64, y(row), width - 16, y(row), { stroke: "var(--line)" }),
      label(56, y(row), shorten(row), { "text-anchor": "end" }),
      label(x(column), bottom + 16, shorten(log2 ? 2 ** column : column),
        { "text-anchor": share < 1 ? "middle" : "end" })];
  });
  keys.forEach((name, i) => parts.push(
    svg("circle", { cx: 72, cy: 10 + 18 * i, r: 4, fill: colour(name) }),
    label(82, 10 + 18 * i, name)));
  if (fitted) {
    const height = (value) => fitted[1] + fitted[0] * value;
    // the part of the line inside the plot
    const inside = (value) => Math.max(low, Math.min(high, height(value)));
    const where = (value) => (fitted[0] ? (inside(value) - fitted[1]) / fitted[0] : value);
    const [start, end] = [where(left), where(right)].map((value) => [x(value), y(height(value))]);
    parts.push(line(...start, ...end, { class: "fitted", stroke: "var(--bar-1)",
      "stroke-dasharray": "6 4", "stroke-width": 2 }));
  }
  const size = points.length > 200 ? { r: 2.5, opacity: 0.5 } : { r: 4 };
  const taken = [];
  const isFree = (box) => taken.every((other) => box[0] > other[2] || box[2] < other[0] ||
    box[1] > other[3] || box[3] < other[1]);
  for (const { x: column, y: row, tip, name: whole, group } of points) {
    const [cx, cy, name] = [x(at(column)), y(row), whole && cut(whole)];
    const long = widest([name ?? ""]);
    const end = cx + 6 + long > width;
    const box = [cx + (end ? -6 - long : 6), cy - 15, cx + (end ? -6 : 6 + long), cy - 1];
    parts.push(svg("circle", { class: "point", cx, cy, ...size, fill: colour(group),
      "data-tip": tip }));
    if (name && points.length <= 40 && isFree(box)) {
      taken.push(box);
      parts.push(label(cx + (end ? -6 : 6), cy - 8, name, { "text-anchor": end ? "end" : "start" }));
    }
  }
  parts.push(label((64 + width) / 2, bottom + 36, across, { "text-anchor": "middle" }),
    label(0, 0, up, { transform: `translate(14 ${(top + bottom) / 2}) rotate(-90)`,
      "text-anchor": "middle" }));
  return draw(place, width, bottom + 50, ...parts);
}

/* Accuracy over confidence in ten bins, for the chosen run, language and part (macro `reliability`).

   runs: [{ name, results: { calibration: { LANGUAGE: { ece, bins, ece_single, … } } } }]. */
function setUpReliability(runs) {
  const place = document.getElementById("reliability");
  if (!place) return;
  const choose = (name) => document.getElementById(`reliability-${name}`)?.value;
  const drawAll = () => {
    const { name, results } = runs[choose("run") ?? 0];
    const [language, part] = [choose("language"), choose("part") ?? "all"];
    const suffix = part === "all" ? "" : `_${part}`;
    const found = results.calibration?.[language];
    drawReliability(place, found?.[`bins${suffix}`], `${name}, ${language}: calibration error ` +
      show(found?.[`ece${suffix}`]));
  };
  for (const select of document.querySelectorAll("select.reliability")) {
    select.addEventListener("change", drawAll);
  }
  drawAll();
  redraw(drawAll);
}

function drawReliability(place, bins, title) {
  const side = Math.min(place.parentElement.clientWidth - 80, 360);
  const [left, top] = [56, 32];
  const x = (value) => left + value * side;
  const y = (value) => top + (1 - value) * side;
  const parts = [0, 0.2, 0.4, 0.6, 0.8, 1].flatMap((value) => [
    line(left, y(value), left + side, y(value), { stroke: "var(--line)" }),
    label(left - 8, y(value), `${Math.round(100 * value)}%`, { "text-anchor": "end" }),
    label(x(value), top + side + 14, `${Math.round(100 * value)}%`, { "text-anchor": "middle" }),
  ]);
  (bins?.n ?? []).forEach((n, b) => {
    if (!n) return;
    const [low, accuracy, confidence] = [b / bins.n.length, bins.accuracy[b], bins.confidence[b]];
    const tip = `${n} facts\nconfidence ${show(confidence)}\naccuracy ${show(accuracy)}`;
    parts.push(svg("rect", { class: "bin", x: x(low) + 1, width: side / bins.n.length - 2,
      y: y(accuracy), height: Math.max(1, y(0) - y(accuracy)), fill: "var(--bar-0)",
      "data-tip": tip }),
    svg("circle", { cx: x(confidence), cy: y(accuracy), r: 4, fill: "var(--bar-1)",
      "data-tip": tip }));
  });
  parts.push(line(x(0), y(0), x(1), y(1), { "stroke-dasharray": "6 4", "pointer-events": "none" }),
    label(left, 12, title), label(left + side / 2, top + side + 34, "confidence",
      { "text-anchor": "middle" }));
  draw(place, left + side + 24, top + side + 48, ...parts);
}
