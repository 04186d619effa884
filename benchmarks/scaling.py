"""Time and memory against nodes and against communities, with fitted exponents.

    python benchmarks/scaling.py [--largest 1000000] [--json FILE] [--plot FILE]

Networks are generated (average degree 20, nodes in 1 to 3 communities). Every point is a process of its own, so
that peak memory is that of one fit: start, a few sweeps and the summaries. Exponents are slopes of least squares in
logarithms: time a sweep against links, and against K at a fixed network.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

import numpy as np

NODES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
COMMUNITIES = (100, 1_000, 10_000, 100_000)
# Links below this are done before the second thread is awake: they say nothing about growth.
SMALLEST_IN_FIT = 10_000
SWEEPS = 8


def point(nodes: int, planted: int, allowed: int) -> dict[str, float]:
    """One fit in this process: seconds a sweep, of the start, and peak memory."""
    import time

    import blockmix as bm
    from blockmix.inference.result import peak_memory_bytes

    warm = bm.planted(200, 4, seed=1).graph
    bm.fit(warm, 4, model="assortative", sweeps=3, warm_up=1, chains=1, progress=False)
    graph = bm.planted(nodes, planted, degree=20, seed=1).graph
    before = peak_memory_bytes() or 0
    stamps: list[float] = []
    began = time.perf_counter()
    post = bm.fit(
        graph, allowed, model="assortative", sweeps=SWEEPS, warm_up=SWEEPS // 2, chains=1, seed=1, progress=False,
        callback=lambda report: stamps.append(report.seconds),
    )  # fmt: skip
    total = time.perf_counter() - began
    return {
        "nodes": nodes,
        "links": graph.n_edges,
        "communities": allowed,
        "seconds_a_sweep": (post.provenance["seconds"] - stamps[0]) / (SWEEPS - 1),
        "seconds_in_all": total,
        "peak_bytes": float(peak_memory_bytes() or 0),
        "peak_before_bytes": float(before),
    }


def measure(nodes: int, planted: int, allowed: int) -> dict[str, float]:
    """The same in a new process."""
    done = subprocess.run(
        [sys.executable, __file__, "--point", str(nodes), str(planted), str(allowed)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def exponent(x: list[float], y: list[float]) -> float:
    """Slope in logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def show(title: str, rows: list[dict[str, float]]) -> None:
    print(f"\n{title}\n{'nodes':>10} {'links':>12} {'K':>8} {'s/sweep':>10} {'in all s':>9} {'peak MB':>9}")
    for row in rows:
        print(
            f"{row['nodes']:>10,.0f} {row['links']:>12,.0f} {row['communities']:>8,.0f} "
            f"{row['seconds_a_sweep']:>10.4f} {row['seconds_in_all']:>9.2f} {row['peak_bytes'] / 1e6:>9.0f}"
        )


def plot(by_nodes: list[dict[str, float]], by_k: list[dict[str, float]], path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained", dpi=130)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, rows, x, label in (
        (panels[0], by_nodes, "links", "links"), (panels[1], by_k, "communities", "communities allowed, K")
    ):  # fmt: skip
        at = [row[x] for row in rows]
        axes.loglog(
            at, [row["seconds_a_sweep"] for row in rows], "o-", color="#0072B2", label="seconds a sweep"
        )
        axes.loglog(
            at, [row["peak_bytes"] / 1e9 for row in rows], "s--", color="#D55E00", label="peak memory, GB"
        )
        axes.set(xlabel=label)
        axes.grid(True, alpha=0.3)
        axes.legend(frameon=False)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=NODES[-1], help="largest number of nodes")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--plot", help="draw both curves to this picture")
    parser.add_argument("--point", nargs=3, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        print(json.dumps(point(*options.point)))
        return
    by_nodes = [measure(n, max(n // 50, 2), max(n // 50, 2)) for n in NODES if n <= options.largest]
    base = min(100_000, options.largest)
    by_k = [measure(base, 1_000, k) for k in COMMUNITIES]
    show("against nodes, K = N/50", by_nodes)
    show("against K", by_k)
    large = [row for row in by_nodes if row["links"] >= SMALLEST_IN_FIT]
    exponents = {
        "links": exponent([r["links"] for r in large], [r["seconds_a_sweep"] for r in large]),
        "communities": exponent([r["communities"] for r in by_k], [r["seconds_a_sweep"] for r in by_k]),
    }
    print(f"\nexponents of the time a sweep: {exponents['links']:.3f} in links (limit 1.05), "
          f"{exponents['communities']:.3f} in K (limit 0.1)")  # fmt: skip
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"by_nodes": by_nodes, "by_communities": by_k, "exponents": exponents}, file, indent=2)
    if options.plot:
        plot(by_nodes, by_k, options.plot)


if __name__ == "__main__":
    main()
