// What the page knows: small things at once, the data of single nodes when they are first needed.
import { byId } from "./dom.js";

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array };

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** A typed array from base64, as `pack.encode` writes it. */
export function decode(text, Type) {
  return new Type(bytesOf(text).buffer);
}

export const core = JSON.parse(byId("data").textContent);

/** The first places of a running sum: offsets[i] to offsets[i + 1] are the entries of row i. */
function offsetsOf(counts) {
  const offsets = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) offsets[i + 1] = offsets[i] + counts[i];
  return offsets;
}

async function inflate(bytes) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old to open the data of single nodes");
  }
  // Written directly: a Blob would take the bytes through another process.
  const { writable, readable } = new DecompressionStream("deflate");
  const writer = writable.getWriter();
  const fed = writer.write(bytes).then(() => writer.close());
  const [buffer] = await Promise.all([new Response(readable).arrayBuffer(), fed]);
  return buffer;
}

/** Numbers that were stored byte by byte: all lowest bytes first. */
function joinPlanes(bytes, width) {
  if (width === 1) return bytes;
  const count = bytes.length / width;
  const values = width === 2 ? new Uint16Array(count) : new Uint32Array(count);
  for (let plane = 0; plane < width; plane++) {
    const begin = plane * count;
    const shift = 8 * plane;
    for (let i = 0; i < count; i++) values[i] |= bytes[begin + i] << shift;
  }
  return values;
}

async function open(name) {
  const element = byId(`block-${name}`);
  const buffer = await inflate(bytesOf(element.textContent));
  const found = {};
  let at = 0;
  for (const [section, type, length] of core.block.sections[name]) {
    const bytes = new Uint8Array(buffer, at, length);
    found[section] =
      type === "json"
        ? JSON.parse(new TextDecoder().decode(bytes))
        : joinPlanes(bytes, TYPES[type].BYTES_PER_ELEMENT);
    at += length + ((4 - (length % 4)) % 4);
  }
  return found;
}

/** Neighbours of every node in rows, from the links a < b that were sent. */
function neighboursOf(later, step) {
  const degree = new Uint32Array(later.length);
  for (let a = 0, e = 0; a < later.length; a++) {
    for (let i = 0; i < later[a]; i++, e++) {
      degree[a]++;
      degree[a + step[e]]++;
    }
  }
  const offsets = offsetsOf(degree);
  const next = offsets.slice();
  const row = new Uint32Array(offsets[later.length]);
  for (let a = 0, e = 0; a < later.length; a++) {
    for (let i = 0; i < later[a]; i++, e++) {
      const b = a + step[e];
      row[next[a]++] = b;
      row[next[b]++] = a;
    }
  }
  return { offsets, row };
}

/** The position of a value in a growing array, or -1. */
function placeIn(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === value ? low : -1;
}

/** Labels by position: text, or numbers that were sent as steps; only some nodes may have one. */
class Labels {
  constructor({ label, label_step: step, named }) {
    this.named = named ?? null;
    this.text = label ?? null;
    if (step) {
      this.values = new Float64Array(step.length);
      let value = 0;
      for (let i = 0; i < step.length; i++) this.values[i] = value += step[i];
    }
    this.length = (this.text ?? this.values).length;
    this.lowered = null;
  }

  at(i) {
    return this.text ? this.text[i] : String(this.values[i]);
  }

  of(position) {
    const i = this.named ? placeIn(this.named, position) : position;
    return i < 0 ? `(node ${position}, without a label here)` : this.at(i);
  }

  /** Rows with this text in their label, in three lists: equal, starting with it, others. */
  find(text, most) {
    if (this.text) this.lowered ??= this.text.map((label) => label.toLowerCase());
    const wanted = text.toLowerCase();
    const tiers = [[], [], []];
    for (let i = 0; i < this.length; i++) {
      const label = this.lowered ? this.lowered[i] : String(this.values[i]);
      const at = label.indexOf(wanted);
      if (at < 0) continue;
      const tier = at > 0 ? 2 : label.length === wanted.length ? 0 : 1;
      if (tiers[tier].length < most) tiers[tier].push(this.named ? this.named[i] : i);
    }
    return tiers;
  }
}

