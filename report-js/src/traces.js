// Traces of the run, by sweep or by time, one small plot for each quantity.
import uPlot from "uplot";
import { core } from "./data.js";
import { byId, fill, h, number } from "./dom.js";
import { onPrint } from "./printing.js";
import { ON_PAPER, onTheme, readInk } from "./theme.js";

const HEIGHT = 190;
const plots = [];
let ink = null;

const colours = () => (ink ??= readInk());

function shadeWarmUp(plot, end) {
  const { ctx, bbox } = plot;
  const right = Math.min(plot.valToPos(end, "x", true), bbox.left + bbox.width);
  if (!(right > bbox.left)) return;
  ctx.save();
  ctx.fillStyle = colours().shade;
  ctx.fillRect(bbox.left, bbox.top, right - bbox.left, bbox.height);
  ctx.restore();
}

function axis(side) {
  return {
    stroke: () => colours().soft,
    font: "11px system-ui, sans-serif",
    grid: { stroke: () => colours().rule, width: 1 },
    ticks: { show: false },
    size: side === 3 ? 58 : 26,
    side,
    values: side === 3 ? (_, ticks) => ticks.map((t) => (t === null ? "" : String(Number(t.toPrecision(4))))) : undefined,
  };
}

function draw(place, plot, byTime) {
  const { trace } = core;
  const x = byTime ? trace.seconds : trace.sweep;
  const last = trace.sweep.filter((sweep) => sweep <= trace.warm_up).length - 1;
  const end = last >= 0 ? x[last] : -Infinity;
  const lone = plot.lines.length === 1;
  const options = {
    width: place.clientWidth,
    height: HEIGHT,
    scales: { x: { time: false } },
    legend: { show: false },
    cursor: { y: false, points: { size: 5 } },
    axes: [axis(2), axis(3)],
    series: [
      {},
      ...plot.lines.map((_, i) => ({
        stroke: lone ? () => colours().accent : core.palette[i % core.palette.length],
        width: lone ? 2 : 1.1,
        points: { show: x.length < 3 },
      })),
    ],
    hooks: { drawClear: [(u) => shadeWarmUp(u, end)], setCursor: [(u) => readOut(place, plot, u)] },
  };
  fill(place);
  const made = new uPlot(options, [x, ...plot.lines], place);
  plots.push({ place, made });
}

/** The values under the cursor, in words below the plot. */
function readOut(place, plot, made) {
  const note = place.nextElementSibling;
  const at = made.cursor.idx;
  if (at === null || at === undefined) {
    note.textContent = plot.meaning;
    return;
  }
  const values = plot.lines.map((line) => line[at]).filter((v) => v !== null);
  note.textContent = `Sweep ${number(core.trace.sweep[at])}, ${core.trace.seconds[at].toPrecision(3)} s: ${values.map((v) => v.toPrecision(4)).join(", ")}`;
}

function drawAll(byTime) {
  for (const { made } of plots) made.destroy();
  plots.length = 0;
  core.trace.plots.forEach((plot, i) => draw(byId(`trace-${i}`), plot, byTime));
}

function toggle() {
  const buttons = ["By sweep", "By time"].map((text, i) =>
    h("button", { type: "button", "aria-pressed": String(i === 0) }, text),
  );
  buttons.forEach((button, i) =>
    button.addEventListener("click", () => {
      buttons.forEach((b, j) => b.setAttribute("aria-pressed", String(i === j)));
      drawAll(i === 1);
    }),
  );
  return h("div", { class: "views", role: "group", "aria-label": "Horizontal axis" }, buttons);
}

function layOut(place) {
  const { trace } = core;
  const figures = trace.plots.map((plot, i) =>
    h(
      "figure",
      {},
      h("h3", {}, plot.title),
      h("div", { id: `trace-${i}`, class: "trace" }),
      h("figcaption", { class: "note" }, plot.meaning),
    ),
  );
  fill(place, toggle(), h("div", { class: "grid" }, figures));
}

export function startTraces() {
  const place = byId("traces");
  if (!core.trace?.plots.length) {
    fill(place, h("p", { class: "note" }, "This result has no trace."));
    return;
  }
  layOut(place);
  // Plots are drawn when they are about to be seen: a page opens at its top.
  const seen = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      drawAll(false);
      new ResizeObserver(() => {
        for (const { place: at, made } of plots) made.setSize({ width: at.clientWidth, height: HEIGHT });
      }).observe(place);
    },
    { rootMargin: "300px" },
  );
  seen.observe(place);
  const paint = (colours) => {
    ink = colours;
    for (const { made } of plots) made.redraw();
  };
  onPrint(
    () => {
      // Plots that are just being made take the colours by themselves, and must not be drawn again before they are.
      paint(ON_PAPER);
      if (!plots.length) drawAll(false);
    },
    () => paint(null),
  );
  onTheme(() => paint(null));
}
