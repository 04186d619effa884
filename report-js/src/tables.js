// Tables that can be sorted and grow on demand.
import { core, colourOf, nodes } from "./data.js";
import { byId, fill, h, interval, number, percent, probability } from "./dom.js";
import { bar, communityChip, nodeButton, sharedChip } from "./pieces.js";
import { onPrint } from "./printing.js";
import { chosen, onChange } from "./state.js";

const FIRST = 15;
const MORE = 50;
const PRINTED = 500;

/** A table in a place: columns have a name, a cell for a row, and a key where they can be sorted. */
function table(place, columns, count, caption, sorted) {
  const state = { ...sorted, shown: FIRST };
  const order = Array.from({ length: count }, (_, i) => i);
  const body = h("tbody");
  const more = h("button", { type: "button", class: "plain" });
  const heads = columns.map((column) => head(column, state, arrange));

  function arrange() {
    const { key } = columns[state.column];
    order.sort((a, b) => state.sign * (key(a) - key(b)) || a - b);
    heads.forEach((th, i) => {
      if (!columns[i].key) return;
      const which = i !== state.column ? "none" : state.sign > 0 ? "ascending" : "descending";
      th.setAttribute("aria-sort", which);
    });
    draw();
  }

  function draw() {
    const rows = order.slice(0, state.shown);
    fill(body, rows.map((i) => h("tr", {}, columns.map((c) => h("td", { class: c.class, "data-name": c.name }, c.cell(i))))));
    const left = count - rows.length;
    more.hidden = left <= 0;
    more.textContent = `Show ${number(Math.min(MORE, left))} more of ${number(count)}`;
  }

  more.addEventListener("click", () => {
    state.shown += MORE;
    draw();
  });
  fill(place, h("table", {}, h("caption", { class: caption.cut ? null : "hush" }, caption.name + caption.cut), h("thead", {}, h("tr", {}, heads)), body), more);
  arrange();
  let kept = FIRST;
  onPrint(
    () => {
      kept = state.shown;
      state.shown = Math.max(kept, PRINTED);
      draw();
    },
    () => {
      state.shown = kept;
      draw();
    },
  );
  return arrange;
}

function head(column, state, arrange) {
  if (!column.key) return h("th", { scope: "col", class: column.class }, column.name);
  const th = h("th", { scope: "col", class: column.class });
  const sort = () => {
    const index = th.cellIndex;
    state.sign = state.column === index ? -state.sign : column.first ?? -1;
    state.column = index;
    arrange();
  };
  th.append(h("button", { type: "button", onclick: sort }, column.name));
  return th;
}

function strengthCell(c, i) {
  const colour = colourOf(c.number[i]);
  return h(
    "span",
    { class: "share lone" },
    bar(c.strength[i], c.lower[i], c.upper[i], colour),
    h("b", {}, probability(c.strength[i])),
    h("span", { class: "soft" }, `${probability(c.lower[i])}–${probability(c.upper[i])}`),
  );
}

export function communityTable() {
  const c = core.communities;
  let members = c.members;
  const evidence = {
    name: "Evidence",
    class: "right",
    key: (i) => c.evidence[i] ?? 0,
    cell: (i) => (c.evidence[i] === null ? "n/a" : number(Math.round(c.evidence[i]))),
  };
  const columns = [
    { name: "Community", key: (i) => c.number[i], first: 1, cell: (i) => communityChip(c.number[i]) },
    { name: "Members", class: "right", key: (i) => members[i], cell: (i) => number(members[i]) },
    { name: "Expected size", class: "right", key: (i) => c.size[i], cell: (i) => (c.size[i] < 100 ? c.size[i].toFixed(1) : number(Math.round(c.size[i]))) },
    { name: "Strength", key: (i) => c.strength[i], cell: (i) => strengthCell(c, i) },
    ...(c.evidence.some((value) => value !== null) ? [evidence] : []),
    {
      name: "Most certain members",
      class: "wide",
      cell: (i) => h("span", { class: "buttons" }, c.certain[i].map((a) => nodeButton(a, core.names[a]))),
    },
    {
      name: "Bridges to",
      key: (i) => c.shared[i].reduce((sum, [, n]) => sum + n, 0),
      cell: (i) =>
        c.shared[i].length
          ? h("span", { class: "buttons" }, c.shared[i].map(([k, n]) => sharedChip(k, n)))
          : h("span", { class: "soft" }, "none"),
    },
  ];
  const cut = core.communities_in_all > c.number.length ? `; the first ${number(c.number.length)} of ${number(core.communities_in_all)}` : "";
  const arrange = table(byId("community-table"), columns, c.number.length, { name: "Communities", cut }, { column: 0, sign: 1 });
  onChange(async (names) => {
    if (!names.includes("threshold")) return;
    const sizes = (await nodes()).sizes(chosen.threshold);
    members = c.number.map((k) => sizes.get(k) ?? 0);
    arrange();
  });
}

export function bridgeTable() {
  const { bridges } = core;
  if (!bridges.length) return;
  const columns = [
    { name: "Node", class: "wide", cell: (i) => nodeButton(bridges[i].node, core.names[bridges[i].node]) },
    {
      name: "Share of its links in each community",
      class: "wide",
      cell: (i) =>
        h("span", { class: "mix" },
          h("span", { class: "strip", "aria-hidden": "true" }, bridges[i].shares.map(([k, m]) => h("i", { style: { width: percent(m), background: colourOf(k) } }))),
          bridges[i].shares.map(([k, m, low, high]) =>
            h("span", { class: "pair" }, communityChip(k), h("b", {}, percent(m)), h("span", { class: "soft" }, interval(low, high))),
          ),
        ),
    },
    { name: "Second share", class: "right", key: (i) => bridges[i].shares[1]?.[1] ?? 0, cell: (i) => percent(bridges[i].shares[1]?.[1] ?? 0) },
    { name: "Communities", class: "right", key: (i) => bridges[i].shares.length, cell: (i) => number(bridges[i].shares.length) },
  ];
  const cut = core.bridges_in_all > bridges.length ? `; the first ${number(bridges.length)} of ${number(core.bridges_in_all)}` : "";
  table(byId("bridge-table"), columns, bridges.length, { name: "Bridge nodes", cut }, { column: 2, sign: -1 });
}