/** Memberships of the nodes in this file, by their position in it; labels and links once they are open. */
export class Nodes {
  constructor(sections) {
    this.count = sections.count.length;
    this.degree = sections.degree;
    this.node = sections.node ?? null;
    this.entries = offsetsOf(sections.count);
    this.community = sections.community;
    this.code = sections.code;
    const rows = sections.table.length / 4;
    [this.mean, this.lower, this.upper, this.median] = [0, 1, 2, 3].map((c) =>
      sections.table.subarray(c * rows, (c + 1) * rows),
    );
    this.labels = null;
    this.links = null;
  }

  /** The position of a node number, or -1 if the file does not hold it. */
  position(number) {
    if (this.node) return placeIn(this.node, number);
    return number < this.count ? number : -1;
  }

  numberOf(position) {
    return this.node ? this.node[position] : position;
  }

  label(position) {
    return this.labels ? this.labels.of(position) : "";
  }

  /** The largest threshold, in steps, at which entry i counts as a membership: see `sure_members` in Python. */
  reach(i, first) {
    const mean = this.mean[this.code[i]];
    return first ? mean : Math.min(mean, this.median[this.code[i]]);
  }

  /** Memberships of a node, largest first: community, mean, lower and upper bound, and what threshold they reach. */
  memberships(position) {
    const { steps } = core.block;
    const found = [];
    for (let i = this.entries[position]; i < this.entries[position + 1]; i++) {
      const row = this.code[i];
      found.push({
        community: this.community[i],
        mean: this.mean[row] / steps,
        lower: this.lower[row] / steps,
        upper: this.upper[row] / steps,
        reach: this.reach(i, i === this.entries[position]) / steps,
      });
    }
    return found;
  }

  neighbours(position) {
    return this.links.row.subarray(this.links.offsets[position], this.links.offsets[position + 1]);
  }

  linked(a, b) {
    return this.neighbours(a).includes(b);
  }

  /** Positions whose label matches: equal first, then those that start with the text, then the rest. */
  find(text, most) {
    const tiers = this.labels.find(text, 50 * most);
    for (const tier of tiers) tier.sort((a, b) => this.degree[b] - this.degree[a]);
    return tiers.flat().slice(0, most);
  }

  /** Members of a community at a threshold from 0 to 1, the largest share first. */
  members(community, threshold) {
    const least = Math.round(threshold * core.block.steps);
    const found = [];
    for (let p = 0; p < this.count; p++) {
      for (let i = this.entries[p]; i < this.entries[p + 1]; i++) {
        if (this.community[i] === community && this.reach(i, i === this.entries[p]) >= least) {
          found.push({ position: p, code: this.code[i] });
        }
      }
    }
    return found.sort((a, b) => this.mean[b.code] - this.mean[a.code] || a.position - b.position);
  }

  /** How many members every listed community has at a threshold. */
  sizes(threshold) {
    const least = Math.round(threshold * core.block.steps);
    const sizes = new Map();
    for (let p = 0; p < this.count; p++) {
      for (let i = this.entries[p]; i < this.entries[p + 1]; i++) {
        const k = this.community[i];
        if (this.reach(i, i === this.entries[p]) >= least) sizes.set(k, (sizes.get(k) ?? 0) + 1);
      }
    }
    return sizes;
  }
}

let opened = null;
let whole = null;

/** Memberships of all nodes. */
export function nodes() {
  opened ??= open("map").then((sections) => new Nodes(sections));
  return opened;
}

/** The same with labels and links, which take a moment more in a large network. */
export function everything() {
  whole ??= nodes().then(async (data) => {
    data.labels = new Labels(await open("names"));
    const { later, step } = await open("links");
    data.links = neighboursOf(later, step);
    return data;
  });
  return whole;
}

/** The number of a community's colour in the palette; after the last comes that of nodes in none. */
export function colourIndex(community) {
  return core.colours[community] ?? core.palette.length;
}

/** The colour of a community, grey if it is not listed. */
export function colourOf(community) {
  return core.palette[colourIndex(community)] ?? core.rest;
}

const rows = new Map(core.communities.number.map((number, row) => [number, row]));

/** The row of a community in the page's table, or undefined. */
export const rowOf = (community) => rows.get(community);

/** A name for a community: labels of its most certain members. */
export function nameOf(community, count = 3) {
  const row = rows.get(community);
  if (row === undefined) return "";
  return core.communities.certain[row].slice(0, count).map((a) => core.names[a]).join(" · ");
}
