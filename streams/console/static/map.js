// The map of sessions. The table below it has the same and is what the server keeps up to date: this draws it.
import { Cells, colour, hexagon } from "./cells.js";
import { LABEL, centre, hit, layout, next, sizeFor, standing } from "./honeycomb.js";
import { parsed } from "./trusted.js";

/** @typedef {import("./honeycomb.js").Group} Group */
/** @typedef {import("./honeycomb.js").Seat} Seat */

const map = /** @type {HTMLElement} */ (document.getElementById("map"));
const surface = /** @type {HTMLElement} */ (map.querySelector(".surface"));
const canvas = /** @type {HTMLCanvasElement} */ (map.querySelector("canvas.base"));
const over = /** @type {HTMLCanvasElement} */ (map.querySelector("canvas.over"));
const tip = /** @type {HTMLElement} */ (map.querySelector(".tip"));
const said = /** @type {HTMLElement} */ (document.getElementById("map-said"));
const rows = /** @type {HTMLElement} */ (document.getElementById("rows"));
const WORDS = /** @type {Record<string, string>} */ ({ l: "looping", b: "blocked", p: "paused", a: "active", i: "idle" });
const LETTERS = /** @type {Record<string, string>} */ ({ alert_entropy: "l", blocked: "b", paused: "p", active: "a", idle: "i" });
const FILLS = ["--state-alert", "--state-blocked", "--state-paused", "--state-active", "--state-idle"];
const wanted = LETTERS[map.dataset.state ?? ""] ?? "";
const narrow = matchMedia("(max-width: 720px)");
const coarse = matchMedia("(pointer: coarse)");
const cells = new Cells();

/** @type {Map<number, Group>} Groups that are gone keep their place until the page is loaded again. */
const groups = new Map();
/** @type {{areas: import("./honeycomb.js").Area[], height: number}} */
let laid = { areas: [], height: 0 };
let size = 0;
/** @type {Map<number, import("./honeycomb.js").Area>} what is on the canvas, by place */
const painted = new Map();
/** @type {Seat | null} */
let chosen = null;
/** @type {Seat | null} */
let pointed = null;
/** @type {Seat[]} */
let joined = [];
let asked = 0;
let drawing = 0;
let telling = 0;

function read() {
  for (const group of groups.values()) group.cells = group.cells === null ? null : "";
  for (const row of rows.children) {
    if (!(row instanceof HTMLElement) || !row.dataset.place) continue;
    const place = Number(row.dataset.place);
    groups.set(place, {
      place,
      name: row.dataset.name ?? "",
      capacity: Math.max(Number(row.dataset.capacity), groups.get(place)?.capacity ?? 1),
      cells: row.dataset.cells ?? null,
      counts: (row.dataset.counts ?? "").split(",").map(Number),
    });
  }
}

function arranged() {
  const width = surface.clientWidth;
  const order = [...groups.values()].sort((one, other) => one.place - other.place);
  size ||= sizeFor(order, width, Math.max(320, innerHeight - surface.getBoundingClientRect().top - scrollY - 80), narrow.matches || coarse.matches);
  laid = layout(order, width, size);
  const ratio = devicePixelRatio || 1;
  const height = Math.max(120, Math.ceil(laid.height));
  if (canvas.width === Math.round(width * ratio) && canvas.height === Math.round(height * ratio)) return;
  for (const each of [canvas, over]) {
    each.width = Math.round(width * ratio);
    each.height = Math.round(height * ratio);
    each.style.height = `${height}px`;
  }
  painted.clear();
}

/** @param {Seat | null} one @param {Seat | null} other */
const same = (one, other) => one?.place === other?.place && one?.slot === other?.slot;

/** @param {Seat} seat */
const areaOf = (seat) => laid.areas.find((area) => area.place === seat.place);

/** @param {Seat} seat */
const stateOf = (seat) => areaOf(seat)?.cells?.[seat.slot] ?? ".";

/** @param {CanvasRenderingContext2D} ctx @param {string} text @param {number} width */
function fitting(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && ctx.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}

/** @param {CanvasRenderingContext2D} ctx @param {import("./honeycomb.js").Area} area */
function label(ctx, area) {
  const looping = area.counts[0];
  const total = area.counts.reduce((sum, count) => sum + count, 0);
  if (area.cells === "") return;
  ctx.globalAlpha = 1;
  ctx.textBaseline = "middle";
  ctx.font = `500 11px ${colour("--sans")}`;
  const count = looping ? `${looping} of ${total}` : String(total);
  const room = ctx.measureText(count).width + 16;
  ctx.fillStyle = colour(looping ? "--critical" : "--faint");
  ctx.textAlign = "right";
  ctx.fillText(count, area.x + area.width - 14, area.y + LABEL / 2 - 2);
  ctx.textAlign = "left";
  ctx.font = `${looping ? 600 : 500} 12px ${colour("--sans")}`;
  ctx.fillStyle = colour(looping ? "--text" : "--dim");
  ctx.fillText(fitting(ctx, area.name, area.width - room - 10), area.x + 2, area.y + LABEL / 2 - 2);
}

