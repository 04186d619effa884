// The picture: a scene, a camera, and frames that are drawn when something has changed.
import { core } from "./data.js";
import { Camera } from "./camera.js";
import { listen } from "./gestures.js";
import { communityLines, discBuffer, nodeLines } from "./layers.js";
import { Lettering } from "./lettering.js";
import { Painter, rgb } from "./painter.js";
import { Points } from "./points.js";

// Nodes that are drawn as pie charts, at most; more are points.
const MOST_DISCS = 6000;
// On a map with more of them in sight, lines between nodes would be a tangle.
const MOST_LINKED = 1500;
// Around what is in sight so much more is prepared, in shares of it, so that a small move needs nothing new.
const SPARE = 0.35;
// Points of a frame are as many as keep it between so many milliseconds.
const FRAME = [18, 24];
const [FEWEST_POINTS, FIRST_POINTS, MOST_POINTS] = [20000, 40000, 4000000];
const STILL = 140;
const NONE = { nodes: [], near: null, only: null, threshold: core.threshold, links: true, ghosts: false };

export class Stage {
  /** Throws where there is no WebGL. `ink()` gives the colours of the page; the others are told of rows and places. */
  constructor(container, { ink, picked, hovered, cleared, lost }) {
    this.container = container;
    this.ink = ink;
    this.told = { picked, hovered, cleared };
    const canvases = [0, 1].map(() => container.appendChild(document.createElement("canvas")));
    // Before there is a context: to change the size of one costs a wait for the graphics.
    const [width, height] = this.size();
    for (const canvas of canvases) Object.assign(canvas, { width, height });
    this.painter = new Painter(canvases[0]);
    canvases[0].addEventListener("webglcontextlost", lost);
    this.lettering = new Lettering(canvases[1]);
    this.camera = new Camera();
    this.scene = null;
    this.points = null;
    this.choice = { ...NONE };
    this.prepared = null;
    this.asked = false;
    this.moved = -1e9;
    this.budget = FIRST_POINTS;
    this.drawn = 0;
    this.last = 0;
    this.moving = false;
    this.slow = false;
    this.finished = () => {};
    listen(container, this.camera, {
      ratio: () => this.ratio,
      changed: () => this.touch(),
      pointed: (at) => this.point(at),
      clicked: (at) => this.click(at),
    });
    new ResizeObserver(() => this.measure()).observe(container);
    this.measure();
  }

  get ratio() {
    return Math.min(globalThis.devicePixelRatio || 1, 2);
  }

  /** Width and height of the picture in pixels of the screen. */
  size() {
    const { container, ratio } = this;
    return [container.clientWidth, container.clientHeight].map((v) => Math.max(1, Math.round(v * ratio)));
  }

  measure() {
    const { camera } = this;
    const [width, height] = this.size();
    if (camera.width === width && camera.height === height) return;
    const fill = camera.zoom / camera.whole;
    [camera.width, camera.height] = [width, height];
    this.painter.resize(width, height);
    this.drawn = 0;
    this.lettering.resize(width, height);
    if (this.scene) {
      camera.whole = camera.fitted(this.scene.box).zoom;
      camera.zoom = fill * camera.whole;
    }
    this.ask();
  }

  /** Show a scene, all of it; throws if the graphics cannot. */
  show(scene) {
    this.painter.check();
    this.scene = scene;
    this.renew();
    this.points = new Points(scene);
    this.painter.setPoints(scene.count);
    const whole = this.camera.fitted(scene.box);
    // A few nodes must not fill the picture with huge discs.
    whole.zoom = Math.min(whole.zoom, (0.042 * this.camera.width) / scene.widest);
    this.camera.whole = whole.zoom;
    this.camera.moving = null;
    this.camera.set(whole);
    this.ask();
  }

  /** Change what is chosen, shown alone, or shown at all. */
  choose(change) {
    Object.assign(this.choice, change);
    this.renew();
    this.points?.fade();
    this.ask();
  }

  /** Prepare everything anew for the next frame. */
  renew() {
    this.prepared = null;
    this.drawn = 0;
  }

  retheme() {
    this.renew();
    this.ask();
  }

