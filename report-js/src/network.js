// The network section: which scene is drawn, what is chosen, and what the keyboard does.
import { core, colourOf, nodes } from "./data.js";
import { communityCard, nodeCard } from "./cards.js";
import { byId, fill, h, interval, number, percent, probability, short } from "./dom.js";
import { choose, communityChip } from "./pieces.js";
import { membersScene, neighbourhood, wholeScene } from "./scene.js";
import { onTheme, readInk } from "./theme.js";

const LEGEND_FIRST = 24;
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// The drawing starts when its section comes near: compiling shaders must not hold up the page.
const NEAR = "400px";

const state = { starting: null, drawing: null, scene: null, whole: null, node: null, community: null, ink: null };

/** Start WebGL if it is there; the still picture stays otherwise, with a word of explanation. */
function startDrawing() {
  const stage = byId("stage");
  try {
    if (!globalThis.BlockmixDrawing) throw new Error("no WebGL");
    stage.hidden = false;
    state.drawing = new globalThis.BlockmixDrawing(stage, {
      ink: () => (state.ink ??= readInk()),
      picked: (row) => pick(row),
      hovered: (row, spot) => tip(row, spot),
      cleared: () => clear(),
    });
    return true;
  } catch {
    fail();
    return false;
  }
}

function fail() {
  state.drawing = null;
  byId("stage").hidden = true;
  byId("still").hidden = false;
  byId("zoom").hidden = true;
  byId("whole").parentElement.hidden = true;
  remark("This browser offers no WebGL, so the picture stands still. Search and tables work as usual.");
}

/** A line at the bottom of the picture; none if the text is empty. */
function remark(text) {
  const line = byId("remark");
  line.textContent = text;
  line.hidden = !text;
}

function show(scene) {
  state.scene = scene;
  byId("whole").setAttribute("aria-pressed", String(scene === state.whole));
  byId("around").setAttribute("aria-pressed", String(scene.kind === "neighbourhood"));
  tip(null);
  if (!state.drawing) return;
  remark(scene.note ?? "");
  try {
    state.drawing.show(scene);
    byId("still").hidden = true;
    byId("zoom").hidden = false;
  } catch {
    fail();
  }
}

function pick(row) {
  const id = state.scene.ids[row];
  if (state.scene.kind === "communities") choose.community(id);
  else choose.node(id);
}

/** A small panel at the pointer: what a node belongs to, with intervals. */
async function tip(row, spot) {
  const panel = byId("tip");
  if (row === null) {
    panel.hidden = true;
    return;
  }
  const { scene } = state;
  const id = scene.ids[row];
  const lines = [];
  if (scene.kind === "communities") {
    const at = core.communities.number.indexOf(id);
    const { members, strength, lower, upper, certain } = core.communities;
    lines.push(
      h("b", {}, `Community ${id}: ${number(members[at])} members`),
      h("span", {}, `strength ${probability(strength[at])} (${probability(lower[at])}–${probability(upper[at])})`),
      h("span", {}, `most certain: ${certain[at].slice(0, 3).map((a) => short(core.names[a], 24)).join(", ")}`),
    );
  } else {
    const data = await nodes();
    const shares = data.memberships(data.position(id)).slice(0, 5);
    lines.push(
      h("b", {}, scene.labels[row]),
      ...shares.map((m) =>
        h("span", {}, h("i", { class: "dot", style: { background: colourOf(m.community) } }), `${m.community}: ${percent(m.mean)} (${interval(m.lower, m.upper)})`),
      ),
    );
  }
  fill(panel, ...lines);
  panel.hidden = false;
  const room = byId("picture").clientWidth - panel.offsetWidth - 8;
  panel.style.left = `${Math.max(8, Math.min(spot.x + 14, room))}px`;
  panel.style.top = `${Math.max(8, Math.min(spot.y + 14, byId("picture").clientHeight - panel.offsetHeight - 8))}px`;
}

function clear() {
  state.node = null;
  isolate(null);
  state.drawing?.select(null);
  byId("around").disabled = true;
}

