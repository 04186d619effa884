// Files that the reader keeps: the picture as PNG or SVG, members as CSV. Nothing leaves the browser.
import { core } from "./data.js";
import { h } from "./dom.js";
import { slices } from "./layers.js";

/** Offer text or a blob as a file. */
export function save(name, type, content) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Rows as CSV. A label that a spreadsheet would take for a formula gets an apostrophe in front. */
export function csv(rows) {
  const cell = (value) => {
    let text = String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text))) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

/** The picture and its names on one canvas, on paper. */
export function flattened(stage) {
  stage.paint();
  const { canvas } = stage.painter;
  const whole = h("canvas", { width: canvas.width, height: canvas.height });
  const context = whole.getContext("2d");
  context.fillStyle = stage.look().paper;
  context.fillRect(0, 0, whole.width, whole.height);
  context.drawImage(canvas, 0, 0);
  context.drawImage(stage.lettering.canvas, 0, 0);
  return whole;
}

export function savePng(stage) {
  flattened(stage).toBlob((blob) => save("network.png", "image/png", blob));
}

export const escaped = (text) =>
  text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd");

const short = (value) => value.toFixed(2);

function pie(x, y, r, shares) {
  const sum = shares.reduce((total, [, share]) => total + share, 0);
  const colour = (index) => core.palette[index] ?? core.rest;
  if (shares.length === 1) return `<circle cx="${short(x)}" cy="${short(y)}" r="${short(r)}" fill="${colour(shares[0][0])}"/>`;
  let before = 0;
  return shares
    .map(([index, share]) => {
      const after = before + share / sum;
      const [[x0, y0], [x1, y1]] = [before, after].map((t) => [x + r * Math.sin(2 * Math.PI * t), y - r * Math.cos(2 * Math.PI * t)]);
      const large = after - before > 0.5 ? 1 : 0;
      before = after;
      return `<path d="M${short(x)} ${short(y)}L${short(x0)} ${short(y0)}A${short(r)} ${short(r)} 0 ${large} 1 ${short(x1)} ${short(y1)}Z" fill="${colour(index)}"/>`;
    })
    .join("");
}

/** What is in sight as SVG: links, pie charts and names as shapes; the points of a distant map as an image. */
export function svgOf(stage) {
  stage.paint();
  const { scene, camera, lettering, painter, prepared, choice } = stage;
  const look = stage.look();
  const parts = [`<rect width="100%" height="100%" fill="${look.paper}"/>`];
  if (prepared.near) {
    parts.push(...lineShapes(stage));
    for (const row of prepared.near) {
      const [x, y] = camera.toScreen(scene.x[row], scene.y[row]);
      const r = Math.max(scene.radius[row] * camera.zoom, 1.2);
      if (x < -r || y < -r || x > camera.width + r || y > camera.height + r) continue;
      const position = scene.position(row);
      const faint = choice.near && !choice.near.has(position) && !choice.nodes.includes(position);
      const shape = pie(x, y, r, slices(scene.nodes, position, choice.threshold));
      parts.push(faint ? `<g opacity="0.12">${shape}</g>` : shape);
    }
  } else {
    parts.push(`<image width="${camera.width}" height="${camera.height}" href="${painter.canvas.toDataURL("image/png")}"/>`);
  }
  for (const { text, left, base, tall, weight } of lettering.placed) {
    parts.push(
      `<text x="${short(left)}" y="${short(base)}" font-size="${short(tall)}" font-weight="${weight}" fill="${look.ink}" ` +
        `stroke="${look.paper}" stroke-width="${short(0.28 * tall)}" paint-order="stroke" stroke-linejoin="round">${escaped(text)}</text>`,
    );
  }
  const size = `width="${camera.width}" height="${camera.height}" viewBox="0 0 ${camera.width} ${camera.height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="system-ui, sans-serif">${parts.join("\n")}</svg>\n`;
}

/** The lines that were drawn, from the same buffer. */
function lineShapes({ camera, drawnLines }) {
  const floats = new Float32Array(drawnLines.data);
  const parts = new Uint8Array(drawnLines.data);
  const shapes = [];
  for (let i = 0; i < drawnLines.count; i++) {
    const [x0, y0, x1, y1] = floats.subarray(6 * i, 6 * i + 4);
    const [r, g, b, opacity, width, dashed] = parts.subarray(24 * i + 16, 24 * i + 22);
    const [a, c] = [camera.toScreen(x0, y0), camera.toScreen(x1, y1)];
    shapes.push(
      `<line x1="${short(a[0])}" y1="${short(a[1])}" x2="${short(c[0])}" y2="${short(c[1])}" stroke="rgb(${r},${g},${b})" ` +
        `stroke-opacity="${short(opacity / 255)}" stroke-width="${short((16 * width) / 255)}"${dashed ? ' stroke-dasharray="5 4"' : ""}/>`,
    );
  }
  return shapes;
}

export function saveSvg(stage) {
  save("network.svg", "image/svg+xml", svgOf(stage));
}
