// The contents list beside the map: communities with their names, sizes and, where there are many, regions.
import { core, colourOf, nameOf, nodes, rowOf } from "./data.js";
import { byId, fill, h, number, percent, short } from "./dom.js";
import { choose } from "./pieces.js";
import { onPrint } from "./printing.js";
import { change, chosen, onChange } from "./state.js";

const FIRST = 60;
const entries = new Map();
let sizes = null;

const sizeOf = (community) => sizes?.get(community) ?? (sizes ? 0 : core.communities.members[rowOf(community)]);

function entry(community) {
  const count = h("span", { class: "soft" }, number(sizeOf(community)));
  const made = h(
    "button",
    {
      type: "button",
      class: "entry",
      title: `Community ${community}: ${nameOf(community)}`,
      "aria-label": `Community ${community}`,
      "aria-pressed": String(chosen.community === community),
      "data-community": community,
      onclick: () => choose.community(community),
    },
    h("i", { class: "dot", style: { background: colourOf(community) } }),
    h("b", {}, String(community)),
    h("span", { class: "name" }, short(nameOf(community), 60)),
    count,
  );
  entries.set(community, { made, count });
  return made;
}

/** Entries in place, and a button for the rest where there are many. */
function grow(place, communities) {
  const first = communities.slice(0, FIRST).map(entry);
  const rest = communities.slice(FIRST);
  const more = h("button", { type: "button", class: "plain" }, `and ${number(rest.length)} more`);
  more.addEventListener("click", () => {
    more.remove();
    grow(place, rest);
  });
  place.append(...first, ...(rest.length ? [more] : []));
}

function region(communities) {
  const members = communities.reduce((sum, k) => sum + sizeOf(k), 0);
  const largest = communities.reduce((a, b) => (sizeOf(b) > sizeOf(a) ? b : a));
  const place = h("div");
  const fold = h(
    "details",
    { class: "region" },
    h("summary", {}, h("span", { class: "name" }, short(nameOf(largest), 44)), h("span", { class: "soft" }, `${communities.length} communities, ${number(members)}`)),
    place,
  );
  const open = () => {
    if (fold.open && !place.childElementCount) grow(place, communities);
  };
  fold.addEventListener("toggle", open);
  let kept = false;
  onPrint(
    () => {
      kept = fold.open;
      fold.open = true;
      open();
    },
    () => (fold.open = kept),
  );
  return fold;
}

function showSizes() {
  for (const [community, { count }] of entries) count.textContent = number(sizeOf(community));
}

function slider() {
  const input = byId("threshold");
  input.addEventListener("input", () => change({ threshold: Number(input.value) / 100 }));
  onChange(async (names) => {
    if (names.includes("community")) {
      for (const [community, { made }] of entries) made.setAttribute("aria-pressed", String(community === chosen.community));
    }
    if (!names.includes("threshold")) return;
    byId("threshold-value").textContent = percent(chosen.threshold);
    const { threshold } = chosen;
    const data = await nodes();
    if (threshold !== chosen.threshold) return;
    sizes = data.sizes(threshold);
    showSizes();
  });
}

export function startContents() {
  const place = byId("legend");
  fill(place);
  if (!core.communities.number.length) fill(place, h("p", { class: "note" }, "No community is listed."));
  else if (core.regions && core.regions.length > 1) {
    place.append(...core.regions.filter((r) => r.length > 1).map(region));
    const alone = core.regions.filter((r) => r.length === 1).flat();
    if (alone.length) grow(place, alone);
  } else grow(place, core.communities.number);
  slider();
}
