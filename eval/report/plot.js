"use strict";

const STILL = { displayModeBar: false, responsive: false, showTips: false };

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Plotly reads a little HTML in its labels.
const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

/* What all pictures of a page have in their layout. */
function basics(width, height) {
  return {
    width, height, dragmode: false, paper_bgcolor: css("--back"), plot_bgcolor: css("--back"),
    font: { color: css("--ink"), family: "system-ui, sans-serif" },
    hoverlabel: { bgcolor: css("--card"), bordercolor: css("--line"),
      font: { color: css("--ink") } },
  };
}
