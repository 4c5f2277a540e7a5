// The cells of the map, each drawn once and then copied. A state has a shape beside its colour.

const COLOURS = /** @type {Record<string, string>} */ ({ l: "--state-alert", b: "--state-blocked", p: "--state-paused", a: "--state-active", i: "--state-idle" });

/** Not a state: what takes a cell away, and nothing of those around it. */
const ERASER = "eraser";

/** @param {string} name */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} radius */
export function hexagon(ctx, x, y, radius) {
  ctx.beginPath();
  for (let corner = 0; corner < 6; corner++) {
    const angle = (Math.PI / 3) * corner + Math.PI / 6;
    ctx.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  }
  ctx.closePath();
}

/** @param {CanvasRenderingContext2D} ctx @param {string} state @param {number} centre @param {number} size */
function mark(ctx, state, centre, size) {
  const reach = size * 0.17;
  ctx.strokeStyle = state === "b" ? "#3d2600" : "#ffffff";
  ctx.lineWidth = Math.max(1.2, size * 0.075);
  ctx.beginPath();
  if (state === "p") {
    for (const side of [-0.6, 0.6]) {
      ctx.moveTo(centre + side * reach, centre - reach);
      ctx.lineTo(centre + side * reach, centre + reach);
    }
  } else if (state === "b") {
    ctx.moveTo(centre - reach, centre);
    ctx.lineTo(centre + reach, centre);
  } else {
    ctx.arc(centre, centre, reach, 0, 1.65 * Math.PI);
    ctx.moveTo(centre + reach * 0.1, centre - reach * 1.55);
    ctx.lineTo(centre + reach * 0.55, centre - reach * 0.85);
    ctx.lineTo(centre - reach * 0.3, centre - reach * 0.35);
  }
  ctx.stroke();
}

/**
 * @param {string} state its letter, or a full stop
 * @param {number} size
 * @param {number} ratio pixels of the screen to one of the page
 */
function drawn(state, size, ratio) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.ceil(size * 1.3 * ratio);
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  ctx.scale(ratio, ratio);
  ctx.lineJoin = ctx.lineCap = "round";
  const centre = (size * 1.3) / 2;
  if (state === ERASER) {
    hexagon(ctx, centre, centre, size / Math.sqrt(3));
    ctx.fill();
    return canvas;
  }
  const radius = (size / Math.sqrt(3)) * 0.8;
  hexagon(ctx, centre, centre, radius);
  if (state === ".") {
    ctx.strokeStyle = colour("--line");
    ctx.lineWidth = 1;
    ctx.stroke();
    return canvas;
  }
  const hue = colour(COLOURS[state]);
  ctx.lineWidth = size * 0.1;
  ctx.strokeStyle = hue;
  if (state === "i") {
    ctx.lineWidth = Math.max(1.2, size * 0.07);
    ctx.stroke();
    return canvas;
  }
  ctx.fillStyle = hue;
  // What is well stays in the background.
  ctx.globalAlpha = state === "a" ? 0.32 : 1;
  ctx.fill();
  ctx.globalAlpha = 1;
  if (state === "a") ctx.lineWidth = Math.max(1.2, size * 0.06);
  ctx.stroke();
  if (state !== "a") mark(ctx, state, centre, size);
  return canvas;
}

/** Draws each cell once; forgets them all if the theme changes. */
export class Cells {
  constructor() {
    /** @type {Map<string, HTMLCanvasElement>} */
    this.known = new Map();
  }

  forget() {
    this.known.clear();
  }

  /**
   * Draw a cell in place of what is there.
   * @param {CanvasRenderingContext2D} ctx @param {string} state @param {{x: number, y: number}} at @param {number} size
   * @param {{ratio: number, alpha: number, erase: boolean}} how
   */
  put(ctx, state, at, size, { ratio, alpha, erase }) {
    const side = size * 1.3;
    const [x, y] = [at.x - side / 2, at.y - side / 2];
    if (erase) {
      ctx.globalAlpha = 1;
      ctx.globalCompositeOperation = "destination-out";
      ctx.drawImage(this.get(ERASER, size, ratio), x, y, side, side);
      ctx.globalCompositeOperation = "source-over";
    }
    ctx.globalAlpha = alpha;
    ctx.drawImage(this.get(state, size, ratio), x, y, side, side);
  }

  /** @param {string} state @param {number} size @param {number} ratio */
  get(state, size, ratio) {
    const key = `${state} ${size} ${ratio}`;
    let found = this.known.get(key);
    if (!found) {
      found = drawn(state, size, ratio);
      this.known.set(key, found);
    }
    return found;
  }
}
