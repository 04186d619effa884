// What is to be drawn: nodes with places and radii, for the whole network, a neighbourhood or the members of a community.
import { core, decode, rowOf } from "./data.js";
import { number } from "./dom.js";
import { Grid, discs, nodePlaces } from "./places.js";

const MOST_AROUND = 160;
const ROUNDS = 220;
// The radius of a node on a map in units of the radius that its share of the disc has: of few links and of many.
const SMALL = 0.42;
const LARGE = 0.8;

/** Nodes in the plane. `ids` are their positions in the file, null if every node of the file is there in its order. */
class Scene {
  constructor({ kind, nodes, ids = null, x, y, radius, links = null, map = null, note = "" }) {
    Object.assign(this, { kind, nodes, ids, x, y, radius, links, map, note });
    this.count = x.length;
    this.rows = ids ? new Map(Array.from(ids, (position, row) => [position, row])) : null;
  }

  /** What lies where; made when a picture from near first asks for it. */
  get grid() {
    this.cells ??= new Grid(this.x, this.y);
    return this.cells;
  }

  /** The largest radius of a node. */
  get widest() {
    if (this.most === undefined) {
      this.most = 1e-9;
      for (let i = 0; i < this.count; i++) if (this.radius[i] > this.most) this.most = this.radius[i];
    }
    return this.most;
  }

  position(row) {
    return this.ids ? this.ids[row] : row;
  }

  /** The row of a node, or undefined if it is not in the scene. */
  row(position) {
    return this.rows ? this.rows.get(position) : position;
  }

  /** The part of the plane with all of it. */
  get box() {
    this.extent ??= this.measure();
    return this.extent;
  }

  measure() {
    const most = this.widest;
    const [left, low, right, high] = this.map ? discBox(this.map) : this.grid.box;
    return [left - most, low - most, right + most, high + most];
  }
}

/** The part of the plane with all discs of a map, and with them all nodes, which are means of points in discs. */
function discBox({ x, y, radius }) {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  radius.forEach((r, i) => {
    box[0] = Math.min(box[0], x[i] - r);
    box[1] = Math.min(box[1], y[i] - r);
    box[2] = Math.max(box[2], x[i] + r);
    box[3] = Math.max(box[3], y[i] + r);
  });
  return box;
}

/** The picture that was laid out when the report was written. */
export function wholeScene(nodes) {
  if (core.kind === "map") {
    const map = discs();
    const { x, y } = nodePlaces(nodes, map);
    const radius = new Float32Array(nodes.count);
    for (let p = 0; p < nodes.count; p++) {
      radius[p] = map.unit * (SMALL + (LARGE - SMALL) * Math.min(1, Math.log2(nodes.degree[p] + 1) / 8));
    }
    return new Scene({ kind: "map", nodes, x, y, radius, map });
  }
  const { drawing } = core;
  const places = { x: decode(drawing.x, Float32Array), y: decode(drawing.y, Float32Array) };
  const scene = new Scene({
    kind: "network",
    nodes,
    ...places,
    radius: decode(drawing.radius, Float32Array),
    links: decode(drawing.links, Uint32Array),
  });
  scene.centres = communityCentres(nodes, places);
  return scene;
}

/** Where communities are in a drawn network: the mean of their nodes weighed by shares, and how far these spread. */
function communityCentres(nodes, { x, y }) {
  const sums = new Map();
  for (let p = 0; p < nodes.count; p++) {
    for (let i = nodes.entries[p]; i < nodes.entries[p + 1]; i++) {
      const k = nodes.community[i];
      if (rowOf(k) === undefined) continue;
      const weight = nodes.mean[nodes.code[i]];
      if (!sums.has(k)) sums.set(k, [0, 0, 0, 0]);
      const sum = sums.get(k);
      [1, x[p], y[p], x[p] ** 2 + y[p] ** 2].forEach((value, j) => (sum[j] += weight * value));
    }
  }
  return new Map(
    [...sums].map(([k, [total, sumX, sumY, squares]]) => {
      const [meanX, meanY] = [sumX / total, sumY / total];
      return [k, { x: meanX, y: meanY, spread: Math.sqrt(Math.max(0, squares / total - meanX ** 2 - meanY ** 2)) }];
    }),
  );
}

