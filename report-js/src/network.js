// The map's section: which scene is drawn, what is chosen, and what buttons and the keyboard do.
import { emptyCard, communityCard, nodeCard, pairCard } from "./cards.js";
import { core, colourOf, everything, nameOf, nodes, rowOf } from "./data.js";
import { byId, fill, h, interval, number, percent, probability, short } from "./dom.js";
import { choose } from "./pieces.js";
import { onPrint } from "./printing.js";
import { flattened, savePng, saveSvg, save } from "./saving.js";
import { membersScene, neighbourhood, wholeScene } from "./scene.js";
import { Stage } from "./stage.js";
import { change, chosen, onChange } from "./state.js";
import { ON_PAPER, onTheme, readInk } from "./theme.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const state = { starting: null, stage: null, scene: null, whole: null, ink: null };

/** Start WebGL if it is there; the still picture stays otherwise, with a word of explanation. */
function startStage() {
  const place = byId("stage");
  try {
    place.hidden = false;
    // By this name a script, or the console, can ask the map for its scene and its camera.
    globalThis.blockmixMap = state.stage = new Stage(place, {
      ink: () => (state.ink ??= readInk()),
      picked: (row, community) => (row === null ? choose.community(community) : choose.node(numberAt(row))),
      hovered: tip,
      cleared: clear,
      lost: () => fail("The browser took the graphics away, so the picture stands still: load the page again to have the map back."),
    });
  } catch {
    fail();
  }
}

const NO_WEBGL = "This browser offers no WebGL 2, so the picture stands still.";

function fail(why = NO_WEBGL) {
  state.stage = null;
  byId("stage").hidden = true;
  byId("still").hidden = false;
  byId("zoom").hidden = true;
  byId("whole").parentElement.hidden = true;
  byId("save-png").hidden = true;
  for (const name of ["links", "ghosts"]) byId(`show-${name}`).parentElement.hidden = true;
  remark(`${why} Search, lists and tables work as usual.`);
}

/** A line at the bottom of the picture; none if the text is empty. */
function remark(text) {
  const line = byId("remark");
  line.textContent = text;
  line.hidden = !text;
}

const numberAt = (row) => state.scene.nodes.numberOf(state.scene.position(row));

function show(scene) {
  state.scene = scene;
  byId("whole").setAttribute("aria-pressed", String(scene === state.whole));
  byId("around").setAttribute("aria-pressed", String(scene.kind === "neighbourhood"));
  tip(null, null, null);
  if (!state.stage) return;
  remark(scene.note);
  state.stage.show(scene);
  byId("still").hidden = true;
  byId("zoom").hidden = false;
}

/** A small panel at the pointer: what a node belongs to with intervals, or what a community is. */
function tip(row, community, spot) {
  const panel = byId("tip");
  panel.hidden = row === null && community === null;
  if (panel.hidden) return;
  fill(panel, ...(row === null ? communityLines(community) : nodeTip(row)));
  const picture = byId("picture");
  const within = (value, size, whole) => Math.max(8, Math.min(value + 14, whole - size - 8));
  panel.style.left = `${within(spot[0], panel.offsetWidth, picture.clientWidth)}px`;
  panel.style.top = `${within(spot[1], panel.offsetHeight, picture.clientHeight)}px`;
}

const dot = (community) => h("i", { class: "dot", style: { background: colourOf(community) } });

function nodeTip(row) {
  const { scene } = state;
  const position = scene.position(row);
  const shares = scene.nodes.memberships(position).slice(0, 5);
  return [
    h("b", {}, scene.nodes.label(position)),
    ...shares.map((m) => h("span", {}, dot(m.community), `${m.community}: ${percent(m.mean)} (${interval(m.lower, m.upper)})`)),
  ];
}

function communityLines(community) {
  const at = rowOf(community);
  if (at === undefined) return [h("b", {}, `Community ${community}`)];
  const { members, strength, lower, upper } = core.communities;
  return [
    h("b", {}, dot(community), `Community ${community}: ${number(members[at])} members`),
    h("span", {}, `strength ${probability(strength[at])} (${probability(lower[at])}–${probability(upper[at])})`),
    h("span", {}, short(nameOf(community), 70)),
  ];
}

/** Tell the picture what is chosen: these nodes and those linked to them in front, the rest faint. */
function point(data, positions) {
  const near = positions.length ? new Set(positions) : null;
  for (const p of positions) for (const q of data.neighbours(p)) near.add(q);
  if (near && byId("show-ghosts").checked) {
    for (const pair of core.ghosts.pairs) {
      const [a, b] = pair.map((node) => data.position(node));
      if (positions.includes(a) && b >= 0) near.add(b);
      if (positions.includes(b) && a >= 0) near.add(a);
    }
  }
  state.stage?.choose({ nodes: positions, near });
}

function clear() {
  change({ node: null, held: null, community: null });
  byId("around").disabled = true;
  state.stage?.choose({ nodes: [], near: null, only: null });
  emptyCard();
  if (state.scene && state.scene !== state.whole) showWhole();
}

async function chooseNode(node) {
  if (node === null) return clear();
  const { held } = chosen;
  const two = held !== null && held !== node;
  const data = await everything();
  const positions = two ? await pairCard(held, node) : [await nodeCard(node)];
  if (positions[0] === null) return undefined;
  change({ node, community: null });
  byId("around").disabled = false;
  await drawn();
  if (state.scene?.kind === "neighbourhood" || state.scene?.kind === "members") await showAround();
  state.stage?.choose({ only: null });
  point(data, positions);
  const row = state.scene?.row(positions[positions.length - 1]);
  if (state.stage && row !== undefined && outOfSight(row)) state.stage.goTo(row);
  return reveal();
}

