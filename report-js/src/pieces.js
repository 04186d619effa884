// Small pieces that several parts of the page show: a community's chip, a node's button, a share with its interval.
import { core, colourOf, nameOf } from "./data.js";
import { h, interval, number, percent, short } from "./dom.js";

/** Listeners of what the reader chooses; the network sets them. */
export const choose = { node: () => {}, community: () => {}, members: () => {} };

export function communityChip(community) {
  return h(
    "button",
    {
      type: "button",
      class: "chip",
      title: `Community ${community}: ${nameOf(community)}`,
      "aria-label": `Community ${community}`,
      "data-community": community,
      onclick: () => choose.community(community),
    },
    h("i", { style: { background: colourOf(community) } }),
    String(community),
  );
}

/** A community and how many bridge nodes it shares with the one that is shown. */
export function sharedChip(community, count) {
  return h("span", { class: "pair" }, communityChip(community), h("span", { class: "soft" }, `×${number(count)}`));
}

export function nodeButton(number, label) {
  return h(
    "button",
    { type: "button", class: "node", title: label, onclick: () => choose.node(number) },
    short(label, 34),
  );
}

/** A bar from 0 to 1: the mean as its length, the interval as a line over it. */
export function bar(mean, lower, upper, colour) {
  const at = (share) => `${(100 * share).toFixed(1)}%`;
  return h(
    "span",
    { class: "bar", "aria-hidden": "true" },
    h("i", { class: "mean", style: { width: at(mean), background: colour } }),
    h("i", { class: "span", style: { left: at(lower), width: at(Math.max(upper - lower, 0.004)) } }),
  );
}

/** One membership: which community, how much, how sure. */
export function share({ community, mean, lower, upper }) {
  return h(
    "li",
    { class: "share" },
    communityChip(community),
    bar(mean, lower, upper, colourOf(community)),
    h("b", {}, percent(mean)),
    h("span", { class: "soft", title: `${percent(core.level)} credible interval` }, interval(lower, upper)),
  );
}
