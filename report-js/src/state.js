// What the reader has chosen, and who wants to know: one place, so that list, card, table and picture agree.
import { core } from "./data.js";

/** The threshold of the slider, the community shown alone, the chosen node and one held beside it (node numbers). */
export const chosen = { threshold: core.threshold, community: null, node: null, held: null };

const listeners = [];

/** Be told after every change, with the names of what changed. */
export function onChange(listener) {
  listeners.push(listener);
}

export function change(values) {
  const names = Object.keys(values).filter((name) => chosen[name] !== values[name]);
  if (!names.length) return;
  Object.assign(chosen, values);
  for (const listener of listeners) listener(names);
}
