// What every page has: keys, copying, the theme, dialogs, actions. Each page works without it.
import { parsed } from "./trusted.js";

const base = meta("eddy-base");

/** @param {string} name */
export function meta(name) {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute("content") ?? "";
}

// What only this script can do is hidden until it runs.
for (const element of document.querySelectorAll("[data-copy], [data-do][hidden]")) element.removeAttribute("hidden");

/** @param {string} text @param {HTMLElement | null} [undo] */
export function toast(text, undo) {
  document.querySelector(".toast")?.remove();
  const note = document.createElement("div");
  note.className = "toast";
  note.setAttribute("role", "status");
  note.textContent = text;
  if (undo) note.append(" ", undo);
  document.body.append(note);
  window.setTimeout(() => note.remove(), undo ? 10_000 : 4_000);
}

/** @param {string} text */
async function copy(text) {
  const address = text.startsWith("/") ? location.origin + text : text;
  try {
    await navigator.clipboard.writeText(address);
    toast(`Copied: ${address}`);
  } catch {
    toast(address);
  }
}

function switchTheme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme || (dark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  document.cookie = `eddy-theme=${root.dataset.theme}; path=${base || "/"}; max-age=31536000; samesite=strict`;
  document.dispatchEvent(new Event("eddy-theme"));
}

/** @param {string} id */
function openDialog(id) {
  const dialog = document.getElementById(id);
  if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
}

// The address of a dialog is that of its page again when it closes.
document.addEventListener("close", () => {
  const here = new URL(location.href);
  if (!here.searchParams.has("dialog")) return;
  here.searchParams.delete("dialog");
  history.replaceState(null, "", here);
}, true);

for (const dialog of document.querySelectorAll("dialog[data-open]")) {
  if (dialog instanceof HTMLDialogElement) {
    dialog.close();
    dialog.showModal();
  }
}

/**
 * Fetch a page and put one element of it on this one: a dialog or a panel.
 * @param {string} address
 * @param {string} id
 */
async function bring(address, id) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  const found = parsed(await answer.text()).getElementById(id);
  if (!found) {
    location.href = address;
    return;
  }
  document.getElementById(id)?.remove();
  const node = document.adoptNode(found);
  if (node instanceof HTMLDialogElement) {
    node.removeAttribute("open");
    document.body.append(node);
    node.showModal();
  } else {
    const lens = document.querySelector(".lens");
    lens?.classList.add("with-diff");
    lens?.append(node);
    history.replaceState(null, "", address);
    node.scrollIntoView({ block: "nearest" });
  }
}

document.addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  const plain = !event.metaKey && !event.ctrlKey && !event.shiftKey;
  const copied = target?.closest("[data-copy]");
  if (copied) void copy(copied.getAttribute("data-copy") ?? "");
  const button = target?.closest("[data-do]");
  const what = button?.getAttribute("data-do");
  if (what === "theme") switchTheme();
  if (what === "help") openDialog("keys");
  if (what === "dialog" && plain && button instanceof HTMLAnchorElement) {
    event.preventDefault();
    void bring(button.href, "dialog");
  }
  const diff = target?.closest("a[data-diff]");
  if (diff instanceof HTMLAnchorElement && plain) {
    event.preventDefault();
    void bring(diff.href, "diff");
  }
  const close = target?.closest("[data-close]");
  if (close && plain) {
    const panel = close.closest("aside, dialog");
    if (panel instanceof HTMLDialogElement) {
      event.preventDefault();
      panel.close();
    } else if (panel) {
      event.preventDefault();
      panel.remove();
      document.querySelector(".lens")?.classList.remove("with-diff");
    }
  }
});

// Actions go by fetch, so that the page stays where it is; the form works without.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.matches("[data-action]")) return;
  event.preventDefault();
  void act(form, event.submitter);
});

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 */
async function act(form, submitter) {
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form)) body.append(name, String(value));
  if (submitter instanceof HTMLButtonElement) {
    if (submitter.name) body.append(submitter.name, submitter.value);
    submitter.disabled = true;
  }
  const problem = form.querySelector(".error-text");
  try {
    const answer = await fetch(form.getAttribute("action") ?? "", {
      method: "POST",
      body,
      headers: { Accept: "application/json", "X-CSRF-Token": meta("eddy-csrf") },
    });
    const said = await answer.json();
    if (!answer.ok) throw new Error([said.detail || said.title, said.do].filter(Boolean).join(" "));
    form.closest("dialog")?.close();
    const text = said.visible === false ? "Accepted, not yet visible." : said.said || "Done.";
    const restore = form.closest("tr") ? show(form, text, said.undo) : undefined;
    toast(text, said.undo ? undoing(form.action, said.undo, restore) : null);
    document.dispatchEvent(new CustomEvent("eddy-acted", { detail: said }));
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    if (problem) problem.textContent = text;
    else toast(text);
  } finally {
    if (submitter instanceof HTMLButtonElement) submitter.disabled = false;
  }
}