/** The nodes around one: its neighbours, and those linked to most of them, at most a few dozen. */
function around(nodes, centre) {
  const direct = Array.from(nodes.neighbours(centre));
  const own = new Set(direct);
  const shared = (p) => {
    let count = 0;
    for (const other of nodes.neighbours(p)) if (own.has(other)) count++;
    return count;
  };
  let chosen = direct;
  if (direct.length >= MOST_AROUND) {
    // Hubs have very long rows: those are ranked by their number of links alone.
    const rank = new Map(direct.map((p) => [p, nodes.neighbours(p).length > 2000 ? 0 : shared(p)]));
    chosen = direct.sort((a, b) => rank.get(b) - rank.get(a) || a - b).slice(0, MOST_AROUND - 1);
  } else {
    const second = new Map();
    for (const p of direct) {
      for (const q of nodes.neighbours(p).subarray(0, 500)) {
        if (q !== centre && !own.has(q)) second.set(q, (second.get(q) ?? 0) + 1);
      }
    }
    // Around a node of few links everyone is shown, around others those with two links to its neighbours.
    const enough = direct.length > 12 ? 2 : 1;
    const ranked = [...second].filter(([, count]) => count >= enough).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    chosen = [...direct, ...ranked.slice(0, Math.min(60, MOST_AROUND - 1 - direct.length)).map(([q]) => q)];
  }
  return [centre, ...chosen];
}

function linksAmong(nodes, positions) {
  const place = new Map(positions.map((p, i) => [p, i]));
  const links = [];
  positions.forEach((p, i) => {
    for (const q of nodes.neighbours(p)) {
      const j = place.get(q);
      if (j !== undefined && j > i) links.push(i, j);
    }
  });
  return Uint32Array.from(links);
}

/** Places by the same forces as in the Python layout; small enough to sum them directly. */
function arrange(count, links) {
  const x = new Float32Array(count);
  const y = new Float32Array(count);
  const degree = new Float32Array(count).fill(1);
  for (const end of links) degree[end]++;
  for (let i = 1; i < count; i++) {
    // A sunflower: evenly spread, no chance involved.
    x[i] = 2.2 * Math.sqrt(i) * Math.cos(2.399963 * i);
    y[i] = 2.2 * Math.sqrt(i) * Math.sin(2.399963 * i);
  }
  const fx = new Float32Array(count);
  const fy = new Float32Array(count);
  const span = Math.sqrt(count / 0.08);
  for (let round = 0; round < ROUNDS; round++) {
    const heat = span * 0.06 * Math.pow(0.008, round / ROUNDS);
    for (let i = 0; i < count; i++) {
      fx[i] = -0.08 * x[i];
      fy[i] = -0.13 * y[i];
      for (let j = 0; j < count; j++) {
        const dx = x[i] - x[j];
        const dy = y[i] - y[j];
        const push = 1 / Math.max(dx * dx + dy * dy, 1e-3);
        fx[i] += dx * push;
        fy[i] += dy * push;
      }
    }
    for (let e = 0; e < links.length; e += 2) {
      const a = links[e];
      const b = links[e + 1];
      const pull = 1.4 / Math.sqrt(degree[a] * degree[b]);
      fx[a] += pull * (x[b] - x[a]);
      fy[a] += pull * (y[b] - y[a]);
      fx[b] -= pull * (x[b] - x[a]);
      fy[b] -= pull * (y[b] - y[a]);
    }
    for (let i = 0; i < count; i++) {
      const length = Math.hypot(fx[i], fy[i]) || 1;
      const step = Math.min(length, heat) / length;
      x[i] += step * fx[i];
      y[i] += step * fy[i];
    }
  }
  return { x, y };
}

/** Nodes of this file with the links among them, laid out here; the first is drawn large if it is `marked`. */
function smallScene(kind, nodes, positions, marked, note) {
  const links = linksAmong(nodes, positions);
  const { x, y } = arrange(positions.length, links);
  const radius = Float32Array.from(positions, (p, i) =>
    marked && i === 0 ? 1.4 : Math.min(0.95, 0.4 + 0.07 * Math.sqrt(nodes.degree[p])),
  );
  return new Scene({ kind, nodes, ids: Uint32Array.from(positions), x, y, radius, links, note });
}

/** A node with those around it. */
export function neighbourhood(nodes, centre) {
  const links = nodes.neighbours(centre).length;
  const cut = links >= MOST_AROUND;
  const note = cut ? `${MOST_AROUND - 1} of ${number(links)} neighbours, those with most links among them` : "";
  return smallScene("neighbourhood", nodes, around(nodes, centre), true, note);
}

/** The members of a community with the largest shares in it. */
export function membersScene(nodes, community, threshold) {
  const found = nodes.members(community, threshold);
  const cut = found.length > MOST_AROUND;
  const note = cut ? `${MOST_AROUND} of ${number(found.length)} members, those with the largest shares` : "";
  return smallScene("members", nodes, found.slice(0, MOST_AROUND).map((m) => m.position), false, note);
}