/** @param {CanvasRenderingContext2D} ctx @param {import("./honeycomb.js").Area} area */
function bar(ctx, area) {
  const total = area.counts.reduce((sum, count) => sum + count, 0) || 1;
  let x = area.x;
  area.counts.forEach((count, index) => {
    const width = ((area.width - 14) * count) / total;
    ctx.globalAlpha = !wanted || wanted === "lbpai"[index] ? 1 : 0.2;
    ctx.fillStyle = colour(FILLS[index]);
    ctx.fillRect(x, area.y + LABEL, width, 12);
    x += width;
  });
}

/** @param {CanvasRenderingContext2D} ctx @param {Seat} seat @param {string} hue @param {number} width */
function ring(ctx, seat, hue, width) {
  const area = areaOf(seat);
  if (!area || stateOf(seat) === ".") return;
  const { x, y } = centre(area, seat.slot);
  ctx.strokeStyle = hue;
  ctx.lineWidth = width;
  ctx.lineJoin = "round";
  hexagon(ctx, x, y, (area.size / Math.sqrt(3)) * 1.06);
  ctx.stroke();
}

/** @param {HTMLCanvasElement} of */
function context(of) {
  const ctx = /** @type {CanvasRenderingContext2D} */ (of.getContext("2d"));
  const ratio = devicePixelRatio || 1;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { ctx, ratio };
}

/** Paint what differs from what is on the canvas; all of it if an area has moved. */
function paint() {
  const { ctx, ratio } = context(canvas);
  const isMoved = laid.areas.some((area) => {
    const old = painted.get(area.place);
    return old && (old.x !== area.x || old.y !== area.y || old.width !== area.width || old.size !== area.size || old.capacity !== area.capacity);
  });
  if (isMoved) painted.clear();
  if (painted.size === 0) ctx.clearRect(0, 0, canvas.width, canvas.height);
  for (const area of laid.areas) {
    const old = painted.get(area.place);
    if (old && old.cells === area.cells && String(old.counts) === String(area.counts)) continue;
    painted.set(area.place, area);
    ctx.clearRect(area.x - 1, area.y, area.width, area.cells ? LABEL - 1 : area.height);
    label(ctx, area);
    if (area.cells === null) bar(ctx, area);
    for (let slot = 0; area.cells && slot < area.capacity; slot++) {
      const state = area.cells[slot] ?? ".";
      if (old?.cells && (old.cells[slot] ?? ".") === state) continue;
      const alpha = !wanted || state === "." || state === wanted ? 1 : 0.18;
      cells.put(ctx, state, centre(area, slot), area.size, { ratio, alpha, erase: Boolean(old) });
    }
  }
}

/** The chosen cell with its edges, and the one pointed at: on a canvas of their own. */
function mark() {
  const { ctx } = context(over);
  ctx.clearRect(0, 0, over.width, over.height);
  const here = chosen && areaOf(chosen);
  if (chosen && here) {
    const from = centre(here, chosen.slot);
    ctx.strokeStyle = colour("--accent");
    ctx.lineWidth = 1.2;
    for (const seat of joined) {
      const area = areaOf(seat);
      if (!area || !area.cells) continue;
      const to = centre(area, seat.slot);
      ctx.beginPath();
      ctx.moveTo(from.x, from.y);
      ctx.lineTo(to.x, to.y);
      ctx.stroke();
      ring(ctx, seat, colour("--accent"), 1.2);
    }
    ring(ctx, chosen, colour("--accent"), 2.5);
  }
  if (pointed && !same(pointed, chosen)) ring(ctx, pointed, colour("--text"), 1.5);
}

function draw() {
  drawing = 0;
  paint();
  mark();
}

function redraw() {
  drawing ||= requestAnimationFrame(draw);
}

function refresh() {
  const before = chosen && stateOf(chosen);
  read();
  arranged();
  redraw();
  if (chosen && before !== stateOf(chosen)) void choose(chosen);
}

/** @param {Seat | null} seat @returns {Promise<HTMLElement | null>} the card of who stands there */
async function card(seat) {
  const address = `${map.dataset.cellUrl}?by=${map.dataset.by}` + (seat ? `&at=${seat.place}:${seat.slot}` : "");
  const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  return answer.ok ? parsed(await answer.text()).getElementById("cell") : null;
}

/** @param {HTMLElement | null} found */
function show(found) {
  const old = document.getElementById("cell");
  if (found && old !== found) old?.replaceWith(document.adoptNode(found));
  const link = found?.querySelector("a.row-link");
  const id = link && new URL(link.getAttribute("href") ?? "", location.href).searchParams.get("id");
  const query = new URLSearchParams(location.search);
  query.delete("at");
  if (id) query.set("id", id);
  else query.delete("id");
  const text = query.toString();
  history.replaceState(null, "", location.pathname + (text ? `?${text}` : ""));
  joined = (found?.dataset.joined ?? "").split(" ").filter(Boolean).map((at) => {
    const [place, slot] = at.split(":").map(Number);
    return { place, slot };
  });
  redraw();
}

