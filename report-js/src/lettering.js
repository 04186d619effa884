// Names on the picture: of regions and communities at a distance, of nodes nearby, never on top of each other.
import { core, nameOf, rowOf } from "./data.js";
import { DIMMED, stateOf } from "./layers.js";

const MOST_NAMES = 90;
// Names of communities while all of the picture is in sight, on a picture of so many pixels of a page, and at least;
// more of them come with every step nearer.
const [FEW_NAMES, FEWEST_NAMES, USUAL_AREA] = [22, 7, 500000];
const LONGEST = 26;
// Discs that names keep clear of, at most: each frame compares every name with every disc.
const MOST_OBSTACLES = 2000;
// Names that are tried in a frame, while frames are slow and else, and widths of texts that are kept.
const [FEWEST_TRIES, MOST_TRIES, MOST_WIDTHS] = [120, 600, 20000];

const font = (weight, tall) => `${weight} ${tall}px system-ui, sans-serif`;
const overlaps = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
const memberCount = (community) => core.communities.members[rowOf(community)];
const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

export class Lettering {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { willReadFrequently: true });
    this.placed = [];
    this.widths = new Map();
    this.sorted = null;
  }

  resize(width, height) {
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
  }

  /** Write the names of this frame; `near` are the rows of nodes that are drawn as discs, or null at a distance. */
  draw({ scene, camera, look, near, choice, hurried = false }) {
    const { context } = this;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.placed = [];
    this.discs = near && near.length <= MOST_OBSTACLES ? this.seenDiscs(scene, camera, near) : [];
    this.look = look;
    const most = hurried ? FEWEST_TRIES : MOST_TRIES;
    if (near) this.nodeNames(scene, camera, near, choice, most);
    const spacious = near && near.length && this.typicalRadius(scene, camera, near) > 4.5 * look.ratio;
    if (!spacious || scene.kind === "map") this.communityNames(scene, camera, choice, most);
  }

  typicalRadius(scene, camera, near) {
    const some = near.slice(0, 400).map((row) => scene.radius[row]).sort((a, b) => a - b);
    return some[some.length >> 1] * camera.zoom;
  }

  seenDiscs(scene, camera, rows) {
    return rows.map((row) => [...camera.toScreen(scene.x[row], scene.y[row]), scene.radius[row] * camera.zoom]);
  }

  nodeNames(scene, camera, rows, choice, most) {
    const { ratio } = this.look;
    const chosen = choice.nodes.map((p) => scene.row(p)).filter((row) => row !== undefined);
    for (const row of chosen) this.nodeName(scene, camera, row, true);
    const tiny = 3.2 * ratio;
    const large = rows.filter((row) => scene.radius[row] * camera.zoom >= tiny && !chosen.includes(row));
    const front = (row) => stateOf(scene.nodes, scene.position(row), choice) !== DIMMED;
    large.sort((a, b) => scene.radius[b] - scene.radius[a]);
    for (const row of large.filter(front).slice(0, most)) {
      if (this.placed.length >= MOST_NAMES) return;
      this.nodeName(scene, camera, row, false);
    }
  }

  nodeName(scene, camera, row, marked) {
    const label = scene.nodes.label(scene.position(row));
    if (!label) return;
    const [x, y] = camera.toScreen(scene.x[row], scene.y[row]);
    this.write({ text: cut(label), x, y, size: scene.radius[row] * camera.zoom, height: 12.5, weight: marked ? 700 : 500, always: marked });
  }

  /** Communities: the largest first; while everything is far away, the largest of each region first of all. */
  communityNames(scene, camera, choice, tries) {
    const { ratio } = this.look;
    const near = camera.zoom / camera.whole;
    const places = this.communityPlaces(scene, camera);
    const first = near < 1.9 && core.regions ? new Set(this.regionNames(scene, camera, places)) : new Set();
    const most = Math.min(MOST_NAMES, this.few(camera) * near ** 1.5);
    for (const { community, x, y, size } of choice.only === null ? places.slice(0, tries) : places) {
      if (this.placed.length >= most) return;
      if (first.has(community) || (choice.only !== null && community !== choice.only)) continue;
      const height = Math.max(11.5, Math.min(17, (0.3 * size) / ratio));
      this.write({ text: this.nameOf(community), x, y, size: 0, height, weight: 600, middle: true, always: community === choice.only });
    }
  }

  /** How many names a picture of this size has room for. */
  few({ width, height }) {
    const area = (width * height) / this.look.ratio ** 2;
    return Math.max(FEWEST_NAMES, FEW_NAMES * Math.min(1, area / USUAL_AREA));
  }

  nameOf(community) {
    return cut(nameOf(community, 2) || String(community));
  }

  /** Communities in sight, the largest first; names go above the nodes of a drawn network, onto the discs of a map. */
  communityPlaces(scene, camera) {
    const found = [];
    const add = (community, x, y, size) => {
      if (x > 0 && y > 0 && x < camera.width && y < camera.height) found.push({ community, x, y, size });
    };
    if (scene.map) {
      const { numbers, x, y, radius } = scene.map;
      for (const i of this.largestFirst(scene)) add(numbers[i], ...camera.toScreen(x[i], y[i]), radius[i] * camera.zoom);
      return found;
    }
    if (scene.centres) {
      for (const { community, x, y, size, line } of this.linesAbove(scene, camera)) add(community, x, line ?? y, size);
    }
    return found.sort((a, b) => memberCount(b.community) - memberCount(a.community) || a.community - b.community);
  }

  /** Discs of the listed communities of a map, sorted once for all frames of a scene. */
  largestFirst(scene) {
    if (this.sorted?.scene !== scene) {
      const { numbers } = scene.map;
      const discs = Array.from(numbers.keys()).filter((i) => rowOf(numbers[i]) !== undefined);
      discs.sort((a, b) => memberCount(numbers[b]) - memberCount(numbers[a]) || numbers[a] - numbers[b]);
      this.sorted = { scene, discs };
    }
    return this.sorted.discs;
  }

  /** Communities of a drawn network on the screen; `line` is above the nodes, if no other community is nearer there. */
  linesAbove(scene, camera) {
    const centres = [...scene.centres].map(([community, { x, y, spread }]) => {
      const [left, top] = camera.toScreen(x, y);
      return { community, x: left, y: top, size: spread * camera.zoom };
    });
    return centres.map((own) => {
      const line = own.y - 1.5 * own.size - 6 * this.look.ratio;
      const near = ({ x, y }) => Math.hypot(x - own.x, y - line);
      return { ...own, line: line > 0 && centres.every((other) => near(other) >= near(own)) ? line : undefined };
    });
  }

  /** Write the name of the largest community of every region; returns these communities. */
  regionNames(scene, camera, places) {
    if (scene.kind !== "map" && scene.kind !== "network") return [];
    const known = new Map(places.map((place) => [place.community, place]));
    const named = [];
    for (const communities of core.regions) {
      const shown = communities.map((k) => known.get(k)).filter(Boolean);
      if (communities.length < 2 || !shown.length || named.length >= this.few(camera) / 2) continue;
      const largest = shown.reduce((a, b) => (memberCount(b.community) > memberCount(a.community) ? b : a));
      this.write({ ...largest, text: this.nameOf(largest.community), size: 0, height: 14, weight: 700, middle: true });
      named.push(largest.community);
    }
    return named;
  }

  write({ text, x, y, size, height, weight, middle = false, always = false }) {
    const { context, look } = this;
    const tall = height * look.ratio;
    const width = tall * this.widthOf(text, weight);
    const spot = this.room({ x, y, size, width, tall, middle });
    if (!spot && !always) return;
    const [left, base] = spot ?? [x - width / 2, y + tall / 3];
    this.placed.push({ box: [left - 3, base - tall, left + width + 3, base + 0.3 * tall], text, left, base, tall, weight });
    context.font = font(weight, tall);
    context.lineWidth = 3.6 * look.ratio;
    context.lineJoin = "round";
    context.strokeStyle = look.paper;
    context.fillStyle = look.ink;
    context.globalAlpha = 0.92;
    context.strokeText(text, left, base);
    context.globalAlpha = 1;
    context.fillText(text, left, base);
  }

  /** The width of a text, in heights; most names of a frame were there in the one before. */
  widthOf(text, weight) {
    const key = `${weight} ${text}`;
    if (!this.widths.has(key)) {
      if (this.widths.size >= MOST_WIDTHS) this.widths.clear();
      this.context.font = font(weight, 100);
      this.widths.set(key, this.context.measureText(text).width / 100);
    }
    return this.widths.get(key);
  }

  /** Where a name has room beside its disc, or at its place: clear of other names and of discs; null if nowhere. */
  room({ x, y, size, width, tall, middle }) {
    const beside = size + 5 * this.look.ratio;
    const spots = middle
      ? [[x - width / 2, y + tall / 3]]
      : [
          [x + beside, y + tall / 3],
          [x - beside - width, y + tall / 3],
          [x - width / 2, y + beside + 0.8 * tall],
          [x - width / 2, y - beside],
        ];
    for (const [left, base] of spots) {
      const box = [left - 3, base - tall, left + width + 3, base + 0.3 * tall];
      if (box[0] < 0 || box[2] > this.canvas.width || box[1] < 0 || box[3] > this.canvas.height) continue;
      if (this.placed.some((other) => overlaps(box, other.box))) continue;
      if (!middle && this.hitsDisc(box, x, y)) continue;
      return [left, base];
    }
    return null;
  }

  hitsDisc(box, ownX, ownY) {
    return this.discs.some(
      ([x, y, r]) =>
        Math.hypot(x - ownX, y - ownY) > 1 &&
        Math.hypot(x - Math.min(Math.max(x, box[0]), box[2]), y - Math.min(Math.max(y, box[1]), box[3])) < 0.8 * r,
    );
  }
}
