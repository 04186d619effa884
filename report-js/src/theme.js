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

/** The colours of canvases on paper, those of print in report.css: paper is light whatever the screen is. */
export const ON_PAPER = {
  ink: "#1d2530",
  soft: "#5c6673",
  paper: "#ffffff",
  line: "#7d8793",
  faint: "#e6e3dc",
  rule: "#e2ded5",
  accent: "#1f5f8b",
  shade: "#edeae2",
};

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
