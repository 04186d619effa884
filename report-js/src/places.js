// Places of nodes on a map, by the rule of `pictures/places.py`: the mean of the communities' centres, plus a spiral.
import { core, decode } from "./data.js";

const TURN = 2.399963229728653;

/** Discs of communities; the last one is for nodes in none of them. */
export function discs() {
  const { drawing } = core;
  return {
    numbers: decode(drawing.ids, Uint32Array),
    x: decode(drawing.x, Float32Array),
    y: decode(drawing.y, Float32Array),
    radius: decode(drawing.radius, Float32Array),
    links: decode(drawing.links, Uint32Array),
    weight: decode(drawing.weight, Uint8Array),
    unit: drawing.unit,
  };
}

/** The rank of every node in its disc, the largest share first; sorted by counting, since there may be a million. */
function ranks(disc, share, discCount, steps) {
  const count = disc.length;
  const starts = new Uint32Array(steps + 2);
  for (let p = 0; p < count; p++) starts[steps - share[p] + 1]++;
  for (let s = 0; s <= steps; s++) starts[s + 1] += starts[s];
  const order = new Uint32Array(count);
  for (let p = 0; p < count; p++) order[starts[steps - share[p]]++] = p;
  const next = new Uint32Array(discCount);
  const rank = new Uint32Array(count);
  for (let i = 0; i < count; i++) rank[order[i]] = next[disc[order[i]]]++;
  return { rank, sizes: next };
}

/** The first places of a spiral that fills a disc evenly: as many as the largest disc has nodes, not one for each node. */
function spiral(count) {
  const right = new Float32Array(count);
  const up = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    right[i] = Math.sqrt(i + 0.5) * Math.cos(TURN * i);
    up[i] = Math.sqrt(i + 0.5) * Math.sin(TURN * i);
  }
  return [right, up];
}

/** The disc of every node, and its place. */
export function nodePlaces(nodes, map) {
  const { count, entries, community, code, mean } = nodes;
  const last = map.radius.length - 1;
  const most = map.numbers.reduce((a, b) => Math.max(a, b), 0);
  const placeOf = new Int32Array(most + 1).fill(-1);
  map.numbers.forEach((k, i) => (placeOf[k] = i));
  const x = new Float32Array(count);
  const y = new Float32Array(count);
  const disc = new Uint16Array(count).fill(last);
  const share = new Uint16Array(count);
  const part = new Float32Array(count).fill(1);
  for (let p = 0; p < count; p++) {
    let total = 0;
    let sumX = 0;
    let sumY = 0;
    for (let i = entries[p]; i < entries[p + 1]; i++) {
      const at = community[i] <= most ? placeOf[community[i]] : -1;
      if (at < 0) continue;
      const weight = mean[code[i]];
      if (total === 0) {
        disc[p] = at;
        share[p] = weight;
      }
      total += weight;
      sumX += weight * map.x[at];
      sumY += weight * map.y[at];
    }
    x[p] = total > 0 ? sumX / total : map.x[last];
    y[p] = total > 0 ? sumY / total : map.y[last];
    if (total > 0) part[p] = share[p] / total;
  }
  const { rank, sizes } = ranks(disc, share, last + 1, core.block.steps);
  const [right, up] = spiral(sizes.reduce((a, b) => Math.max(a, b), 0));
  const scale = map.radius.map((radius, i) => radius / Math.sqrt(Math.max(sizes[i], 1)));
  for (let p = 0; p < count; p++) {
    const away = scale[disc[p]] * part[p];
    x[p] += away * right[rank[p]];
    y[p] += away * up[rank[p]];
  }
  return { x, y, disc };
}

/** Rows of a scene by cell of a grid, to find what lies in a rectangle or near a point without looking at all. */
export class Grid {
  constructor(x, y) {
    this.x = x;
    this.y = y;
    const count = x.length;
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < count; i++) {
      if (x[i] < left) left = x[i];
      if (x[i] > right) right = x[i];
      if (y[i] < low) low = y[i];
      if (y[i] > high) high = y[i];
    }
    if (!count) [left, right, low, high] = [0, 1, 0, 1];
    this.box = [left, low, right, high];
    this.side = Math.max(1, Math.min(512, Math.round(Math.sqrt(count / 4))));
    this.width = Math.max(right - left, 1e-9) / this.side;
    this.height = Math.max(high - low, 1e-9) / this.side;
    this.begin = new Uint32Array(this.side * this.side + 1);
    const cell = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      cell[i] = this.cellOf(x[i], y[i]);
      this.begin[cell[i] + 1]++;
    }
    for (let c = 0; c < this.side * this.side; c++) this.begin[c + 1] += this.begin[c];
    const next = this.begin.slice();
    this.rows = new Uint32Array(count);
    for (let i = 0; i < count; i++) this.rows[next[cell[i]]++] = i;
  }

  column(x) {
    return Math.max(0, Math.min(this.side - 1, Math.floor((x - this.box[0]) / this.width)));
  }

  line(y) {
    return Math.max(0, Math.min(this.side - 1, Math.floor((y - this.box[1]) / this.height)));
  }

  cellOf(x, y) {
    return this.line(y) * this.side + this.column(x);
  }

  /** How many rows lie in the cells that a rectangle touches. */
  countIn([left, low, right, high]) {
    let sum = 0;
    for (let line = this.line(low); line <= this.line(high); line++) {
      sum += this.begin[line * this.side + this.column(right) + 1] - this.begin[line * this.side + this.column(left)];
    }
    return sum;
  }

  /** Rows inside a rectangle. */
  inside([left, low, right, high]) {
    const found = [];
    for (let line = this.line(low); line <= this.line(high); line++) {
      const end = this.begin[line * this.side + this.column(right) + 1];
      for (let j = this.begin[line * this.side + this.column(left)]; j < end; j++) {
        const i = this.rows[j];
        if (this.x[i] >= left && this.x[i] <= right && this.y[i] >= low && this.y[i] <= high) found.push(i);
      }
    }
    return found;
  }
}
