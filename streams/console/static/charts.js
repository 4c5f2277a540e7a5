// Strips of scores, one below another, with one cursor. A table on the same page has the same numbers.

/** @typedef {{n: number[], stuck: (number|null)[], uniqueness: (number|null)[], run_length: (number|null)[], drift: (number|null)[],
 *   tokens_remaining: (number|null)[], steps_remaining: (number|null)[], cost: (number|null)[], level: (number|null)[],
 *   run_threshold: (number|null)[], thresholds: {stuck: number[], uniqueness: number[]}, signals: Record<string, (number|null)[]>}} Scores */

const uPlot = /** @type {any} */ (window).uPlot;
const place = /** @type {HTMLElement} */ (document.getElementById("strips"));
const scores = /** @type {Scores} */ (JSON.parse(place.dataset.scores ?? "{}"));
/** @type {any[]} */
let plots = [];

/** @param {string} name */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Bands behind the lines where the verdict was a warning or a loop. @param {any} u */
function bands(u) {
  const { ctx, bbox } = u;
  for (const [level, name] of /** @type {[number, string][]} */ ([[1, "--medium-soft"], [2, "--critical-soft"]])) {
    ctx.fillStyle = colour(name);
    scores.level.forEach((value, index) => {
      if (value !== level) return;
      const from = u.valToPos(scores.n[index] - 0.5, "x", true);
      const to = u.valToPos(scores.n[index] + 0.5, "x", true);
      ctx.fillRect(from, bbox.top, to - from, bbox.height);
    });
  }
}

/**
 * @param {any} u
 * @param {number[]} lines
 */
function thresholds(u, lines) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = colour("--critical");
  ctx.setLineDash([4, 4]);
  for (const value of lines) {
    const y = u.valToPos(value, "y", true);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}

const STRIPS = [
  { title: "Stuck score", series: [["score", scores.stuck, "--accent"]], lines: scores.thresholds.stuck, range: [0, 8.2] },
  { title: "Uniqueness", series: [["uniqueness", scores.uniqueness, "--accent"]], lines: scores.thresholds.uniqueness, range: [0, 1.02] },
  { title: "Same tool in a row", series: [["records", scores.run_length, "--accent"]], lines: [scores.run_threshold.find((value) => value !== null) ?? 3] },
  { title: "Drift", series: [["overall", scores.drift, "--accent"], ...Object.entries(scores.signals).map(([name, values], index) => [name.replaceAll("_", " "), values, ["--faint", "--high", "--good", "--medium", "--paused"][index]])], lines: [], range: [0, 1.02] },
  { title: "Tokens left", series: [["tokens", scores.tokens_remaining, "--accent"]], lines: [] },
  { title: "Steps left", series: [["steps", scores.steps_remaining, "--accent"]], lines: [] },
  { title: "Cost of the session", series: [["cost", scores.cost, "--accent"]], lines: [] },
];

function draw() {
  for (const plot of plots) plot.destroy();
  place.replaceChildren();
  plots = STRIPS.filter((strip) => /** @type {any} */ (strip.series[0][1]).some((/** @type {unknown} */ value) => value !== null)).map((strip) => {
    const figure = document.createElement("figure");
    figure.className = "strip";
    const title = document.createElement("h3");
    title.textContent = strip.title;
    figure.append(title);
    place.append(figure);
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px ui-sans-serif, system-ui, sans-serif" };
    const options = {
      width: place.clientWidth - 32,
      height: 132,
      cursor: { sync: { key: "steps" }, points: { size: 6 }, drag: { x: true, y: false } },
      legend: { live: true },
      scales: { x: { time: false }, y: strip.range ? { range: strip.range } : {} },
      axes: [{ ...axis, size: 24 }, { ...axis, size: 52 }],
      series: [{ label: "step" }, ...strip.series.map(([label, , name], index) => ({
        label, stroke: colour(/** @type {string} */ (name)), width: index ? 1 : 2, points: { show: scores.n.length < 60 && !index, size: 4 }, spanGaps: true,
      }))],
      hooks: { drawClear: [bands], draw: [(/** @type {any} */ u) => thresholds(u, strip.lines)] },
    };
    return new uPlot(options, [scores.n, ...strip.series.map(([, values]) => values)], figure);
  });
}

draw();
document.addEventListener("eddy-theme", draw);
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; draw(); } });
