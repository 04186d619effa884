// The card beside the map: a node, two nodes side by side, or a community in detail.
import { core, colourOf, everything, nameOf, rowOf } from "./data.js";
import { byId, fill, h, interval, number, percent, probability, short } from "./dom.js";
import { memberList } from "./members.js";
import { bar, choose, communityChip, nodeButton, share, sharedChip } from "./pieces.js";
import { change, chosen } from "./state.js";

const MOST_NEIGHBOURS = 14;
const HINT = "Search for a node, or click one, to see the communities it belongs to and how sure that is.";

export function emptyCard() {
  fill(byId("card"), h("p", { class: "note" }, HINT));
}

const plainButton = (text, onclick, label = null) => h("button", { type: "button", class: "plain", onclick, "aria-label": label }, text);

/** Likely missing links of a node: the other end and the probability. */
function ghostsOf(node) {
  const { pairs, probability: chance } = core.ghosts;
  return pairs
    .map(([a, b], i) => (a === node ? [b, chance[i]] : b === node ? [a, chance[i]] : null))
    .filter(Boolean)
    .slice(0, 3);
}

/** What a node of a network with two sides is: its role, what its links do, and the same node in the other role. */
function roleOf(node) {
  if (!core.sides) return { what: "", linked: "Linked to", other: null };
  const { first, directed } = core.sides;
  const isFirst = node < first;
  if (!directed) return { what: `of the ${isFirst ? "first" : "second"} kind, `, linked: "Linked to", other: null };
  return isFirst
    ? { what: "as a sender, ", linked: "Sends links to", other: node + first, as: "As a receiver" }
    : { what: "as a receiver, ", linked: "Receives links from", other: node - first, as: "As a sender" };
}

/** Show a node; returns its position, or null if the file does not hold it. */
export async function nodeCard(node) {
  const data = await everything();
  const position = data.position(node);
  if (position < 0) {
    fill(byId("card"), h("p", { class: "note" }, "This node is not among those this file holds."));
    return null;
  }
  const links = Array.from(data.neighbours(position));
  links.sort((a, b) => data.degree[b] - data.degree[a] || a - b);
  const rest = links.length - MOST_NEIGHBOURS;
  const shares = data.memberships(position);
  const degree = data.degree[position];
  const held = links.length < degree ? `, ${number(links.length)} of them in this file` : "";
  const ghosts = ghostsOf(node);
  const role = roleOf(node);
  fill(
    byId("card"),
    h("h3", { id: "card-title" }, data.label(position)),
    h("p", { class: "note" }, `${role.what}${number(degree)} ${degree === 1 ? "link" : "links"}${held}`),
    h("h4", {}, `Share of its links, with ${percent(core.level)} interval`),
    shares.length
      ? h("ul", { class: "shares" }, shares.map(share))
      : h("p", { class: "note" }, "No membership is large enough to be listed."),
    h("h4", {}, role.linked),
    h(
      "p",
      { class: "buttons" },
      links.slice(0, MOST_NEIGHBOURS).map((p) => nodeButton(data.numberOf(p), data.label(p))),
      rest > 0 ? h("span", { class: "soft" }, `and ${number(rest)} more`) : null,
    ),
    ghosts.length ? h("h4", {}, "Most likely missing links") : null,
    ghosts.length
      ? h("p", { class: "buttons" }, ghosts.map(([other, chance]) =>
          h("span", { class: "pair" }, nodeButton(other, core.names[other]), h("span", { class: "soft" }, probability(chance)))))
      : null,
    h(
      "p",
      { class: "buttons" },
      h("button", { type: "button", class: "plain", id: "hold", onclick: () => holdNode(node, data.label(position)) }, "Compare with another node"),
      role.other === null || data.position(role.other) < 0 ? null : plainButton(role.as, () => choose.node(role.other)),
      plainButton("Close", () => choose.node(null), "Close the card"),
    ),
  );
  return position;
}

/** Hold a node: the next one that is chosen is shown beside it. */
function holdNode(node, label) {
  change({ held: node });
  const card = byId("card");
  card.prepend(
    h("p", { class: "held", role: "status" }, "Choose another node to compare with ", h("b", {}, short(label, 40)), ". ",
      plainButton("Stop comparing", () => { change({ held: null }); choose.node(node); })),
  );
  byId("search").focus({ preventScroll: true });
}

