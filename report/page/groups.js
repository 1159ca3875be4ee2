const PARTS = JSON.parse(document.getElementById("data").textContent);

function drawAll() {
  for (const [id, groups] of Object.entries(PARTS)) {
    const labels = groups.map(([name]) => name);
    const values = groups.map(([, share]) => share);
    const bounds = groups.map(([, , ci]) => ci);
    const tips = groups.map(([name, share, ci]) =>
      `${name}: ${show(share)}${ci ? ` (${show(ci[0])} to ${show(ci[1])})` : ""}`);
    drawBars(document.getElementById(id), labels, [{ values, bounds, tips }], []);
  }
}

drawAll();
redraw(drawAll);
