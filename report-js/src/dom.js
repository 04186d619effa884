// Elements by construction. Text goes in as text nodes, so no label can become markup.

/** An element with properties (`class`, `on...` listeners, attributes) and children (elements or text). */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(element.style, value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Replace what is inside an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

export const byId = (id) => document.getElementById(id);

/** The value of a CSS variable of the page, for canvases. */
export function cssVariable(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export const percent = (share) =>
  share > 0 && share < 0.005 ? "<1%" : `${Math.round(100 * share)}%`;
export const interval = (low, high) => `${Math.round(100 * low)}–${Math.round(100 * high)}%`;
export const number = (value) => value.toLocaleString("en-US");
/** A probability: two digits where it is large, one significant digit where it is tiny. */
export const probability = (value) => (value >= 0.01 ? value.toFixed(2) : value.toPrecision(1));

/** A label cut to a readable length; the whole one stays in the title. */
export function short(label, length = 40) {
  return label.length <= length ? label : `${label.slice(0, length - 1)}…`;
}
