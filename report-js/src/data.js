// What the page knows: small things at once, the data of single nodes when they are first needed.
import { byId } from "./dom.js";

const TYPES = { u16: Uint16Array, u32: Uint32Array };

function bytesOf(text) {
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
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function sectionsOf(buffer) {
  const found = {};
  let at = 0;
  for (const [name, type, length] of core.block.sections) {
    if (type === "json") found[name] = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, at, length)));
    else found[name] = new TYPES[type](buffer, at, length / TYPES[type].BYTES_PER_ELEMENT);
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

/** Labels, memberships and neighbours of the nodes in this file, by their position in it. */
class Nodes {
  constructor(sections) {
    this.labels = sections.labels;
    this.degree = sections.degree;
    this.node = sections.node ?? null;
    this.entries = offsetsOf(sections.count);
    this.sections = sections;
    this.links = neighboursOf(sections.later, sections.step);
    this.lowered = null;
  }

  /** The position of a node number, or -1 if the file does not hold it. */
  position(number) {
    if (!this.node) return number;
    let low = 0;
    let high = this.node.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.node[middle] < number) low = middle + 1;
      else high = middle;
    }
    return this.node[low] === number ? low : -1;
  }

  /** Memberships of a node, largest first: community, mean, lower and upper bound. */
  memberships(position) {
    const { community, mean, lower, upper } = this.sections;
    const { steps } = core.block;
    const found = [];
    for (let i = this.entries[position]; i < this.entries[position + 1]; i++) {
      found.push({
        community: community[i],
        mean: mean[i] / steps,
        lower: lower[i] / steps,
        upper: upper[i] / steps,
      });
    }
    return found;
  }

  neighbours(position) {
    return this.links.row.subarray(this.links.offsets[position], this.links.offsets[position + 1]);
  }

  /** Positions whose label matches: equal first, then those that start with the text, then the rest. */
  find(text, most) {
    this.lowered ??= this.labels.map((label) => label.toLowerCase());
    const wanted = text.toLowerCase();
    const tiers = [[], [], []];
    for (let i = 0; i < this.lowered.length; i++) {
      const at = this.lowered[i].indexOf(wanted);
      if (at < 0) continue;
      const tier = at > 0 ? 2 : this.lowered[i].length === wanted.length ? 0 : 1;
      if (tiers[tier].length < 50 * most) tiers[tier].push(i);
    }
    for (const tier of tiers) tier.sort((a, b) => this.degree[b] - this.degree[a]);
    return tiers.flat().slice(0, most);
  }
}

let opened = null;

/** The data of single nodes; opened on the first call, which takes a moment for a large network. */
export function nodes() {
  opened ??= inflate(bytesOf(byId("block").textContent)).then((buffer) => new Nodes(sectionsOf(buffer)));
  return opened;
}

/** The colour of a community, grey if it is not listed. */
export function colourOf(community) {
  const index = core.colours[community];
  return index === undefined ? core.rest : core.palette[index];
}
