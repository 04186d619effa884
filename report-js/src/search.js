// Search by label: a text field with a list, as the ARIA practices describe a combobox.
import { everything } from "./data.js";
import { byId, fill, h, number, short } from "./dom.js";
import { choose } from "./pieces.js";

const MOST = 12;
const PAUSE = 70;

export function startSearch() {
  const input = byId("search");
  const list = byId("hits");
  let hits = [];
  let active = -1;
  let timer = 0;
  // The text that the list answers; Enter may come before the answer to what was typed last.
  let answered = "";

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  }

  function mark(index) {
    active = index;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === index)));
    if (index >= 0) {
      input.setAttribute("aria-activedescendant", `hit-${index}`);
      list.children[index].scrollIntoView({ block: "nearest" });
    }
  }

  async function enter() {
    clearTimeout(timer);
    if (list.hidden || input.value.trim() !== answered) await look();
    take(active);
  }

  function take(index) {
    const hit = hits[index];
    if (hit === undefined) return;
    input.value = hit.label;
    close();
    choose.node(hit.node);
  }

  async function look() {
    const text = input.value.trim();
    if (!text) return close();
    const data = await everything();
    if (input.value.trim() !== text) return undefined;
    hits = data.find(text, MOST).map((p) => ({ node: data.numberOf(p), label: data.label(p), degree: data.degree[p] }));
    const items = hits.map((hit, i) =>
      h(
        "li",
        { id: `hit-${i}`, role: "option", "aria-selected": "false", title: hit.label, onpointerdown: (e) => e.preventDefault(), onclick: () => take(i) },
        h("span", {}, short(hit.label, 60)),
        h("span", { class: "soft" }, `${number(hit.degree)} links`),
      ),
    );
    answered = text;
    fill(list, items.length ? items : h("li", { class: "soft", role: "option", "aria-disabled": "true" }, "No node has this in its label"));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    return mark(hits.length ? 0 : -1);
  }

  input.addEventListener("focus", () => void everything().catch(() => {}));
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) look();
      else if (hits.length) mark((active + (event.key === "ArrowDown" ? 1 : hits.length - 1)) % hits.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      enter();
    } else if (event.key === "Escape") close();
  });
}