async function isolate(community) {
  state.community = community;
  for (const chip of document.querySelectorAll("#legend [data-community]")) {
    chip.setAttribute("aria-pressed", String(Number(chip.dataset.community) === community));
  }
  await drawn();
  if (!state.drawing || state.community !== community) return;
  const shown = state.scene?.members.some((set) => set.has(community));
  if (community !== null && !shown && state.whole) show(state.whole);
  state.drawing.isolate(community);
}

async function chooseNode(node) {
  const position = await nodeCard(node);
  if (position === null) return;
  state.node = node;
  byId("around").disabled = false;
  // Isolated communities would hide what was asked for.
  await isolate(null);
  if (core.kind === "communities") await showAround();
  else if (state.scene?.kind === "neighbourhood") await showAround();
  else state.drawing?.select(node);
  reveal();
}

function chooseCommunity(community) {
  const next = state.community === community ? null : community;
  if (next === null && state.scene?.kind === "members") showWhole();
  isolate(next);
  if (next !== null) {
    communityCard(next);
    reveal();
  }
}

/** Bring the network into view when something was chosen further down. */
function reveal() {
  const box = byId("picture").getBoundingClientRect();
  if (box.bottom < 120 || box.top > innerHeight - 120) byId("network").scrollIntoView();
}

async function showAround() {
  if (state.node === null) return;
  const data = await nodes();
  show(neighbourhood(data, data.position(state.node)));
  state.drawing?.select(0, false);
}

async function showMembers(community) {
  await drawn();
  show(membersScene(await nodes(), community));
  reveal();
}

function showWhole() {
  if (!state.whole) return;
  show(state.whole);
  if (state.node !== null && core.kind === "network") state.drawing?.select(state.node, false);
}

function legend() {
  const chips = core.communities.number.map((k) => {
    const chip = communityChip(k);
    chip.setAttribute("aria-pressed", "false");
    return chip;
  });
  const place = byId("legend");
  if (chips.length <= LEGEND_FIRST) return fill(place, chips);
  const more = h("button", { type: "button", class: "plain" }, `and ${number(chips.length - LEGEND_FIRST)} more`);
  more.addEventListener("click", () => fill(place, chips.slice(0, 400)));
  return fill(place, chips.slice(0, LEGEND_FIRST), more);
}

function keys() {
  byId("stage").addEventListener("keydown", (event) => {
    const { drawing } = state;
    if (!drawing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in STEPS) drawing.pan(...STEPS[event.key]);
    else if (event.key === "+" || event.key === "=") drawing.zoom(1.5);
    else if (event.key === "-") drawing.zoom(1 / 1.5);
    else if (event.key === "0") drawing.fit();
    else if (event.key === "Escape") clear();
    else return;
    event.preventDefault();
  });
  byId("zoom-in").addEventListener("click", () => state.drawing?.zoom(1.5));
  byId("zoom-out").addEventListener("click", () => state.drawing?.zoom(1 / 1.5));
  byId("zoom-fit").addEventListener("click", () => state.drawing?.fit());
  byId("whole").addEventListener("click", showWhole);
  byId("around").addEventListener("click", showAround);
}

/** The drawing with its first scene; the first call starts it. */
function drawn() {
  state.starting ??= (async () => {
    const works = startDrawing();
    if (core.kind === "communities") state.whole = wholeScene(null);
    else if (works) state.whole = wholeScene(await nodes());
    if (state.whole) show(state.whole);
    // The data of single nodes will be wanted next: opened now, a search answers at once.
    nodes().catch(() => {});
    document.documentElement.dataset.drawn = state.drawing ? "webgl" : "still";
  })();
  return state.starting;
}

export function startNetwork() {
  choose.node = chooseNode;
  choose.community = chooseCommunity;
  choose.members = showMembers;
  legend();
  keys();
  onTheme(() => {
    state.ink = null;
    state.drawing?.retheme();
  });
  const near = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      near.disconnect();
      drawn();
    },
    { rootMargin: NEAR },
  );
  near.observe(byId("picture"));
  document.documentElement.dataset.ready = "true";
}
