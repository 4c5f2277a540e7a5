// Where the cells of the map stand. Slots follow a Z-shaped curve, on which a slot keeps its position when the
// area of its group doubles. A group is as wide as a whole number of columns, and stands where it is highest.

/** @typedef {{place: number, name: string, capacity: number, cells: string|null, counts: number[]}} Group */
/** @typedef {Group & {x: number, y: number, width: number, height: number, size: number}} Area */
/** @typedef {{place: number, slot: number}} Seat */

export const LABEL = 24;
const PAD = 12;
const BAR = 22;
/** Columns are this wide or a little wider; no group is narrower than two, so that its name has room. */
const NARROWEST = 66;
const FEWEST = 2;
const SIZES = [40, 30, 24, 18, 12];
const FINGER = 24;
/** From one row of cells to the next, in widths of a cell. */
const PITCH = Math.sqrt(3) / 2;

/** @param {number} slot */
export function position(slot) {
  let column = 0;
  let row = 0;
  for (let bit = 0; slot >> bit > 0; bit++) {
    const one = (slot >> bit) & 1;
    if (bit % 2) row |= one << (bit >> 1);
    else column |= one << (bit >> 1);
  }
  return { column, row };
}

/** @param {number} capacity a power of two */
export function extent(capacity) {
  const doublings = Math.round(Math.log2(capacity));
  return { columns: 2 ** Math.ceil(doublings / 2), rows: 2 ** Math.floor(doublings / 2) };
}

/**
 * @param {Group[]} groups in the order of their places
 * @param {number} width
 * @param {number} size of a cell
 * @returns {{areas: Area[], height: number}}
 */
export function layout(groups, width, size) {
  const columns = FEWEST * Math.max(1, Math.floor(width / (FEWEST * NARROWEST)));
  const unit = width / columns;
  /** Where each column ends so far. */
  const ends = new Array(columns).fill(0);
  const areas = groups.map((group) => {
    const { columns: across, rows } = extent(group.capacity);
    const own = Math.min(size, (width - PAD) / (across + 0.5));
    const needed = group.cells === null ? 0 : (across + 0.5) * own + PAD;
    const span = Math.min(columns, Math.max(FEWEST, Math.ceil(needed / unit)));
    const height = LABEL + PAD + (group.cells === null ? BAR : own * (1 + (rows - 1) * PITCH) + own * 0.2);
    const tops = ends.slice(0, columns - span + 1).map((_, column) => Math.max(...ends.slice(column, column + span)));
    const y = Math.min(...tops);
    const column = tops.indexOf(y);
    ends.fill(y + height, column, column + span);
    return { ...group, x: column * unit, y, width: span * unit, height, size: own };
  });
  return { areas, height: Math.max(0, ...ends) };
}

/**
 * The largest cells with which all fits; where fingers point, none that they would miss.
 * @param {Group[]} groups @param {number} width @param {number} height @param {boolean} coarse
 */
export function sizeFor(groups, width, height, coarse) {
  const sizes = coarse ? SIZES.filter((size) => size >= FINGER) : SIZES;
  return sizes.find((size) => layout(groups, width, size).height <= height) ?? sizes[sizes.length - 1];
}

/** @param {Area} area @param {number} slot */
export function centre(area, slot) {
  const { column, row } = position(slot);
  const { size } = area;
  return {
    x: area.x + size / 2 + column * size + (row % 2 ? size / 2 : 0),
    y: area.y + LABEL + size * 0.58 + row * size * PITCH,
  };
}

/** Everybody who stands somewhere. @param {Area[]} areas @returns {(Seat & {x: number, y: number, state: string})[]} */
export function standing(areas) {
  return areas.flatMap((area) =>
    [...(area.cells ?? "")].flatMap((state, slot) =>
      state === "." ? [] : [{ place: area.place, slot, state, ...centre(area, slot) }],
    ),
  );
}

/** Who stands at a point. @param {Area[]} areas @param {number} x @param {number} y @returns {Seat | null} */
export function hit(areas, x, y) {
  const area = areas.find((each) => x >= each.x && x < each.x + each.width && y >= each.y && y < each.y + each.height);
  if (!area) return null;
  for (let slot = 0; slot < (area.cells ?? "").length; slot++) {
    const at = centre(area, slot);
    if (area.cells?.[slot] !== "." && Math.hypot(at.x - x, at.y - y) <= area.size * 0.56) return { place: area.place, slot };
  }
  return null;
}

/**
 * The nearest one in a direction: to the side counts double, so that a key keeps to its line.
 * @param {Area[]} areas @param {Seat} from @param {number} dx @param {number} dy
 * @returns {Seat | null}
 */
export function next(areas, from, dx, dy) {
  const all = standing(areas);
  const here = all.find((each) => each.place === from.place && each.slot === from.slot);
  if (!here) return all[0] ?? null;
  let best = null;
  let least = Infinity;
  for (const each of all) {
    const ahead = (each.x - here.x) * dx + (each.y - here.y) * dy;
    const aside = Math.abs((each.x - here.x) * dy) + Math.abs((each.y - here.y) * dx);
    const cost = ahead + 2 * aside;
    if (ahead > 1 && aside <= 2 * ahead && cost < least) {
      best = each;
      least = cost;
    }
  }
  return best && { place: best.place, slot: best.slot };
}
