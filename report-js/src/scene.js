// What is to be drawn: discs with shares and lines between them, for the network, the communities or a neighbourhood.
import { core, decode, colourOf } from "./data.js";
import { number } from "./dom.js";

const MOST_AROUND = 160;
const MOST_SLICES = 4;
const ROUNDS = 220;

/** Shares of a pie: the largest few memberships with their colours, the rest in grey. */
function slices(memberships) {
  const listed = memberships.filter((m) => m.mean >= 0.03 && m.community in core.colours).slice(0, MOST_SLICES);
  const found = listed.map((m) => [colourOf(m.community), m.mean]);
  const rest = 1 - listed.reduce((sum, m) => sum + m.mean, 0);
  if (rest >= 0.03 || !found.length) found.push([core.rest, rest]);
  return found;
}

function baseScene() {
  const { drawing } = core;
  return {
    ids: decode(drawing.ids, Uint32Array),
    x: decode(drawing.x, Float32Array),
    y: decode(drawing.y, Float32Array),
    radius: decode(drawing.radius, Float32Array),
    links: decode(drawing.links, Uint32Array),
    weight: decode(drawing.weight, Uint8Array),
  };
}

/** The drawing that was laid out when the report was written. */
export function wholeScene(nodes) {
  const scene = baseScene();
  if (core.kind === "communities") {
    const ids = Array.from(scene.ids);
    return {
      ...scene,
      kind: "communities",
      labels: ids.map((k) => String(k)),
      slices: ids.map((k) => [[colourOf(k), 1]]),
      members: linkedCommunities(ids, scene.links),
    };
  }
  return { ...scene, kind: "network", ...described(nodes, Array.from(scene.ids)) };
}

/** For every community in the drawing itself and those that a line leads to: what stays when it is isolated. */
function linkedCommunities(ids, links) {
  const sets = ids.map((k) => new Set([k]));
  for (let e = 0; e < links.length; e += 2) {
    sets[links[e]].add(ids[links[e + 1]]);
    sets[links[e + 1]].add(ids[links[e]]);
  }
  return sets;
}

function described(nodes, positions) {
  const all = positions.map((p) => nodes.memberships(p));
  return {
    labels: positions.map((p) => nodes.labels[p]),
    slices: all.map(slices),
    members: all.map((ms) => new Set(ms.filter((m) => m.mean >= core.threshold).map((m) => m.community))),
  };
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
function smallScene(nodes, positions, marked) {
  const links = linksAmong(nodes, positions);
  const { x, y } = arrange(positions.length, links);
  const radius = Float32Array.from(positions, (p, i) =>
    marked && i === 0 ? 1.4 : Math.min(0.95, 0.4 + 0.07 * Math.sqrt(nodes.degree[p])),
  );
  return {
    ids: Uint32Array.from(positions, (p) => (nodes.node ? nodes.node[p] : p)),
    x,
    y,
    radius,
    links,
    weight: new Uint8Array(links.length / 2).fill(255),
    ...described(nodes, positions),
  };
}

/** A node with those around it. */
export function neighbourhood(nodes, centre) {
  const links = nodes.neighbours(centre).length;
  const cut = links >= MOST_AROUND;
  const note = cut ? `${MOST_AROUND - 1} of ${number(links)} neighbours, those with most links among them` : "";
  return { kind: "neighbourhood", note, ...smallScene(nodes, around(nodes, centre), true) };
}

/** The members of a community with the largest shares in it. */
export function membersScene(nodes, community) {
  const { entries, sections } = nodes;
  const found = [];
  for (let p = 0; p + 1 < entries.length; p++) {
    for (let i = entries[p]; i < entries[p + 1]; i++) {
      if (sections.community[i] === community && sections.mean[i] >= core.threshold * core.block.steps) {
        found.push([p, sections.mean[i]]);
      }
    }
  }
  found.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const positions = found.slice(0, MOST_AROUND).map(([p]) => p);
  const cut = found.length > MOST_AROUND;
  const note = cut ? `${MOST_AROUND} of ${number(found.length)} members, those with the largest shares` : "";
  return { kind: "members", note, ...smallScene(nodes, positions, false) };
}