/** Whether a row is too far away, or too close to the edge of the picture, to be seen well. */
function outOfSight(row) {
  const { scene, stage } = state;
  const [left, low, right, high] = stage.camera.sight(-0.12);
  const [x, y] = [scene.x[row], scene.y[row]];
  return x < left || x > right || y < low || y > high || (scene.kind === "map" && scene.radius[row] * stage.camera.zoom < 4);
}

async function chooseCommunity(community) {
  const next = chosen.community === community ? null : community;
  change({ community: next, node: null });
  byId("around").disabled = true;
  if (next === null) emptyCard();
  else communityCard(next);
  await drawn();
  if (chosen.community !== next) return;
  if (state.scene && state.scene !== state.whole) show(state.whole);
  state.stage?.choose({ only: next, nodes: [], near: null });
  if (next !== null) {
    state.stage?.goToCommunity(next);
    reveal();
  } else state.stage?.fit();
}

/** Bring the map into view when something was chosen further down. */
function reveal() {
  const box = byId("picture").getBoundingClientRect();
  if (box.bottom < 120 || box.top > innerHeight - 120) byId("picture").scrollIntoView({ block: "center" });
}

async function showAround() {
  if (chosen.node === null) return;
  const data = await everything();
  const centre = data.position(chosen.node);
  show(neighbourhood(data, centre));
  point(data, [centre]);
}

async function showMembers(community) {
  const data = await everything();
  await drawn();
  show(membersScene(data, community, chosen.threshold));
  state.stage?.choose({ only: null });
  reveal();
}

async function showWhole() {
  if (!state.whole) return;
  show(state.whole);
  if (chosen.node === null) return;
  const data = await everything();
  point(data, [data.position(chosen.node)]);
}

/** Go to the next or the previous node in sight. */
function walk(step) {
  const rows = state.stage.inSight();
  if (!rows.length) return;
  const at = rows.findIndex((row) => numberAt(row) === chosen.node);
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : (at + step + rows.length) % rows.length;
  choose.node(numberAt(rows[next]));
}

function keys() {
  byId("stage").addEventListener("keydown", (event) => {
    const { stage } = state;
    if (!stage || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in STEPS) stage.pan(...STEPS[event.key]);
    else if (event.key === "+" || event.key === "=") stage.zoom(1.5);
    else if (event.key === "-") stage.zoom(1 / 1.5);
    else if (event.key === "0") stage.fit();
    else if (event.key === "n" || event.key === "p") walk(event.key === "n" ? 1 : -1);
    else return;
    event.preventDefault();
  });
  // From anywhere but a field, where Escape belongs to what is being written.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.target.matches("input[type=text], input[type=search]")) clear();
  });
  const on = (id, action) => byId(id).addEventListener("click", action);
  on("zoom-in", () => state.stage?.zoom(1.5));
  on("zoom-out", () => state.stage?.zoom(1 / 1.5));
  on("zoom-fit", () => state.stage?.fit());
  on("whole", showWhole);
  on("around", showAround);
  on("save-png", () => state.stage && savePng(state.stage));
  on("save-svg", () => (state.stage ? saveSvg(state.stage) : saveStill()));
  on("save-print", () => print());
  for (const name of ["links", "ghosts"]) {
    byId(`show-${name}`).addEventListener("change", async (event) => {
      state.stage?.choose({ [name]: event.target.checked });
      const data = await everything();
      point(data, state.stage?.choice.nodes ?? []);
    });
  }
  if (!core.ghosts.pairs.length) byId("show-ghosts").parentElement.hidden = true;
}

/** The picture that is in the file, where there is no other. */
function saveStill() {
  const text = new TextDecoder().decode(Uint8Array.from(atob(byId("still").src.split(",")[1]), (c) => c.charCodeAt(0)));
  save("network.svg", "image/svg+xml", text);
}

/** Print what is in sight: the picture of the stage takes the place of the still one for that time. */
function printable() {
  const still = byId("still");
  const kept = still.src;
  onPrint(
    () => {
      if (!state.stage || !state.scene) return;
      state.ink = ON_PAPER;
      state.stage.retheme();
      still.src = flattened(state.stage).toDataURL("image/png");
      still.hidden = false;
      state.ink = null;
      state.stage.retheme();
    },
    () => {
      still.src = kept;
      still.hidden = Boolean(state.stage);
    },
  );
}

/** The stage with its first scene; the first call starts it. */
function drawn() {
  state.starting ??= (async () => {
    // The data are opened while the graphics start.
    const opening = nodes();
    startStage();
    if (state.stage) {
      const data = await opening;
      state.whole = wholeScene(data);
      show(state.whole);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
    document.documentElement.dataset.drawn = state.stage ? "webgl" : "still";
    // Names of nodes and links come after the first picture.
    everything().then(() => {
      if (!state.stage) return;
      state.stage.finished = () => (document.documentElement.dataset.complete = "true");
      state.stage.retheme();
    });
  })();
  return state.starting;
}

export function startNetwork() {
  choose.node = chooseNode;
  choose.community = chooseCommunity;
  choose.members = showMembers;
  emptyCard();
  keys();
  printable();
  onChange((names) => {
    if (names.includes("threshold")) state.stage?.choose({ threshold: chosen.threshold });
  });
  onTheme(() => {
    state.ink = null;
    state.stage?.retheme();
  });
  drawn().catch(() => {
    fail();
    document.documentElement.dataset.drawn = "still";
  });
}
