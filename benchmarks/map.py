"""How large the report of a large network is, how fast it opens, and how many frames a second its map draws.

    python benchmarks/map.py [--nodes 1000000] [--communities 1000] [--degree 20] [--repeats 3] [--keep FILE]
    python benchmarks/map.py --open FILE                            # a report that was kept

The posterior is made without a fit: a network with planted communities of very different sizes, one node in five in two
communities, doubt that grows as links get fewer. Needs selenium and Debian's chromium and chromium-driver, or a Chrome
that selenium finds. WebGL is computed by the processor there (SwiftShader): a graphics card is far faster.

A page is open when its map is seen; before that the still picture is, at the first contentful paint. The map then gains
nodes in every frame until all are drawn. Frames are counted for two seconds while the map glides between all and one
part; while it moves it draws as many nodes as frames have time for. What the page's own scripts take of a frame is
what decides about 60 frames a second where a graphics card draws: they must stay below 16 ms.
The processor time of the browser's processes is what matters on a busy machine: that of the page (its scripts) and
that of the graphics, which a graphics card does not need.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from report import browser

import blockmix as bm
from blockmix.posterior.posterior import Posterior


def made_posterior(nodes: int, communities: int, degree: int, seed: int = 0) -> Posterior:
    """Make a posterior of a planted network: communities with a power law of sizes, a fifth of the nodes in two."""
    rng = np.random.default_rng(seed)
    weight = 1.0 / np.arange(1, communities + 1) ** 0.6
    first = rng.choice(communities, nodes, p=weight / weight.sum())
    # A second community is near the first: most overlap is local.
    second = (first + rng.integers(1, 6, nodes)) % communities
    mixed = rng.random(nodes) < 0.2
    share = np.where(mixed, rng.uniform(0.5, 0.8, nodes), rng.uniform(0.9, 0.99, nodes))
    graph = bm.Graph.from_edges(_links(first, second, mixed, communities, degree, rng))
    counts = 1 + mixed.astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    community, mean = np.empty(offsets[-1], dtype=np.int32), np.empty(offsets[-1], dtype=np.float32)
    community[offsets[:-1]], mean[offsets[:-1]] = first, share
    community[offsets[:-1][mixed] + 1], mean[offsets[:-1][mixed] + 1] = second[mixed], 0.98 - share[mixed]
    nodes_in = np.bincount(first, minlength=communities)
    links = np.maximum(graph.degrees, 1)[np.repeat(np.arange(nodes), counts)]
    sd = np.sqrt(mean * (1 - mean) / (links + 1.0)).astype(np.float32)
    strength = np.minimum(0.8 * degree / np.maximum(nodes_in, 1), 0.9)
    return Posterior(
        graph=graph, offsets=offsets, community=community, mean=mean, sd=sd,
        sizes=np.bincount(community, mean, communities), strength_mean=strength,
        strength_sd=0.05 * strength, background_mean=1e-6, background_sd=1e-7,
        numbers=np.arange(communities)[None], draws=((),), trace={}, held_out=None,
        provenance={"seed": seed, "samples": 1000, "graph_fingerprint": graph.fingerprint},
    )  # fmt: skip


def _links(first, second, mixed, communities, degree, rng):
    """Draw links: nine in ten inside a community, the others anywhere, and one ring so that no node is alone."""
    nodes = len(first)
    order = np.argsort(first, kind="stable")
    begin = np.searchsorted(first[order], np.arange(communities + 1))
    a = rng.integers(0, nodes, nodes * (degree - 2) // 2)
    at = np.where(mixed[a] & (rng.random(len(a)) < 0.35), second[a], first[a])
    b = order[
        begin[at] + (rng.random(len(a)) * np.maximum(begin[at + 1] - begin[at], 1)).astype(np.int64) % nodes
    ]
    stray = rng.random(len(a)) < 0.1
    b[stray] = rng.integers(0, nodes, int(stray.sum()))
    ring = np.column_stack([np.arange(nodes), np.roll(np.arange(nodes), 1)])
    pairs = np.concatenate([np.column_stack([a, b]), ring])
    return pairs[pairs[:, 0] != pairs[:, 1]]


FRAMES = """
const [done] = arguments;
const zoom = document.getElementById('zoom-in'), out = document.getElementById('zoom-fit');
const { frame } = blockmixMap, scripts = [];
blockmixMap.frame = (now) => {
  const start = performance.now();
  frame.call(blockmixMap, now);
  scripts.push(performance.now() - start);
};
let frames = 0, worst = 0, last = performance.now();
const began = last;
for (let i = 0; i < 3; i++) zoom.click();
const back = setTimeout(() => out.click(), 1000);
const tick = (now) => {
  frames++; worst = Math.max(worst, now - last); last = now;
  if (now - began < 2000) requestAnimationFrame(tick);
  else {
    blockmixMap.frame = frame;
    scripts.sort((a, b) => a - b);
    done([frames / ((now - began) / 1000), worst, scripts[scripts.length >> 1] ?? 0]);
  }
};
requestAnimationFrame(tick);
"""


FIRST_PAINT = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"


def processor_seconds(page) -> dict[str, float]:
    """Return the processor time that the browser's pages and graphics have taken (Linux)."""
    spent = {"page": 0.0, "graphics": 0.0}
    waiting = [page.service.process.pid]
    while waiting:
        process = waiting.pop()
        try:
            for task in os.listdir(f"/proc/{process}/task"):
                waiting += map(int, Path(f"/proc/{process}/task/{task}/children").read_text().split())
            command = Path(f"/proc/{process}/cmdline").read_text()
            times = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        except OSError:
            continue
        kind = "graphics" if "--type=gpu" in command else "page" if "--type=renderer" in command else None
        if kind:
            spent[kind] += sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    return spent


