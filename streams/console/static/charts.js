// Strips of scores, one below another, with one cursor. A table on the same page has the same numbers.

/** @typedef {(number|null)[]} Column */
/** @typedef {{n: number[], at: Column, stuck: Column, uniqueness: Column, run_length: Column, run_threshold: Column, drift: Column,
 *   contributions: Record<string, Column>, tokens_remaining: Column, steps_remaining: Column, cost: Column, level: Column,
 *   thresholds: {stuck: number[], uniqueness: number[], drift: Record<string, number>}}} Scores */
/** `shown`: of each series its name, its values, and its colour. `stacked`: each is drawn on top of those after it. `lines`: thresholds,
 *   and what begins at each. @typedef {{title: string, shown: [string, Column, string][], lines: [number, string][], range?: any, stacked?: boolean,
 *   verdict?: number}} Strip */

const uPlot = /** @type {any} */ (window).uPlot;
const place = /** @type {HTMLElement} */ (document.getElementById("strips"));
const scores = /** @type {Scores} */ (JSON.parse(place.dataset.scores ?? "{}"));
const timed = place.dataset.x === "time";
const ratio = window.devicePixelRatio || 1;
/** Steps in the order in which they are drawn; a step without a time has no place over time. */
const order = scores.n.map((_, index) => index).filter((index) => !timed || scores.at[index] !== null);
if (timed) order.sort((one, other) => Number(scores.at[one]) - Number(scores.at[other]) || one - other);
const x = order.map((index) => (timed ? Number(scores.at[index]) / 1000 : scores.n[index]));
/** @type {any[]} */
let plots = [];

/** @param {string} name */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** @param {Column} column */
function ordered(column) {
  return order.map((index) => column[index]);
}

/** Bands behind the lines where the verdict was a warning or a loop: over time, until the next step. @param {any} u @param {number} height */
function verdicts(u, height) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  // A little wider than the strip: over time the newest step ends where it begins.
  ctx.rect(bbox.left - 4 * ratio, bbox.top, bbox.width + 8 * ratio, bbox.height);
  ctx.clip();
  for (const [level, name] of /** @type {[number, string][]} */ ([[1, "--medium-soft"], [2, "--critical-soft"]])) {
    ctx.fillStyle = colour(name);
    ordered(scores.level).forEach((value, index) => {
      if (value !== level) return;
      const from = u.valToPos(timed ? x[index] : x[index] - 0.5, "x", true);
      const to = u.valToPos(timed ? (x[index + 1] ?? x[index]) : x[index] + 0.5, "x", true);
      ctx.fillRect(from, bbox.top + bbox.height - height, Math.max(to - from, 2 * ratio), height);
    });
  }
  ctx.restore();
}

/** Bands between thresholds, darker the higher they are. @param {any} u @param {[number, string][]} lines */
function bands(u, lines) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.fillStyle = colour("--critical");
  lines.forEach(([from], index) => {
    const [bottom, top] = [from, lines[index + 1]?.[0] ?? 1].map((value) => u.valToPos(value, "y", true));
    ctx.globalAlpha = 0.04 * (index + 1);
    ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
  });
  ctx.restore();
}