/**
 * Say in its row what was done, before the server sends the row anew; return what takes that back.
 * @param {HTMLFormElement} form
 * @param {string} text
 * @param {any} undo
 */
function show(form, text, undo) {
  const acted = document.createElement("span");
  const restore = () => acted.replaceWith(form);
  acted.className = "acted";
  acted.textContent = text;
  if (undo) acted.append(" ", undoing(form.action, undo, restore));
  form.replaceWith(acted);
  return restore;
}

/**
 * Return a button that takes an action back.
 * @param {string} address
 * @param {Record<string, any>} fields
 * @param {() => void} [then]
 */
function undoing(address, fields, then) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button quiet slim";
  button.textContent = "Undo";
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const answer = await fetch(address, {
        method: "POST",
        body: JSON.stringify(fields),
        headers: { Accept: "application/json", "Content-Type": "application/json", "X-CSRF-Token": meta("eddy-csrf") },
      });
      const said = await answer.json();
      if (!answer.ok) throw new Error([said.detail || said.title, said.do].filter(Boolean).join(" "));
      then?.();
      toast(said.said || "Taken back.");
    } catch (error) {
      button.disabled = false;
      toast(error instanceof Error ? error.message : String(error));
    }
  });
  return button;
}

// -- keys -----------------------------------------------------------------------------------------------------

const PAGES = { a: "/alerts", s: "/sessions", m: "/map", h: "/health", e: "/settings", d: "/dead-letters", j: "/job" };
let prefix = false;

/** @returns {HTMLElement[]} */
function rows() {
  return [...document.querySelectorAll("tbody[id] > tr, ol.steps > li")].filter((row) => row instanceof HTMLElement);
}

/** @param {number} by */
function move(by) {
  const all = rows();
  const now = all.findIndex((row) => row.classList.contains("selected"));
  const next = all[Math.max(0, Math.min(all.length - 1, now < 0 ? 0 : now + by))];
  choose(next);
}

/** @param {HTMLElement | undefined} row */
function choose(row) {
  if (!row) return;
  for (const other of document.querySelectorAll("tr.selected, li.selected")) other.classList.remove("selected");
  row.classList.add("selected");
  row.scrollIntoView({ block: "nearest" });
  const focused = row.querySelector("a, summary");
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
}

/** @param {number} by */
function event(by) {
  const all = rows();
  const now = all.findIndex((row) => row.classList.contains("selected"));
  const rest = by > 0 ? all.slice(now + 1) : all.slice(0, Math.max(0, now)).reverse();
  choose(rest.find((row) => row.hasAttribute("data-event")));
}

/** Go to the search of the page, or of all sessions. */
function search() {
  const field = document.querySelector("input[type=search]");
  if (field instanceof HTMLElement) field.focus();
  else location.href = `${base}/sessions#search`;
}
if (location.hash === "#search") search();

/** Go to the first step of an episode. @param {number} by */
function episode(by) {
  const all = rows();
  const now = all.findIndex((row) => row.classList.contains("selected"));
  const rest = by > 0 ? all.slice(now + 1) : all.slice(0, Math.max(0, now)).reverse();
  choose(rest.find((row) => row.querySelector(".bracket.first")));
}

/** @param {string} what */
function press(what) {
  const row = document.querySelector("tr.selected, li.selected") ?? document.querySelector("#control")?.parentElement;
  // In a list, a key is about the row that is chosen, never about another one.
  const isList = document.querySelector("tbody[id] > tr") !== null;
  const found = row?.querySelector(what) ?? (isList ? null : document.querySelector(`main ${what}`));
  if (found instanceof HTMLElement) found.click();
}

/** The sessions that were chosen one by one, for an action on all of them. @type {Set<string>} */
const chosen = new Set();

/** Choose the row, or choose it no more. */
function mark() {
  const row = document.querySelector("tr.selected");
  const more = row?.querySelector("a[data-key-m]");
  if (!row || !(more instanceof HTMLAnchorElement)) return;
  const session = new URL(more.href).searchParams.get("chosen") ?? "";
  if (chosen.delete(session)) row.classList.remove("chosen");
  else {
    chosen.add(session);
    row.classList.add("chosen");
  }
  tally();
}

function tally() {
  const note = document.getElementById("chosen");
  const link = note?.querySelector("a");
  const words = note?.querySelector("span");
  if (!note || !link || !words) return;
  note.hidden = chosen.size === 0;
  words.textContent = `${chosen.size} chosen`;
  link.href = note.dataset.address + [...chosen].map((each) => `&chosen=${encodeURIComponent(each)}`).join("");
}