def wait(page, script, seconds=120.0):
    end = time.perf_counter() + seconds
    while not (answer := page.execute_script(f"return {script}")):
        if time.perf_counter() > end:
            raise SystemExit(f"not within {seconds} s: {script}")
        time.sleep(0.01)
    return answer


def _cost(before: dict[str, float], after: dict[str, float], scale: float, unit: str) -> str:
    return (
        ", ".join(f"{kind} {(after[kind] - before[kind]) * scale:.2g} {unit}" for kind in before)
        + " of processor time"
    )


def written(options: argparse.Namespace, folder: str) -> Path:
    """Make the network and write its report."""
    post = made_posterior(options.nodes, options.communities, options.degree)
    print(f"{post.graph.n_nodes:,} nodes, {post.graph.n_edges:,} links, {options.communities:,} communities")
    began = time.perf_counter()
    path = post.report(options.keep or Path(folder, "report.html"), title="A generated network")
    print(f"written in {time.perf_counter() - began:.1f} s, {path.stat().st_size / 1e6:.2f} MB")
    return Path(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--communities", type=int, default=1_000)
    parser.add_argument("--degree", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="write the report here and keep it")
    parser.add_argument("--open", type=Path, help="measure this report, kept before, and make none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.open or written(options, folder)
        page = browser()
        try:
            page.set_script_timeout(120)
            for _ in range(options.repeats):
                page.get("about:blank")
                before, began = processor_seconds(page), time.perf_counter()
                page.get(path.resolve().as_uri())
                how = wait(page, "document.documentElement.dataset.drawn")
                opened, spent = time.perf_counter() - began, processor_seconds(page)
                wait(page, "document.documentElement.dataset.complete")
                complete = time.perf_counter() - began
                still = page.execute_script(FIRST_PAINT) / 1000
                cost = _cost(before, spent, 1, "s")
                print(f"still picture seen after {still:.2f} s, {how} map after {opened:.2f} s ({cost}), all nodes, "
                      f"labels and links after {complete:.2f} s")  # fmt: skip
                before = processor_seconds(page)
                frames, worst, scripts = page.execute_async_script(FRAMES)
                print(f"{frames:.0f} frames a second while moving, the slowest {worst:.0f} ms; scripts take "
                      f"{scripts:.1f} ms of a frame (median), which costs "
                      f"{_cost(before, processor_seconds(page), 1000 / (2 * frames), 'ms')}")  # fmt: skip
        finally:
            page.quit()


if __name__ == "__main__":
    main()
