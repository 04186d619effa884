// The drawing in WebGL, by sigma. A script of its own: where it cannot run, the rest of the page still does.
import { createNodePiechartProgram } from "@sigma/node-piechart";
import Graph from "graphology";
import Sigma from "sigma";

const SLICES = [0, 1, 2, 3, 4];
const FAR = 40;
// The picture is at least so many times as wide as the radius of its largest disc.
const LEAST_ROOM = 24;
const FEW_LINES = 3000;
// Discs that names keep clear of, at most: each frame compares every name with every disc.
const MOST_OBSTACLES = 2000;

const pies = createNodePiechartProgram({
  defaultColor: "#A3A8AF",
  // Largest share first, from the top and clockwise: slots are filled backwards, since angles run the other way.
  offset: { value: 1.5 * Math.PI },
  slices: SLICES.map((i) => ({ color: { attribute: `c${i}` }, value: { attribute: `v${i}` } })),
});

/** A colour with its alpha multiplied in, as sigma's blending expects it. */
function withAlpha(hex, alpha) {
  const value = parseInt(hex.slice(1), 16);
  const [r, g, b] = [value >> 16, (value >> 8) & 255, value & 255].map((c) => Math.round(c * alpha));
  return `rgba(${r},${g},${b},${alpha})`;
}