/** @param {any} u @param {[number, string][]} lines */
function thresholds(u, lines) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = colour("--critical");
  ctx.fillStyle = colour("--dim");
  ctx.font = `${10 * ratio}px ${colour("--sans")}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "bottom";
  ctx.setLineDash([4, 4]);
  for (const [value, what] of lines) {
    const y = u.valToPos(value, "y", true);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.fillText(what, bbox.left + 4 * ratio, y - ratio);
  }
  ctx.restore();
}

/** The sums of each column and those after it. @param {Column[]} columns @returns {Column[]} */
function stack(columns) {
  return columns.map((column, from) => column.map((value, row) =>
    value === null ? null : columns.slice(from).reduce((sum, each) => sum + (each[row] ?? 0), 0)));
}

/** @param {string} text */
function plain(text) {
  return text.toLowerCase().replaceAll("_", " ");
}

/** @param {number[]} values @returns {[number, string][]} */
function unnamed(values) {
  return values.map((value) => [value, ""]);
}

const HUES = ["--state-active", "--state-blocked", "--good", "--paused", "--state-idle"];

/** @type {Strip[]} */
const STRIPS = [
  { title: "Stuck score", shown: [["score", scores.stuck, "--accent"]], lines: unnamed(scores.thresholds.stuck), range: [0, 8.2] },
  { title: "Uniqueness", shown: [["uniqueness", scores.uniqueness, "--accent"]], lines: unnamed(scores.thresholds.uniqueness), range: [0, 1.02] },
  { title: "Same tool in a row", shown: [["records", scores.run_length, "--accent"]], lines: unnamed([scores.run_threshold.find((value) => value !== null) ?? 3]) },
  {
    title: "Drift, and the advice that begins at each threshold", shown: [["overall", scores.drift, "--accent"]], range: [0, 1.02], verdict: 6 * ratio,
    lines: Object.entries(scores.thresholds.drift).map(([level, value]) => [value, plain(level)]),
  },
  {
    title: "What each signal adds to the drift", stacked: true, lines: [], range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, Math.max(0.1, most * 1.05)],
    shown: Object.entries(scores.contributions).map(([name, values], index) => [plain(name), values, HUES[index]]),
  },
  { title: "Tokens left", shown: [["tokens", scores.tokens_remaining, "--accent"]], lines: [] },
  { title: "Steps left", shown: [["steps", scores.steps_remaining, "--accent"]], lines: [] },
  { title: "Cost of the session", shown: [["cost", scores.cost, "--accent"]], lines: [] },
];

/** What the legend calls the place of the cursor. @param {any} _ @param {number|null} value @param {number} __ @param {number|null} index */
function stepAt(_, value, __, index) {
  if (value === null || index === null) return "--";
  return timed ? `${scores.n[order[index]]}, ${new Date(value * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC` : String(value);
}

/** Steps of one moment get a minute around them: uPlot would give a single one a thousand days. @param {any} _ @param {number|null} from @param {number|null} to */
function span(_, from, to) {
  if (from === null || to === null) return [null, null];
  return x[0] === x.at(-1) ? [x[0] - 30, x[0] + 30] : [from, to];
}

const DATE = "\n{D} {MMM}";
const TIMES = [
  [86400, "{D} {MMM}", null, null, null, null, null, null, 1],
  [60, "{HH}:{mm}", DATE, null, DATE, null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", DATE, null, DATE, null, null, null, 1],
];

function draw() {
  for (const plot of plots) plot.destroy();
  place.replaceChildren();
  plots = STRIPS.filter((strip) => strip.shown.some(([, values]) => values.some((value) => value !== null))).map((strip) => {
    const figure = document.createElement("figure");
    figure.className = "strip";
    const title = document.createElement("h3");
    title.textContent = strip.title;
    figure.append(title);
    place.append(figure);
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px ui-sans-serif, system-ui, sans-serif" };
    const columns = strip.shown.map(([, values]) => ordered(values));
    const options = {
      width: place.clientWidth - 32,
      height: timed ? 142 : 132,
      cursor: { sync: { key: "steps" }, points: { size: 6 }, drag: { x: true, y: false } },
      legend: { live: true },
      tzDate: (/** @type {number} */ at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      scales: { x: timed ? { time: true, range: span } : { time: false }, y: strip.range ? { range: strip.range } : {} },
      axes: [timed ? { ...axis, size: 34, space: 70, values: TIMES } : { ...axis, size: 24 }, { ...axis, size: 52 }],
      series: [{ label: "step", value: stepAt }, ...strip.shown.map(([label, , name], index) => ({
        label, stroke: colour(name), fill: strip.stacked ? colour(name) : undefined, width: strip.stacked ? 1 : 2, spanGaps: true,
        points: { show: x.length < 60 && !strip.stacked, size: 4 },
        value: (/** @type {any} */ _, /** @type {any} */ __, /** @type {any} */ ___, /** @type {number|null} */ row) => (row === null ? "--" : (columns[index][row] ?? "--")),
      }))],
      hooks: {
        drawClear: [(/** @type {any} */ u) => { if (strip.verdict) bands(u, strip.lines); verdicts(u, strip.verdict ?? u.bbox.height); }],
        draw: [(/** @type {any} */ u) => thresholds(u, strip.lines)],
      },
    };
    return new uPlot(options, [x, ...(strip.stacked ? stack(columns) : columns)], figure);
  });
}

draw();
document.addEventListener("eddy-theme", draw);
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; draw(); } });
