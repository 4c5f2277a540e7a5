// The one stream of this browser. Browsers allow six connections to a server: with a stream for each tab the seventh
// page would never load.

/** @type {Map<MessagePort, {view: string, seen: number}>} */
const ports = new Map();
/** @type {EventSource | null} */
let source = null;
let address = "";
let opened = "";
let pause = 500;
let again = 0;

/** @param {MessageEvent} event */
function connected(event) {
  const port = event.ports[0];
  port.onmessage = (message) => {
    const said = message.data;
    if (said.type === "watch") {
      address = said.address;
      ports.set(port, { view: said.view, seen: Date.now() });
      plan();
    } else if (said.type === "alive") {
      const known = ports.get(port);
      if (known) known.seen = Date.now();
    } else if (said.type === "leave") {
      ports.delete(port);
      plan();
    }
  };
  port.start();
}
// @ts-ignore - the scope of a SharedWorker
self.onconnect = connected;

// A tab that crashed says nothing: one that has been silent for a minute is forgotten.
setInterval(() => {
  for (const [port, { seen }] of ports) if (Date.now() - seen > 60_000) ports.delete(port);
}, 20_000);

function plan() {
  clearTimeout(again);
  again = setTimeout(open, 30);
}

function open() {
  const views = [...new Set([...ports.values()].map(({ view }) => view))].sort();
  const wanted = views.length ? `${address}?${views.map((view) => `view=${encodeURIComponent(view)}`).join("&")}` : "";
  // A tab that has just come needs the whole state, so the stream begins again even for a known view.
  source?.close();
  source = null;
  opened = wanted;
  if (!wanted) return;
  source = new EventSource(wanted);
  source.addEventListener("hello", (event) => {
    pause = 500;
    tell({ type: "hello", data: JSON.parse(event.data) });
  });
  source.addEventListener("rows", (event) => {
    const data = JSON.parse(event.data);
    for (const [port, { view }] of ports) if (view === data.view) port.postMessage({ type: "rows", data });
  });
  source.addEventListener("beat", () => tell({ type: "beat" }));
  source.onerror = () => {
    if (opened !== wanted) return;
    tell({ type: "lost" });
    source?.close();
    clearTimeout(again);
    again = setTimeout(open, pause * (0.5 + Math.random()));
    pause = Math.min(30_000, pause * 2);
  };
}

/** @param {object} message */
function tell(message) {
  for (const port of ports.keys()) port.postMessage(message);
}