/** @param {Seat | null} seat */
async function choose(seat) {
  chosen = seat;
  joined = [];
  redraw();
  const number = ++asked;
  const area = seat && areaOf(seat);
  if (area) {
    // On a narrow screen the card covers the lower half.
    const [lowest, goal] = narrow.matches ? [innerHeight * 0.4, innerHeight * 0.25] : [innerHeight - 80, innerHeight / 2];
    const top = surface.getBoundingClientRect().top + centre(area, seat.slot).y;
    if (top < 80 || top > lowest) scrollBy({ top: top - goal });
  }
  const found = await card(seat);
  if (number !== asked) return;
  show(found);
  said.textContent = seat ? `${area?.name ?? ""}: ${found?.dataset.said ?? "no session"}` : "";
}

/** The next one in a state. @param {string} state @param {number} by */
function nextOf(state, by) {
  const all = standing(laid.areas);
  const at = chosen ? all.findIndex((each) => same(each, chosen)) : -1;
  for (let step = 1; step <= all.length; step++) {
    const each = all[(((at + by * step) % all.length) + all.length) % all.length];
    if (each.state === state) return each;
  }
  return null;
}

/** @param {KeyboardEvent} pressed */
function press(pressed) {
  if (pressed.metaKey || pressed.ctrlKey || pressed.altKey) return;
  const start = chosen ?? standing(laid.areas)[0];
  if (!start) return;
  const moves = /** @type {Record<string, [number, number]>} */ ({ ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] });
  const move = moves[pressed.key];
  if (move) void choose(chosen ? next(laid.areas, chosen, ...move) ?? chosen : start);
  else if (pressed.key === "n" || pressed.key === "N") {
    const found = nextOf("l", pressed.key === "n" ? 1 : -1);
    if (found) void choose(found);
    else said.textContent = "No session loops.";
  } else if (pressed.key === "Enter") {
    const link = document.querySelector("#cell a.row-link");
    if (link instanceof HTMLElement) link.click();
  } else if (pressed.key === "Escape") void choose(null);
  else return;
  pressed.preventDefault();
  pressed.stopPropagation();
}

/** @param {PointerEvent} event */
function point(event) {
  const box = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const found = hit(laid.areas, x, y);
  surface.classList.toggle("on-cell", Boolean(found));
  if (!same(found, pointed)) {
    pointed = found;
    redraw();
    clearTimeout(telling);
    tip.hidden = !found;
    if (found) {
      tip.textContent = `${areaOf(found)?.name} · ${WORDS[stateOf(found)]}`;
      telling = window.setTimeout(async () => {
        const about = await card(found);
        if (same(found, pointed) && about?.dataset.said) tip.textContent = about.dataset.said;
      }, 150);
    }
  }
  tip.style.left = `${Math.min(x + 14, canvas.clientWidth - tip.offsetWidth - 4)}px`;
  tip.style.top = `${y + 18}px`;
}

surface.addEventListener("pointermove", point);
surface.addEventListener("pointerleave", () => {
  pointed = null;
  tip.hidden = true;
  clearTimeout(telling);
  redraw();
});
surface.addEventListener("click", (event) => {
  const box = canvas.getBoundingClientRect();
  void choose(hit(laid.areas, event.clientX - box.left, event.clientY - box.top));
});
surface.addEventListener("keydown", press);
document.addEventListener("keydown", (pressed) => {
  const target = pressed.target;
  const typing = target instanceof HTMLElement && target.matches("input, textarea, select");
  if (typing || document.querySelector("dialog[open]") || surface.contains(/** @type {Node} */ (target))) return;
  if (pressed.key === "n" || pressed.key === "N") {
    surface.focus({ preventScroll: true });
    press(pressed);
  }
});
document.addEventListener("click", (event) => {
  if (event.target instanceof Element && event.target.closest("#cell [data-close]")) {
    event.preventDefault();
    void choose(null);
    surface.focus({ preventScroll: true });
  }
}, true);

function recolour() {
  cells.forget();
  painted.clear();
  redraw();
}

document.getElementById("map-and-card")?.removeAttribute("hidden");
document.getElementById("twin")?.removeAttribute("open");
read();
arranged();
const shown = document.querySelector("#cell[data-at]");
if (shown instanceof HTMLElement) {
  const [place, slot] = (shown.dataset.at ?? "").split(":").map(Number);
  chosen = { place, slot };
  show(shown);
}
draw();
new MutationObserver(refresh).observe(rows, { childList: true, subtree: true, attributeFilter: ["data-cells", "data-counts"] });
let width = surface.clientWidth;
new ResizeObserver(() => {
  if (surface.clientWidth === width) return;
  width = surface.clientWidth;
  arranged();
  redraw();
}).observe(surface);
document.addEventListener("eddy-theme", recolour);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
