// The card beside the drawing: a node or a community in detail.
import { core, colourOf, nodes } from "./data.js";
import { byId, fill, h, number, percent, probability } from "./dom.js";
import { bar, choose, nodeButton, share, sharedChip } from "./pieces.js";

const MOST_NEIGHBOURS = 14;

export async function nodeCard(node) {
  const data = await nodes();
  const position = data.position(node);
  if (position < 0) {
    fill(byId("card"), h("p", { class: "note" }, "This node is not among those this file holds."));
    return null;
  }
  const links = Array.from(data.neighbours(position));
  links.sort((a, b) => data.degree[b] - data.degree[a] || a - b);
  const rest = links.length - MOST_NEIGHBOURS;
  const shares = data.memberships(position);
  fill(
    byId("card"),
    h("h3", { id: "card-title" }, data.labels[position]),
    h("p", { class: "note" }, `${number(data.degree[position])} ${data.degree[position] === 1 ? "link" : "links"}`),
    h("h4", {}, `Share of its links, with ${percent(core.level)} interval`),
    shares.length
      ? h("ul", { class: "shares" }, shares.map(share))
      : h("p", { class: "note" }, "No membership is large enough to be listed."),
    h("h4", {}, "Linked to"),
    h(
      "p",
      { class: "buttons" },
      links
        .slice(0, MOST_NEIGHBOURS)
        .map((p) => nodeButton(data.node ? data.node[p] : p, data.labels[p])),
      rest > 0 ? h("span", { class: "soft" }, `and ${number(rest)} more`) : null,
    ),
  );
  return position;
}

export function communityCard(community) {
  const table = core.communities;
  const row = table.number.indexOf(community);
  if (row < 0) return;
  const [mean, lower, upper] = [table.strength[row], table.lower[row], table.upper[row]];
  fill(
    byId("card"),
    h("h3", {}, h("i", { class: "dot", style: { background: colourOf(community) } }), `Community ${community}`),
    h("p", { class: "note" }, `${number(table.members[row])} members`),
    h("h4", {}, `Strength, with ${percent(core.level)} interval`),
    h(
      "p",
      { class: "share lone" },
      bar(mean, lower, upper, colourOf(community)),
      h("b", {}, probability(mean)),
      h("span", { class: "soft" }, `${probability(lower)}–${probability(upper)}`),
    ),
    h("h4", {}, "Most certain members"),
    h("p", { class: "buttons" }, table.certain[row].map((a) => nodeButton(a, core.names[a]))),
    table.shared[row].length ? h("h4", {}, "Shares bridge nodes with") : null,
    table.shared[row].length
      ? h("p", { class: "buttons" }, table.shared[row].map(([k, n]) => sharedChip(k, n)))
      : null,
    h(
      "p",
      { class: "buttons" },
      core.kind === "communities"
        ? h("button", { type: "button", class: "plain", onclick: () => choose.members(community) }, "Draw its members")
        : null,
      h("button", { type: "button", class: "plain", onclick: () => choose.community(null) }, "Show all communities"),
    ),
  );
}