  touch() {
    this.moved = performance.now();
    this.drawn = 0;
    this.ask();
  }

  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.asked = false;
    if (!this.scene) return;
    const gliding = this.camera.step(now);
    if (gliding) this.moved = now;
    const moving = gliding || now - this.moved < STILL;
    this.pace(now);
    // A picture that moves starts anew in every frame; one that stands still has twice as many points in each, however
    // slow frames are: it is whole after a few.
    if (moving) this.drawn = 0;
    if (moving !== this.moving) this.drawn = 0;
    this.moving = moving;
    this.paint(this.drawn, this.drawn + Math.max(this.budget, this.drawn));
    if (moving || this.drawn < this.scene.count) this.ask();
    else this.finished();
  }

  /** How many points a frame has time for: fewer while frames are slow, more while they are fast. */
  pace(now) {
    const took = now - this.last;
    this.last = now;
    if (took > 1000) return;
    this.slow = took > FRAME[1] || (this.slow && took > FRAME[0]);
    if (took > FRAME[1]) this.budget = Math.max(FEWEST_POINTS, this.budget * Math.max(0.5, FRAME[1] / took));
    else if (took < FRAME[0]) this.budget = Math.min(MOST_POINTS, this.budget * 1.2);
  }

  /** Colours and sizes of a frame. */
  look() {
    const { ratio } = this;
    const ink = this.ink();
    const palette = [...core.palette, core.rest].flatMap(rgb);
    return { ...ink, ratio, palette: new Float32Array([...palette, ...new Array(51 - palette.length).fill(0)]) };
  }

  /** Draw one frame now: points `begin` to `end` on top of those before, everything else whole. */
  paint(begin = 0, end = Infinity) {
    const { camera, scene, painter, choice } = this;
    const look = this.look();
    this.prepare(look);
    const { near } = this.prepared;
    const points = near ? this.glow(look) : this.dots(look);
    this.drawn = points ? Math.min(scene.count, Math.ceil(end)) : scene.count;
    if (points) this.fill(this.drawn);
    painter.draw(camera, {
      palette: look.palette,
      paper: rgb(look.paper),
      ink: rgb(look.ink),
      least: near && scene.kind === "map" ? 1.2 * look.ratio : 1.8 * look.ratio,
      discs: near !== null,
      lines: true,
      points: points && { ...points, begin: Math.min(begin, scene.count), end: this.drawn },
    });
    this.lettering.draw({ scene, camera, look, near, choice, hurried: this.moving && this.slow });
  }

  /** Make the points up to `end` that the graphics do not have yet. */
  fill(end) {
    const { points, painter, choice } = this;
    if (points.placed < end) {
      const { begin, places } = points.places(end);
      painter.putPoints("places", begin, places);
    }
    if (points.coloured < end) {
      const { begin, colours } = points.colours(end, choice);
      painter.putPoints("colours", begin, colours);
    }
  }

  /** Points of a map: about as large as the nodes are, at least a pixel, lighter where several lie on one pixel. */
  dots(look) {
    const { camera, scene } = this;
    const unit = (scene.map?.unit ?? scene.radius[0]) * camera.zoom;
    const size = Math.max(2.4 * look.ratio, 2.2 * unit);
    // Points of a disc on one pixel, on average: what a pixel in the middle of a community adds up to.
    const crowd = (size * size * 0.31) / Math.max(Math.PI * unit * unit, 1e-9);
    return { size, weight: Math.max(0.02, Math.min(1.6, 1.9 / Math.max(crowd, 1e-3))), blur: 1.6, most: 1, coarse: this.moving && this.slow ? 2 : 1 };
  }

  /** A soft ground in the colours of the communities behind the nodes of a drawn network. */
  glow(look) {
    const { scene, camera } = this;
    if (scene.kind === "map" || scene.count > MOST_DISCS) return null;
    const wide = scene.radius.reduce((sum, r) => sum + r, 0) / Math.max(scene.count, 1);
    const size = Math.min(300 * look.ratio, Math.max(24 * look.ratio, 11 * wide * camera.zoom));
    return { size, weight: 0.35, blur: 0.3, most: 0.24, coarse: 4 };
  }

  /** Buffers of what is in sight, made again when the view has left what was prepared. */
  prepare(look) {
    const { camera, scene, painter, choice } = this;
    const sight = camera.sight();
    const known = this.prepared;
    if (known && known.near === null) {
      // Points are there already; only coming near changes something.
      if (!this.isNear(sight)) return;
    } else if (known && (known.all || (covers(known.box, sight) && camera.zoom > 0.5 * known.zoom && this.isNear(sight)))) return;
    const all = this.drawsAll;
    const box = camera.sight(SPARE);
    if (!all && !this.isNear(sight)) {
      const lines = scene.map ? communityLines(scene.map, choice, look) : nodeLines(scene, scene.links ?? [], choice, look);
      this.drawLines(lines);
      this.prepared = { near: null };
      return;
    }
    const near = all ? Array.from({ length: scene.count }, (_, i) => i) : scene.grid.inside(box);
    painter.setDiscs(discBuffer(scene, near, choice), near.length);
    const lines = this.linesNear(near, all, look);
    this.drawLines(lines);
    this.prepared = { near, box, zoom: camera.zoom, all };
  }

  /** Lines between the nodes in sight; between communities while there are too many of them to be told apart. */
  linesNear(near, all, look) {
    const { scene, choice } = this;
    if (all && scene.links) return nodeLines(scene, scene.links, choice, look);
    const crowded = scene.map && near.length > MOST_LINKED;
    if (crowded && !choice.nodes.length) return communityLines(scene.map, choice, look);
    return nodeLines(scene, this.linksOf(crowded ? choice.nodes.map((p) => scene.row(p)) : near), choice, look);
  }

  /** Whether all nodes are discs at any distance: those of a drawn network, not of a map. */
  get drawsAll() {
    return this.scene.kind !== "map" && this.scene.count <= MOST_DISCS;
  }

  drawLines(lines) {
    this.drawnLines = lines;
    this.painter.setLines(lines.data, lines.count);
  }

  /** Whether few enough nodes are in sight to draw each as a disc. */
  isNear(sight) {
    const { scene, camera } = this;
    if (this.drawsAll) return true;
    const unit = (scene.map?.unit ?? scene.radius[0]) * camera.zoom;
    return unit > 1.4 * this.ratio && scene.grid.countIn(sight) <= MOST_DISCS;
  }

  /** Links of the nodes in sight, as pairs of rows; none before the links are open. */
  linksOf(rows) {
    const { scene } = this;
    const { nodes } = scene;
    if (!nodes.links) return [];
    const shown = new Set(rows);
    const pairs = [];
    for (const row of rows) {
      const p = scene.position(row);
      for (const q of nodes.neighbours(p)) {
        const other = scene.row(q);
        if (other === undefined || (shown.has(other) && other < row)) continue;
        pairs.push(row, other);
      }
    }
    return pairs;
  }

  /** The row of the node at a place of the screen, or null. */
  rowAt([px, py]) {
    const { scene, camera } = this;
    if (!this.prepared?.near) return null;
    const [x, y] = camera.toPlane(px, py);
    const slack = (5 * this.ratio) / camera.zoom;
    const most = Math.max(...this.prepared.near.slice(0, 1).map((row) => scene.radius[row]), scene.map?.unit ?? 0, scene.widest);
    const reach = most + slack;
    let best = null;
    let least = Infinity;
    for (const row of scene.grid.inside([x - reach, y - reach, x + reach, y + reach])) {
      const gap = Math.hypot(scene.x[row] - x, scene.y[row] - y) - scene.radius[row];
      if (gap < slack && gap < least) [best, least] = [row, gap];
    }
    return best;
  }

  /** The community whose disc on the map is at a place of the screen, or null. */
  communityAt([px, py]) {
    const { map } = this.scene;
    if (!map) return null;
    const [x, y] = this.camera.toPlane(px, py);
    const i = map.numbers.findIndex((_, j) => Math.hypot(map.x[j] - x, map.y[j] - y) < map.radius[j]);
    return i < 0 ? null : map.numbers[i];
  }

  point(at) {
    if (!this.scene) return;
    const row = at && this.rowAt(at);
    const community = at && row === null && !this.prepared?.near ? this.communityAt(at) : null;
    this.container.classList.toggle("over", row !== null || community !== null);
    this.told.hovered(row, community, at ? at.map((v) => v / this.ratio) : null);
  }

  click(at) {
    const row = this.rowAt(at);
    if (row !== null) return this.told.picked(row, null);
    const community = this.prepared?.near ? null : this.communityAt(at);
    return community === null ? this.told.cleared() : this.told.picked(null, community);
  }

  /** Milliseconds of a movement; none for those who asked their system for less motion. */
  get duration() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 450;
  }

  glide(to, duration = this.duration) {
    this.camera.glide(to, duration);
    this.touch();
  }

  /** Move to a row, near enough to see it as a disc. */
  goTo(row) {
    const { scene, camera } = this;
    const wanted = scene.kind === "map" ? (9 * this.ratio) / scene.radius[row] : 1.4 * camera.whole;
    this.glide({ x: scene.x[row], y: scene.y[row], zoom: Math.max(camera.zoom, wanted) });
  }

  /** Move to a community of the map. */
  goToCommunity(community) {
    const { map } = this.scene;
    const i = map ? map.numbers.indexOf(community) : -1;
    if (i < 0) return;
    const r = 1.5 * map.radius[i];
    this.glide(this.camera.fitted([map.x[i] - r, map.y[i] - r, map.x[i] + r, map.y[i] + r]));
  }

  /** Where the camera is, or where it is going: steps that follow each other fast add up. */
  get heading() {
    return this.camera.moving?.to ?? this.camera;
  }

  zoom(factor) {
    const { x, y, zoom } = this.heading;
    this.glide({ x, y, zoom: zoom * factor }, this.duration / 2);
  }

  fit() {
    this.glide({ ...this.camera.fitted(this.scene.box), zoom: this.camera.whole });
  }

  pan(right, up) {
    const { width, height } = this.camera;
    const { x, y, zoom } = this.heading;
    this.glide({ x: x + (0.15 * right * width) / zoom, y: y + (0.15 * up * height) / zoom, zoom }, this.duration / 2);
  }

  /** Rows in sight, the largest first: what the keyboard goes through. */
  inSight(most = 500) {
    if (!this.prepared) this.prepare(this.look());
    const { near } = this.prepared;
    if (!near) return [];
    const [left, low, right, high] = this.camera.sight();
    const { x, y, radius } = this.scene;
    const seen = near.filter((i) => x[i] >= left && x[i] <= right && y[i] >= low && y[i] <= high);
    return seen.sort((a, b) => radius[b] - radius[a] || a - b).slice(0, most);
  }
}

const covers = (outer, inner) =>
  outer[0] <= inner[0] && outer[1] <= inner[1] && outer[2] >= inner[2] && outer[3] >= inner[3];
