// Nodes as points of the graphics card, made in parts: of a million nodes the first picture needs a sample only.
import { core } from "./data.js";
import { DIMMED, PALETTE, doubt, stateOf } from "./layers.js";

/** Red, green and blue of every community up to the last one with a colour; all after these are grey. */
const SHADES = (() => {
  const coloured = Object.entries(core.colours);
  const shades = new Uint8Array(3 * coloured.reduce((most, [k]) => Math.max(most, Number(k) + 1), 0));
  const grey = PALETTE[PALETTE.length - 1];
  for (let k = 0; k < shades.length; k += 3) shades.set(grey, k);
  for (const [k, colour] of coloured) shades.set(PALETTE[colour] ?? grey, 3 * Number(k));
  return shades;
})();
const GREY = PALETTE[PALETTE.length - 1];

/** An order in which every beginning is a sample of all: steps by a share of the whole that is no simple fraction. */
function spread(count) {
  let step = Math.max(1, Math.round(count * 0.6180339887));
  const divisor = (a, b) => (b ? divisor(b, a % b) : a);
  while (divisor(step, count) !== 1) step++;
  return step;
}

export class Points {
  constructor(scene) {
    this.scene = scene;
    this.step = spread(scene.count || 1);
    this.placed = 0;
    this.coloured = 0;
  }

  /** Colours have to be made again, those of the places stay. */
  fade() {
    this.coloured = 0;
  }

  /** The row of the scene that comes at a place of the order; exact, since products stay below 2^53. */
  row(j) {
    return (j * this.step) % this.scene.count;
  }

  /** Places of the points up to `end` that were not asked for yet, and the first of them. */
  places(end) {
    const begin = this.placed;
    this.placed = Math.max(begin, end);
    const { scene, step } = this;
    const places = new Float32Array(2 * (this.placed - begin));
    for (let at = 0, i = this.row(begin); at < places.length; at += 2, i = (i + step) % scene.count) {
      places[at] = scene.x[i];
      places[at + 1] = scene.y[i];
    }
    return { begin, places };
  }

  /** Their colours: red, green, blue of the mean of their communities, unused, doubt, how much they are shown. */
  colours(end, choice) {
    const begin = this.coloured;
    this.coloured = Math.max(begin, end);
    const { scene, step } = this;
    const counts = counting(scene.nodes, Math.round(choice.threshold * core.block.steps));
    const plain = choice.only === null && !choice.near;
    const colours = new Uint8Array(8 * (this.coloured - begin));
    for (let at = 0, i = this.row(begin); at < colours.length; at += 8, i = (i + step) % scene.count) {
      const p = scene.position(i);
      mix(scene.nodes, p, counts, colours, at);
      colours[at + 4] = 255 * doubt(scene.nodes, p);
      colours[at + 5] = plain || stateOf(scene.nodes, p, choice) !== DIMMED ? 255 : 18;
    }
    return { begin, colours };
  }
}

/** For every row of the table how much a membership counts at a threshold: a node's first one, and a further one. */
function counting({ mean, median }, least) {
  const first = mean.map((share) => (share < least ? 0 : share));
  return { first, further: first.map((share, row) => (median[row] < least ? 0 : share)) };
}

/** The mean colour of what a node is a member of, weighed by shares; grey if that is nothing. */
function mix({ entries, community, code }, p, { first, further }, colours, at) {
  const begin = entries[p];
  const end = entries[p + 1];
  let r = 0;
  let g = 0;
  let b = 0;
  let total = 0;
  for (let e = begin; e < end; e++) {
    const weight = e === begin ? first[code[e]] : further[code[e]];
    if (weight === 0) continue;
    const k = 3 * community[e];
    const listed = k < SHADES.length;
    r += weight * (listed ? SHADES[k] : GREY[0]);
    g += weight * (listed ? SHADES[k + 1] : GREY[1]);
    b += weight * (listed ? SHADES[k + 2] : GREY[2]);
    total += weight;
  }
  colours[at] = total ? r / total : GREY[0];
  colours[at + 1] = total ? g / total : GREY[1];
  colours[at + 2] = total ? b / total : GREY[2];
}
