// Scenes as buffers of the graphics card: pie charts and lines, with what is chosen in front of the rest.
import { colourIndex, core } from "./data.js";
import { DISC_BYTES, LINE_BYTES, rgb } from "./painter.js";

const SLICES = 5;
const SLIVER = 0.02;
export const [SHOWN, DIMMED, CHOSEN] = [0, 1, 2];
const MOST_LINES = 60000;
const FEW_LINES = 1500;
const FEW_BANDS = 150;
export const bytes = (hex) => rgb(hex).map((c) => Math.round(255 * c));

/** Colours of the palette in bytes; the last one is that of nodes in no community. */
export const PALETTE = [...core.palette, core.rest].map(bytes);

/** Shares of a pie as [colour, share]: what counts at the threshold, largest first, and the rest in grey. */
export function slices(nodes, position, threshold) {
  const least = Math.round(threshold * core.block.steps);
  const begin = nodes.entries[position];
  const found = [];
  let left = 1;
  for (let i = begin; i < nodes.entries[position + 1] && found.length < SLICES - 1; i++) {
    const colour = colourIndex(nodes.community[i]);
    const share = nodes.mean[nodes.code[i]] / core.block.steps;
    if (colour === core.palette.length || share < SLIVER || nodes.reach(i, i === begin) < least) continue;
    found.push([colour, share]);
    left -= share;
  }
  if (left >= SLIVER || !found.length) found.push([core.palette.length, Math.max(left, SLIVER)]);
  return found;
}

/** How unsure the largest share of a node is: the width of its interval, 0 to 1. */
export function doubt(nodes, position) {
  const i = nodes.entries[position];
  if (i === nodes.entries[position + 1]) return 0;
  return (nodes.upper[nodes.code[i]] - nodes.lower[nodes.code[i]]) / core.block.steps;
}

/** Whether a node is a member of a community at a threshold. */
export function isMember(nodes, position, community, threshold) {
  const least = Math.round(threshold * core.block.steps);
  for (let i = nodes.entries[position]; i < nodes.entries[position + 1]; i++) {
    if (nodes.community[i] === community) return nodes.reach(i, i === nodes.entries[position]) >= least;
  }
  return false;
}

/** Whether a node is in front: chosen, next to a chosen one, or in the community that is shown alone. */
export function stateOf(nodes, position, choice) {
  if (choice.nodes.includes(position)) return CHOSEN;
  if (choice.near) return choice.near.has(position) ? SHOWN : DIMMED;
  if (choice.only !== null) return isMember(nodes, position, choice.only, choice.threshold) ? SHOWN : DIMMED;
  return SHOWN;
}

/** Pie charts of some rows of a scene: those in front come last. */
export function discBuffer(scene, rows, choice) {
  const { nodes } = scene;
  const data = new ArrayBuffer(DISC_BYTES * rows.length);
  const floats = new Float32Array(data);
  const parts = new Uint8Array(data);
  const states = rows.map((row) => stateOf(nodes, scene.position(row), choice));
  const rank = (i) => (states[i] === DIMMED ? 0 : states[i] === SHOWN ? 1 : 2);
  const order = rows.map((_, i) => i).sort((a, b) => rank(a) - rank(b) || scene.radius[rows[b]] - scene.radius[rows[a]]);
  order.forEach((i, j) => {
    const row = rows[i];
    const position = scene.position(row);
    const shares = slices(nodes, position, choice.threshold);
    const sum = shares.reduce((total, [, share]) => total + share, 0);
    floats.set([scene.x[row], scene.y[row], scene.radius[row]], (DISC_BYTES / 4) * j);
    const at = DISC_BYTES * j;
    let end = 0;
    for (let s = 0; s < SLICES; s++) {
      const [colour, share] = shares[Math.min(s, shares.length - 1)];
      end = s < shares.length ? end + share / sum : 1;
      if (s < 4) parts[at + 12 + s] = Math.round(255 * Math.min(1, end));
      parts[at + 16 + s] = colour;
    }
    parts[at + 21] = Math.round(255 * doubt(nodes, position));
    parts[at + 22] = states[i];
  });
  return data;
}

/** A list of lines that grows: both ends, colour, opacity, width in pixels, dashed or not. */
class Lines {
  constructor(most) {
    this.data = new ArrayBuffer(LINE_BYTES * most);
    this.floats = new Float32Array(this.data);
    this.parts = new Uint8Array(this.data);
    this.most = most;
    this.count = 0;
  }

  add(ends, colour, opacity, width, dashed = false) {
    if (this.count >= this.most) return;
    const at = LINE_BYTES * this.count;
    this.floats.set(ends, at / 4);
    this.parts.set(colour, at + 16);
    this.parts[at + 19] = Math.round(255 * opacity);
    this.parts[at + 20] = Math.max(1, Math.round((255 * width) / 16));
    this.parts[at + 21] = dashed ? 255 : 0;
    this.count++;
  }
}

