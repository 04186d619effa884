// Light, dark, or what the system says; remembered where the browser allows it.
import { byId, cssVariable } from "./dom.js";

const ORDER = ["auto", "light", "dark"];
const KEY = "blockmix-theme";
const listeners = [];

function remembered() {
  try {
    const value = localStorage.getItem(KEY);
    return ORDER.includes(value) ? value : "auto";
  } catch {
    return "auto";
  }
}

function apply(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
  for (const listener of listeners) listener();
}

/** The colours that canvases need, as they are now. */
export function readInk() {
  return {
    ink: cssVariable("--ink"),
    soft: cssVariable("--soft"),
    paper: cssVariable("--panel"),
    line: cssVariable("--line"),
    faint: cssVariable("--faint"),
    rule: cssVariable("--rule"),
    accent: cssVariable("--accent"),
    shade: cssVariable("--shade"),
  };
}

export function onTheme(listener) {
  listeners.push(listener);
}

export function startTheme() {
  apply(remembered());
  byId("theme").addEventListener("click", () => {
    const next = ORDER[(ORDER.indexOf(document.documentElement.dataset.theme) + 1) % ORDER.length];
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Some browsers keep nothing for files on disk: the choice then lasts as long as the page.
    }
    apply(next);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(document.documentElement.dataset.theme));
}