/** A drawing in a container. `ink()` gives the colours of the page; `picked` and `hovered` are told of nodes. */
class Drawing {
  constructor(container, { ink, picked, hovered, cleared }) {
    this.container = container;
    this.ink = ink;
    this.graph = new Graph({ type: "undirected", multi: true });
    this.only = null;
    this.selected = null;
    this.thinning = 1;
    // Boxes taken by names, places of names by node, and discs on the screen: all of the current frame.
    this.names = [];
    this.spots = new Map();
    this.discs = null;
    this.sigma = new Sigma(this.graph, container, this.settings());
    this.sigma.on("clickNode", ({ node }) => picked(Number(node)));
    this.sigma.on("enterNode", ({ node }) => hovered(Number(node), this.spot(node)));
    this.sigma.on("leaveNode", () => hovered(null, null));
    this.sigma.on("clickStage", cleared);
    this.sigma.on("beforeRender", () => {
      this.names = [];
      this.spots.clear();
      this.discs = null;
    });
    // The wheel scrolls the page until the drawing has been clicked.
    container.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && document.activeElement !== container) event.stopImmediatePropagation();
      },
      { capture: true },
    );
  }

  settings() {
    return {
      allowInvalidContainer: true,
      itemSizesReference: "positions",
      zoomToSizeRatioFunction: (ratio) => ratio,
      // In the place of sigma's own discs, which would only be compiled in vain.
      nodeProgramClasses: { circle: pies },
      labelRenderedSizeThreshold: 5,
      labelDensity: 3,
      labelGridCellSize: 80,
      labelFont: "system-ui, sans-serif",
      labelSize: 12.5,
      labelWeight: "500",
      minEdgeThickness: 1.3,
      zIndex: true,
      stagePadding: 30,
      minCameraRatio: 1 / FAR,
      maxCameraRatio: 3,
      defaultDrawNodeLabel: (context, data, settings) => this.drawLabel(context, data, settings),
      defaultDrawNodeHover: (context, data, settings) => this.drawHover(context, data, settings),
      nodeReducer: (node, data) => this.reduceNode(node, data),
      edgeReducer: (edge, data) => this.reduceEdge(edge, data),
    };
  }

  /** Draw a scene, all of it in view. */
  show(scene) {
    const { graph } = this;
    this.scene = scene;
    this.only = null;
    this.selected = null;
    graph.clear();
    for (let i = 0; i < scene.ids.length; i++) graph.addNode(String(i), nodeAttributes(scene, i));
    const unit = median(scene.radius);
    // Many lines are drawn fainter, so that they do not cover what lies below.
    this.thinning = Math.max(0.25, Math.min(1, Math.sqrt((2 * FEW_LINES) / scene.links.length)));
    for (let e = 0; 2 * e < scene.links.length; e++) {
      const a = scene.links[2 * e];
      const b = scene.links[2 * e + 1];
      const weight = scene.weight[e] / 255;
      const wide = scene.kind === "communities" ? 0.03 + 0.3 * weight : 0.07;
      const first = scene.slices[a][0][0];
      const same = scene.kind !== "communities" && first === scene.slices[b][0][0];
      graph.addEdge(String(a), String(b), { size: wide * unit, colour: same ? first : null });
    }
    this.sigma.setCustomBBox(frame(scene));
    this.sigma.refresh();
    this.sigma.getCamera().setState({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
  }

  reduceNode(node, data) {
    const colours = this.ink();
    const shown = { ...data };
    if (this.only !== null && !data.members.has(this.only)) {
      for (const i of SLICES) shown[`c${i}`] = colours.faint;
      shown.label = null;
      shown.zIndex = 0;
    } else shown.zIndex = 1;
    if (node === this.selected) {
      shown.highlighted = true;
      shown.zIndex = 2;
    }
    return shown;
  }

  reduceEdge(edge, data) {
    const colours = this.ink();
    const [a, b] = this.graph.extremities(edge);
    const isIt = (node) => this.scene.ids[Number(node)] === this.only;
    const inside = (node) => this.graph.getNodeAttribute(node, "members").has(this.only);
    const both = this.scene.kind === "communities" ? isIt(a) || isIt(b) : inside(a) && inside(b);
    if (this.only !== null && !both) return { ...data, hidden: true };
    return { ...data, color: withAlpha(data.colour ?? colours.line, (data.colour ? 0.5 : 0.38) * this.thinning) };
  }

  /** Write a name where there is room for it; a name that is `marked` is written even where there is none. */
  drawLabel(context, data, settings, marked = false) {
    if (!data.label) return;
    const colours = this.ink();
    context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
    context.lineWidth = 3.5;
    context.lineJoin = "round";
    context.strokeStyle = colours.paper;
    context.fillStyle = colours.ink;
    const text = data.label.length > 32 ? `${data.label.slice(0, 31)}…` : data.label;
    const width = context.measureText(text).width;
    // What is marked keeps the place that it has among the other names.
    const known = marked ? this.spots.get(data.key) : null;
    const spot = known ?? this.room(data, width, settings.labelSize, marked);
    if (!spot) return;
    this.spots.set(data.key, spot);
    context.strokeText(text, spot.x, spot.y);
    context.fillText(text, spot.x, spot.y);
  }

  /** Where a name has room beside its disc: clear of other names and of discs; null if nowhere. */
  room(data, width, height, always) {
    const { x, y, size } = data;
    const beside = size + 6;
    const spots = [
      { x: x + beside, y: y + height / 3 },
      { x: x - beside - width, y: y + height / 3 },
      { x: x - width / 2, y: y + beside + 0.8 * height },
      { x: x - width / 2, y: y - beside },
    ];
    if (this.scene.kind === "communities" && size > 0.6 * width) spots.unshift({ x: x - width / 2, y: y + height / 3 });
    const edge = this.sigma.getDimensions().width;
    for (const spot of spots) {
      const box = [spot.x - 2, spot.y - height, spot.x + width + 2, spot.y + 4];
      if (box[0] < 0 || box[2] > edge) continue;
      if (!this.names.some((other) => overlaps(box, other)) && !this.hitsDisc(box, data)) {
        this.names.push(box);
        return spot;
      }
    }
    return always ? spots[0] : null;
  }

  /** Whether a box covers a disc other than the one it belongs to; only looked at where there are few. */
  hitsDisc(box, own) {
    this.discs ??= this.seenDiscs();
    return this.discs.some(
      ([x, y, r]) =>
        Math.hypot(x - own.x, y - own.y) > 1 &&
        Math.hypot(x - Math.min(Math.max(x, box[0]), box[2]), y - Math.min(Math.max(y, box[1]), box[3])) < 0.8 * r,
    );
  }

  /** Discs on the screen, in pixels; none where there are too many to look at in every frame. */
  seenDiscs() {
    const discs = [];
    if (this.graph.order > MOST_OBSTACLES) return discs;
    const reach = this.sigma.getDimensions();
    this.graph.forEachNode((node) => {
      const data = this.sigma.getNodeDisplayData(node);
      if (!data) return;
      const { x, y } = this.sigma.framedGraphToViewport(data);
      const size = this.sigma.scaleSize(data.size);
      if (x > -size && y > -size && x < reach.width + size && y < reach.height + size) discs.push([x, y, size]);
    });
    return discs;
  }

  drawHover(context, data, settings) {
    const colours = this.ink();
    context.beginPath();
    context.arc(data.x, data.y, data.size + 3, 0, 2 * Math.PI);
    context.lineWidth = 2;
    context.strokeStyle = colours.ink;
    context.stroke();
    this.drawLabel(context, data, { ...settings, labelWeight: "700" }, true);
  }

  /** Where a node is on the screen, in pixels of the container. */
  spot(node) {
    const data = this.sigma.getNodeDisplayData(node);
    return this.sigma.framedGraphToViewport(data);
  }

  /** Show one community only, or all with null. */
  isolate(community) {
    this.only = community;
    this.sigma.refresh({ skipIndexation: true });
  }

  /** Mark a row of the scene and move to it if it is out of sight; null marks nothing. */
  select(row, move = true) {
    this.selected = row === null ? null : String(row);
    this.sigma.refresh({ skipIndexation: true });
    if (row === null || !move) return;
    const { x, y } = this.sigma.getNodeDisplayData(String(row));
    const camera = this.sigma.getCamera();
    camera.animate({ x, y, ratio: Math.min(camera.ratio, 0.6) }, { duration: this.pace() });
  }

  /** Milliseconds of a movement; none for those who asked their system for less motion. */
  pace() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 300;
  }

  zoom(factor) {
    const camera = this.sigma.getCamera();
    const ratio = Math.min(3, Math.max(1 / FAR, camera.ratio / factor));
    camera.animate({ ratio }, { duration: this.pace() / 2 });
  }

  fit() {
    this.sigma.getCamera().animate({ x: 0.5, y: 0.5, ratio: 1, angle: 0 }, { duration: this.pace() });
  }

  pan(right, up) {
    const camera = this.sigma.getCamera();
    const state = camera.getState();
    const step = 0.12 * state.ratio;
    camera.animate({ x: state.x + right * step, y: state.y + up * step }, { duration: this.pace() / 2 });
  }

  retheme() {
    this.sigma.refresh({ skipIndexation: true });
  }
}