/** The colour of a link: that of the community both ends share most, or null. */
export function linkColour(nodes, a, b, threshold) {
  let best = 0;
  let colour = null;
  const least = Math.round(threshold * core.block.steps);
  for (let i = nodes.entries[a]; i < nodes.entries[a + 1]; i++) {
    if (nodes.mean[nodes.code[i]] < least) continue;
    for (let j = nodes.entries[b]; j < nodes.entries[b + 1]; j++) {
      if (nodes.community[i] !== nodes.community[j]) continue;
      const both = nodes.mean[nodes.code[i]] * nodes.mean[nodes.code[j]];
      const index = colourIndex(nodes.community[i]);
      if (both > best && index < core.palette.length) {
        best = both;
        colour = index;
      }
    }
  }
  return colour;
}

const ends = (scene, a, b) => [scene.x[a], scene.y[a], scene.x[b], scene.y[b]];

/** Lines between nodes in sight: faint where there are many, and those of a chosen node on top of all others. */
export function nodeLines(scene, pairs, choice, look) {
  const { nodes } = scene;
  const lines = new Lines(MOST_LINES);
  const shown = Math.min(pairs.length / 2, MOST_LINES);
  // Missing links that nobody could see among the others are why these step back while they are shown.
  const strength = (choice.ghosts ? 0.4 : 1) * Math.max(0.16, Math.min(1, (FEW_LINES / Math.max(shown, 1)) ** 0.6));
  const grey = bytes(look.line);
  const last = [];
  for (let e = 0; e < pairs.length && lines.count < MOST_LINES; e += 2) {
    const [a, b] = [scene.position(pairs[e]), scene.position(pairs[e + 1])];
    if (choice.nodes.includes(a) || choice.nodes.includes(b)) {
      last.push([pairs[e], pairs[e + 1], a, b]);
      continue;
    }
    if (!choice.links) continue;
    const inside =
      choice.only === null ||
      (isMember(nodes, a, choice.only, choice.threshold) && isMember(nodes, b, choice.only, choice.threshold));
    const front = !choice.near && inside;
    const index = linkColour(nodes, a, b, choice.threshold);
    const colour = index === null ? grey : PALETTE[index];
    lines.add(ends(scene, pairs[e], pairs[e + 1]), colour, front ? (index === null ? 0.4 : 0.6) * strength : 0.07, look.ratio * 1.1);
  }
  for (const [rowA, rowB, a, b] of last) {
    const index = linkColour(nodes, a, b, choice.threshold);
    lines.add(ends(scene, rowA, rowB), index === null ? bytes(look.ink) : PALETTE[index], 0.95, look.ratio * 2.2);
  }
  if (choice.ghosts) ghostLines(lines, scene, choice, look);
  return lines;
}

/** Dashed lines of likely missing links: those of the chosen nodes, or the most likely of all. */
function ghostLines(lines, scene, choice, look) {
  const { pairs } = core.ghosts;
  const ink = bytes(look.accent);
  const drawn = new Set();
  pairs.forEach(([first, second], i) => {
    const [a, b] = [first, second].map((node) => scene.nodes.position(node));
    if (a < 0 || b < 0) return;
    const own = choice.nodes.includes(a) || choice.nodes.includes(b);
    if (choice.nodes.length ? !own : i >= 60) return;
    const [rowA, rowB] = [scene.row(a), scene.row(b)];
    if (rowA === undefined || rowB === undefined || drawn.has(i)) return;
    drawn.add(i);
    lines.add(ends(scene, rowA, rowB), ink, 0.9, look.ratio * 1.8, true);
  });
}

/** Lines between the communities of a map, wide where many links run between two, fainter where lines are many. */
export function communityLines(map, choice, look) {
  const lines = new Lines(map.links.length / 2);
  const grey = bytes(look.line);
  if (!choice.links) return lines;
  const thin = Math.min(1, (FEW_BANDS / Math.max(map.links.length / 2, 1)) ** 0.5);
  for (let e = 0; e < map.links.length; e += 2) {
    const [a, b] = [map.links[e], map.links[e + 1]];
    const own = choice.only === null || map.numbers[a] === choice.only || map.numbers[b] === choice.only;
    const strength = map.weight[e / 2] / 255;
    const opacity = (choice.near || !own ? 0.12 : 1) * Math.max(0.1, thin * (0.25 + 0.4 * strength));
    lines.add([map.x[a], map.y[a], map.x[b], map.y[b]], grey, opacity, look.ratio * (0.8 + 2.5 * strength));
  }
  return lines;
}
