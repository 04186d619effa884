// All members of a community: a list to search in, and the same as CSV.
import { core, everything } from "./data.js";
import { fill, h, interval, number, percent } from "./dom.js";
import { nodeButton } from "./pieces.js";
import { csv, save } from "./saving.js";
import { onChange } from "./state.js";

const MOST = 100;
let current = null;

/** Fill a place with the members of a community at the threshold that the slider has. */
export async function memberList(place, community, threshold) {
  current = place;
  fill(place, h("p", { class: "note" }, "Opening the list…"));
  const data = await everything();
  if (current !== place) return;
  const field = h("input", { type: "search", placeholder: "Search in members", "aria-label": `Search in members of community ${community}`, spellcheck: "false" });
  const count = h("h4", { class: "count" });
  const list = h("ul", { class: "list", tabindex: "0", "aria-label": "Members" });
  const more = h("p", { class: "note" });
  let members = [];

  function row({ position, code }) {
    const { steps } = core.block;
    return h(
      "li",
      {},
      nodeButton(data.numberOf(position), data.label(position)),
      h("span", {}, h("b", {}, percent(data.mean[code] / steps)), " ", h("span", { class: "soft" }, interval(data.lower[code] / steps, data.upper[code] / steps))),
    );
  }

  function draw() {
    const text = field.value.trim().toLowerCase();
    const found = text ? members.filter((m) => data.label(m.position).toLowerCase().includes(text)) : members;
    fill(list, found.slice(0, MOST).map(row));
    const left = found.length - MOST;
    more.textContent = left > 0 ? `and ${number(left)} more: search, or take the CSV` : found.length ? "" : "No member has this in its label.";
  }

  function gather() {
    members = data.members(community, threshold());
    count.textContent = `${number(members.length)} ${members.length === 1 ? "member" : "members"} at ${percent(threshold())} or more`;
    draw();
  }

  function download() {
    const { steps } = core.block;
    const digits = (value) => String(value / steps);
    const rows = members.map(({ position, code }) => [data.label(position), community, digits(data.mean[code]), digits(data.lower[code]), digits(data.upper[code])]);
    save(`community-${community}.csv`, "text/csv;charset=utf-8", csv([["node", "community", "share", "lower", "upper"], ...rows]));
  }

  field.addEventListener("input", draw);
  fill(place, count, h("p", { class: "find" }, field, h("button", { type: "button", class: "quiet", onclick: download }, "CSV")), list, more);
  gather();
  place.gather = gather;
}

onChange((names) => {
  if (names.includes("threshold")) current?.gather?.();
});