/** Show two nodes side by side: their shares in the same communities, and what they have in common. */
export async function pairCard(first, second) {
  const data = await everything();
  const ends = [first, second].map((node) => data.position(node));
  const shares = ends.map((p) => data.memberships(p));
  const communities = [...new Set(shares.flat().map((m) => m.community))];
  const mean = (side, k) => shares[side].find((m) => m.community === k);
  communities.sort((a, b) => (mean(0, b)?.mean ?? 0) + (mean(1, b)?.mean ?? 0) - (mean(0, a)?.mean ?? 0) - (mean(1, a)?.mean ?? 0));
  const own = new Set(data.neighbours(ends[0]));
  const common = Array.from(data.neighbours(ends[1])).filter((p) => own.has(p));
  common.sort((a, b) => data.degree[b] - data.degree[a]);
  const together = communities.reduce((sum, k) => sum + Math.min(mean(0, k)?.mean ?? 0, mean(1, k)?.mean ?? 0), 0);
  const linked = data.linked(ends[0], ends[1]);
  const ghost = core.ghosts.pairs.findIndex(([a, b]) => (a === first && b === second) || (a === second && b === first));
  const cell = (side, k) => {
    const m = mean(side, k);
    return h("td", {}, m ? [bar(m.mean, m.lower, m.upper, colourOf(k)), h("span", {}, h("b", {}, percent(m.mean)), " ", h("span", { class: "soft" }, interval(m.lower, m.upper)))] : h("span", { class: "soft" }, "none"));
  };
  fill(
    byId("card"),
    h("h3", { id: "card-title" }, "Two nodes side by side"),
    h(
      "table",
      { class: "pairs" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "hush" }, "Community")), ends.map((p, i) => h("th", { scope: "col" }, nodeButton([first, second][i], data.label(p)))))),
      h("tbody", {}, communities.map((k) => h("tr", {}, h("th", { scope: "row" }, communityChip(k)), cell(0, k), cell(1, k)))),
    ),
    h("p", { class: "note" },
      `${linked ? "They are linked." : "They are not linked."} ${percent(together)} of their shares are in the same communities. `,
      ghost >= 0 ? `A link between them is likely to be missing (probability ${probability(core.ghosts.probability[ghost])}). ` : "",
      common.length ? `${number(common.length)} common ${common.length === 1 ? "neighbour" : "neighbours"}: ` : "No common neighbour.",
    ),
    h("p", { class: "buttons" }, common.slice(0, MOST_NEIGHBOURS).map((p) => nodeButton(data.numberOf(p), data.label(p)))),
    h("p", { class: "buttons" }, plainButton("Stop comparing", () => { change({ held: null }); choose.node(second); })),
  );
  return ends;
}

export function communityCard(community) {
  const table = core.communities;
  const row = rowOf(community);
  if (row === undefined) {
    fill(byId("card"), h("h3", {}, `Community ${community}`), h("p", { class: "note" }, "It is not among those listed in this file."));
    return;
  }
  const [mean, lower, upper] = [table.strength[row], table.lower[row], table.upper[row]];
  const members = h("div", { class: "members" });
  fill(
    byId("card"),
    h("h3", {}, h("i", { class: "dot", style: { background: colourOf(community) } }), `Community ${community}`),
    h("p", { class: "note" }, nameOf(community)),
    h("h4", {}, `Strength, with ${percent(core.level)} interval`),
    h(
      "p",
      { class: "share lone" },
      bar(mean, lower, upper, colourOf(community)),
      h("b", {}, probability(mean)),
      h("span", { class: "soft" }, `${probability(lower)}–${probability(upper)}`),
    ),
    members,
    table.shared[row].length ? h("h4", {}, "Shares bridge nodes with") : null,
    table.shared[row].length
      ? h("p", { class: "buttons" }, table.shared[row].map(([k, n]) => sharedChip(k, n)))
      : null,
    h(
      "p",
      { class: "buttons" },
      core.kind === "map" ? plainButton("Draw its members", () => choose.members(community)) : null,
      plainButton("Show all communities", () => choose.community(null)),
    ),
  );
  memberList(members, community, () => chosen.threshold);
}
