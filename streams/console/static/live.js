// Applies what the server sends. The page holds still under the reader: rows change, but their order waits.
import { meta, times, toast } from "./console.js";
import { parsed, trusted } from "./trusted.js";

const Idiomorph = /** @type {any} */ (window).Idiomorph;
const view = location.pathname.slice(meta("eddy-base").length) + location.search;
const address = location.origin + meta("eddy-live");
const body = document.querySelector("tbody[id], ol.steps");
let frozen = new URLSearchParams(location.search).get("live") === "0";
let heard = Date.now();
let lost = false;
/** @type {any} */
let waiting = null;

/**
 * @param {string} html
 * @param {string} around
 * @returns {Element | null}
 */
function element(html, around) {
  const wrapped = around === "TBODY" ? `<table><tbody>${html}</tbody></table>` : html;
  const found = parsed(wrapped).body;
  const first = around === "TBODY" ? found.querySelector("tr") : found.firstElementChild;
  if (first) times(first);
  return first && document.adoptNode(first);
}

/** @param {Element} old @param {Element} fresh */
function morph(old, fresh) {
  Idiomorph.morph(old, fresh, {
    ignoreActiveValue: true,
    callbacks: {
      // What a reader has opened stays open.
      beforeAttributeUpdated: (/** @type {string} */ name, /** @type {Element} */ node) => !(name === "open" && node.tagName === "DETAILS"),
    },
  });
}

function isRead() {
  return Boolean(document.querySelector("dialog[open]")) || Boolean(body?.querySelector(":hover, :focus-within, .selected, .chosen, details.besides[open]"));
}

/** @param {any} data */
function apply(data) {
  for (const [id, html] of Object.entries(data.parts ?? {})) {
    const old = document.getElementById(id);
    const fresh = element(/** @type {string} */ (html), "");
    if (old && fresh && old.outerHTML !== fresh.outerHTML) morph(old, fresh);
  }
  if (!body || !data.order) return;
  const rows = keyed();
  for (const [key, html] of Object.entries(data.set)) {
    const fresh = element(/** @type {string} */ (html), body.tagName);
    const old = rows.get(key);
    if (!fresh) continue;
    if (!old) {
      fresh.classList.add("fresh");
      rows.set(key, fresh);
      body.append(fresh);
      if (isRead()) fresh.setAttribute("hidden", "");
    } else {
      for (const kept of ["selected", "chosen"]) fresh.classList.toggle(kept, old.classList.contains(kept));
      if (old.outerHTML !== fresh.outerHTML) morph(old, fresh);
    }
  }
  if (isRead() && body.tagName === "TBODY") {
    const moved = data.order.filter((/** @type {string} */ key, /** @type {number} */ index) => current()[index] !== key).length;
    waiting = moved ? data.order : null;
    bar(moved);
  } else {
    arrange(data.order);
  }
}

function keyed() {
  return new Map([...(body?.children ?? [])].map((row) => [row.getAttribute("data-key") ?? "", row]));
}

function current() {
  return [...(body?.children ?? [])].filter((row) => !row.hasAttribute("hidden")).map((row) => row.getAttribute("data-key") ?? "");
}

/** @param {string[]} order */
function arrange(order) {
  if (!body) return;
  waiting = null;
  bar(0);
  const rows = keyed();
  for (const [key, row] of rows) if (!order.includes(key)) row.remove();
  let at = body.firstElementChild;
  for (const key of order) {
    const row = rows.get(key);
    if (!row) continue;
    row.removeAttribute("hidden");
    if (row === at) at = at.nextElementSibling;
    else body.insertBefore(row, at);
  }
  const isEmpty = document.getElementById("empty");
  isEmpty?.toggleAttribute("hidden", order.length > 0);
  body.closest("table")?.toggleAttribute("hidden", order.length === 0);
}

/** @param {number} changes */
function bar(changes) {
  const place = document.getElementById("waiting");
  if (!place) return;
  place.hidden = changes === 0;
  const button = place.querySelector("button");
  if (button) button.textContent = changes === 1 ? "1 change waiting (r)" : `${changes} changes waiting (r)`;
}

document.addEventListener("eddy-key", (event) => {
  const key = /** @type {CustomEvent} */ (event).detail;
  if (key === "r" && waiting) arrange(waiting);
  if (key === " ") freeze();
});
document.getElementById("waiting")?.addEventListener("click", () => { if (waiting) arrange(waiting); });

function freeze() {
  const query = new URLSearchParams(location.search);
  if (frozen) query.delete("live");
  else query.set("live", "0");
  const text = query.toString();
  location.replace(location.pathname + (text ? `?${text}` : ""));
}

/** @param {any} message */
function take(message) {
  heard = Date.now();
  if (lost) {
    lost = false;
    document.body.classList.remove("stale");
    document.getElementById("pulse-lost")?.remove();
  }
  if (message.type === "rows" && !frozen) apply(message.data);
}

function watchSilence() {
  if (Date.now() - heard < 40_000 || lost) return;
  lost = true;
  document.body.classList.add("stale");
  const note = document.createElement("span");
  note.id = "pulse-lost";
  note.textContent = `not live since ${new Date(heard).toLocaleTimeString("en-GB")}`;
  document.getElementById("pulse")?.prepend(note);
}

if (frozen) toast("The page is frozen. Press space to go on.");
else if (window.SharedWorker) {
  const here = new URL("./live-worker.js", import.meta.url).href;
  const worker = new SharedWorker(trusted.createScriptURL(here), { name: "eddy-live" });
  worker.port.onmessage = (event) => { if (event.data.type !== "lost") take(event.data); };
  worker.port.start();
  const watch = () => worker.port.postMessage({ type: "watch", view, address });
  watch();
  setInterval(() => worker.port.postMessage({ type: "alive" }), 15_000);
  addEventListener("pagehide", () => worker.port.postMessage({ type: "leave" }));
  addEventListener("pageshow", (event) => { if (event.persisted) watch(); });
} else {
  const source = new EventSource(`${address}?view=${encodeURIComponent(view)}`);
  source.addEventListener("hello", () => take({ type: "hello" }));
  source.addEventListener("beat", () => take({ type: "beat" }));
  source.addEventListener("rows", (event) => take({ type: "rows", data: JSON.parse(event.data) }));
}
setInterval(watchSilence, 5_000);