function nodeAttributes(scene, i) {
  const attributes = {
    x: scene.x[i],
    y: scene.y[i],
    size: scene.radius[i],
    label: scene.labels[i],
    members: scene.members[i],
    color: scene.slices[i][0][0],
  };
  scene.slices[i].forEach(([colour, share], j) => {
    attributes[`c${SLICES.length - 1 - j}`] = colour;
    attributes[`v${SLICES.length - 1 - j}`] = share;
  });
  return attributes;
}

/** The part of the plane that is shown: all discs whole, and room enough that few discs are not huge. */
function frame(scene) {
  const bounds = (places) => {
    let low = Infinity;
    let high = -Infinity;
    places.forEach((place, i) => {
      low = Math.min(low, place - scene.radius[i]);
      high = Math.max(high, place + scene.radius[i]);
    });
    return low < high ? [low, high] : [-1, 1];
  };
  const x = bounds(scene.x);
  const y = bounds(scene.y);
  const least = LEAST_ROOM * Math.max(0, ...scene.radius);
  const extra = Math.max(0, least - (x[1] - x[0])) / 2;
  return { x: [x[0] - extra, x[1] + extra], y };
}

function overlaps(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

function median(values) {
  const sorted = Float32Array.from(values).sort();
  return sorted.length ? sorted[sorted.length >> 1] : 1;
}

globalThis.BlockmixDrawing = Drawing;