function unmark() {
  chosen.clear();
  for (const row of document.querySelectorAll("tr.chosen")) row.classList.remove("chosen");
  tally();
}
document.querySelector("#chosen button")?.addEventListener("click", unmark);
document.addEventListener("eddy-acted", unmark);

document.addEventListener("keydown", (pressed) => {
  const target = pressed.target;
  const typing = target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
  if (typing || pressed.metaKey || pressed.ctrlKey || pressed.altKey) return;
  if (document.querySelector("dialog[open]")) return;
  if (prefix) {
    prefix = false;
    const page = PAGES[/** @type {keyof typeof PAGES} */ (pressed.key)];
    const link = document.querySelector(`nav.screens a[href="${base}${page}"]`);
    if (page && link instanceof HTMLElement) link.click();
    return;
  }
  switch (pressed.key) {
    case "g": prefix = true; window.setTimeout(() => { prefix = false; }, 1_500); break;
    case "j": move(1); break;
    case "k": move(-1); break;
    case "n": event(1); break;
    case "N": event(-1); break;
    case "[": episode(-1); break;
    case "]": episode(1); break;
    case "/": search(); break;
    case "a": press("[data-key-a]"); break;
    case "z": press("[data-key-z]"); break;
    case "p": press("[data-key-p]"); break;
    case "m": press("[data-key-m]"); break;
    case "x": mark(); break;
    case "f": { const field = document.querySelector("form.filter input"); if (field instanceof HTMLElement) field.focus(); break; }
    case "d": press("a[data-diff]"); break;
    case "e": press("[data-key-e]"); break;
    case "c": press("[data-copy]:not([data-copy^='/'])"); break;
    case "y": void copy(location.href); break;
    case "t": switchTimes(); break;
    case "r": case " ": document.dispatchEvent(new CustomEvent("eddy-key", { detail: pressed.key })); if (pressed.key === " " && meta("eddy-live")) break; return;
    case "?": openDialog("keys"); break;
    default: return;
  }
  pressed.preventDefault();
});

// -- times ----------------------------------------------------------------------------------------------------

const UNITS = /** @type {const} */ ([[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1_000, "s"]]);
let local = localStorage.getItem("eddy-times") === "local";

function switchTimes() {
  local = !local;
  localStorage.setItem("eddy-times", local ? "local" : "utc");
  times();
  toast(local ? "Times are local." : "Times are UTC.");
}

/** @param {number} ms */
function clock(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

const WRITTEN = /** @type {Record<string, (at: number, now: number) => string>} */ ({
  ago: (at, now) => {
    const [unit, name] = UNITS.find(([length]) => now - at >= length) ?? [0, ""];
    return unit ? `${Math.floor((now - at) / unit)} ${name} ago` : "now";
  },
  ahead: (at, now) => {
    const [unit, name] = UNITS.find(([length]) => at - now >= length) ?? [0, ""];
    return unit ? `in ${Math.floor((at - now) / unit)} ${name}` : "now";
  },
  counted: (at, now) => clock(now - at),
  seconds: (at, now) => `${Math.max(0, Math.floor((now - at) / 1_000))} s`,
  clock: (at) => new Date(at).toLocaleTimeString("en-GB", { timeZone: local ? undefined : "UTC" }),
  when: (at, now) => {
    const zone = { timeZone: local ? undefined : "UTC" };
    const day = (/** @type {number} */ ms) => new Date(ms).toLocaleDateString("en-GB", zone);
    if (day(at) === day(now)) return WRITTEN.clock(at, now);
    const year = new Date(at).getUTCFullYear() === new Date(now).getUTCFullYear() ? undefined : "numeric";
    const date = new Date(at).toLocaleDateString("en-GB", { day: "numeric", month: "short", year, ...zone });
    const time = new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...zone });
    return `${date} ${time}`;
  },
});

// Ages are told by the clock of the console: that of the browser may be wrong by hours.
const ahead = Number(document.documentElement.dataset.now || Date.now()) - Date.now();

/** @param {ParentNode} within */
export function times(within = document) {
  const now = Date.now() + ahead;
  for (const time of within.querySelectorAll("time[data-how]")) {
    const at = Date.parse(time.getAttribute("datetime") ?? "");
    if (Number.isNaN(at)) continue;
    const text = (WRITTEN[time.getAttribute("data-how") ?? ""] ?? WRITTEN.clock)(at, now);
    if (time.textContent !== text) time.textContent = text;
  }
}
times();
window.setInterval(times, 1_000);
