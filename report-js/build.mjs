// Bundles the scripts of the report, with their licences, into the Python package: `npm ci && npm run build`.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const assets = join(here, "..", "src", "blockmix", "report", "assets");
// What ends up in the bundles, and the file that holds its licence.
const bundled = {
  uplot: "LICENSE",
};

const result = await build({
  entryPoints: [join(here, "src", "report.js")],
  outdir: assets,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2021",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  logLevel: "info",
});

const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const name = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1];
  if (name) packages.add(name);
}
for (const name of packages) {
  if (!(name in bundled)) throw new Error(`${name} is bundled, but build.mjs does not know its licence`);
}
for (const output of Object.keys(result.metafile.outputs)) {
  if (/<\/script/i.test(readFileSync(output, "utf8"))) throw new Error(`${output} would end its own element`);
}

const licences = Object.entries(bundled).map(([name, file]) => {
  const folder = join(here, "node_modules", name);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});
const rule = `\n${"-".repeat(72)}\n\n`;
writeFileSync(
  join(assets, "LICENCES.txt"),
  `Programs of others inside blockmix reports, each under the licence that follows it.\n${rule}${licences.join(rule)}`,
);
writeFileSync(
  join(assets, "uplot.css"),
  readFileSync(join(here, "node_modules", "uplot", "dist", "uPlot.min.css"), "utf8").trim() + "\n",
);

// A test compares this with the sources, so that nobody changes them without building.
const sources = ["build.mjs", "package-lock.json", ...readdirSync(join(here, "src")).sort().map((name) => `src/${name}`)];
const digest = createHash("sha256");
for (const name of sources) digest.update(`${name}\n`).update(readFileSync(join(here, name)));
writeFileSync(join(assets, "sources.sha256"), `${digest.digest("hex")}\n`);
