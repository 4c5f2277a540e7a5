// Strips over time, one below another, with one cursor. The page has them as a table too.

/** @typedef {{at: number, version: number, by: string|null, why: string|null}} Change */
/** `shown`: of each series its name, its title, its unit, and its colour. */
/** @typedef {{at: number[], changes: Change[], shown: [string, string, string, string][], [series: string]: any}} Strips */

const uPlot = /** @type {any} */ (window).uPlot;
const place = /** @type {HTMLElement} */ (document.getElementById("strips"));
const strips = /** @type {Strips} */ (JSON.parse(place.dataset.strips ?? "{}"));
const seconds = strips.at.map((at) => at / 1000);
/** @type {any[]} */
let plots = [];

/** @param {string} name */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A line, and its version, wherever the settings changed. @param {any} u */
function changes(u) {
  const { ctx, bbox } = u;
  const ratio = window.devicePixelRatio || 1;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour("--dim");
  ctx.lineWidth = ratio;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  ctx.font = `${10 * ratio}px ui-sans-serif, system-ui, sans-serif`;
  for (const change of strips.changes) {
    const x = Math.round(u.valToPos(change.at / 1000, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(`v${change.version}`, x + 3 * ratio, bbox.top + 10 * ratio);
  }
  ctx.restore();
}

/** @param {number} value */
function short(value) {
  if (Math.abs(value) >= 1e6) return `${Math.round(value / 1e5) / 10}M`;
  if (Math.abs(value) >= 1e3) return `${Math.round(value / 100) / 10}k`;
  return String(value);
}

function draw() {
  for (const plot of plots) plot.destroy();
  place.replaceChildren();
  const narrow = place.clientWidth < 700;
  const known = (/** @type {string} */ name) => strips[name].filter((/** @type {number|null} */ value) => value !== null);
  plots = strips.shown.map(([name, title, unit, hue]) => {
    const figure = document.createElement("figure");
    figure.className = "strip";
    const heading = document.createElement("h3");
    heading.textContent = title;
    const newest = document.createElement("strong");
    newest.textContent = short(known(name).at(-1) ?? 0);
    heading.append(newest);
    figure.append(heading);
    place.append(figure);
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px ui-sans-serif, system-ui, sans-serif" };
    const most = Math.max(4, ...known(name));
    return new uPlot({
      width: narrow ? place.clientWidth - 32 : (place.clientWidth - 32 - 24) / 2,
      height: 150,
      cursor: { sync: { key: "fleet" }, points: { size: 6 }, drag: { x: true, y: false } },
      legend: { live: true },
      tzDate: (/** @type {number} */ at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      scales: { y: { range: [0, most * 1.1] } },
      axes: [
        { ...axis, size: 34, space: 70, values: [[86400, "{D} {MMM}", null, null, null, null, null, null, 1], [3600, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1], [60, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1]] },
        { ...axis, size: 44, values: (/** @type {any} */ _, /** @type {number[]} */ values) => values.map(short), incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 5e7, 1e8, 1e9, 1e10] },
      ],
      series: [
        { label: "UTC", value: "{YYYY}-{MM}-{DD} {HH}:{mm}" },
        { label: unit, stroke: colour(`--${hue}`), fill: `${colour(`--${hue}`)}1a`, width: 1.6, points: { show: known(name).length < 40, size: 4, fill: colour(`--${hue}`) }, spanGaps: false },
      ],
      hooks: { draw: [changes] },
    }, [seconds, strips[name]], figure);
  });
}

draw();
document.addEventListener("eddy-theme", draw);
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; draw(); } });
