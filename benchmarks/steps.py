"""Every step of a run on one large network, in sweeps: reading, splitting, the start, results, the report.

    python benchmarks/steps.py [--nodes 3000000] [--threads 2] [--json FILE]

The network has 30 links a node on average and communities of about 100 nodes, each node in 1 to 3 of them; it is
written to a temporary folder as an edge list first. "sweeps" is the processor time of a step over that of a sampling
sweep, predictions and summaries included; the last column is the same by the clock. No step may take longer than 100
sweeps by the clock, which is more where one thread makes a step and many make a sweep. Kernels are compiled before
anything is timed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import blockmix as bm
from blockmix.graph.split import HeldOut, hold_out
from blockmix.inference.result import peak_memory_bytes
from blockmix.inference.run_folder.results import write_results
from blockmix.model import Model
from blockmix.numerics.philox import stream_key
from blockmix.numerics.workers import Workers, default_threads
from blockmix.samplers.live import HostChain
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.sampler import Scir

DEGREE, MEMBERS, HELD_OUT, THRESHOLD = 30, 100, 0.01, 0.1
WARM_UP, SAMPLING = 6, 4
MOST_SWEEPS = 100
SWEEP = "a sampling sweep"

Found = TypeVar("Found")


class Clock:
    """Seconds of the clock and of the processor that steps take."""

    def __init__(self) -> None:
        self.steps: dict[str, tuple[float, float]] = {}
        self.marks: list[tuple[float, float]] = []

    def run(self, name: str, step: Callable[[], Found]) -> Found:
        """Run one step and note its seconds."""
        self.mark()
        found = step()
        self.mark()
        self.note(name, self.marks[-2], self.marks[-1])
        return found

    def mark(self) -> None:
        """Note the time that it is."""
        self.marks.append((time.perf_counter(), time.process_time()))

    def note(self, name: str, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Note a step between two marks."""
        self.steps[name] = end[0] - begin[0], end[1] - begin[1]
        print(f"{name}: {end[0] - begin[0]:.1f} s, processor {end[1] - begin[1]:.1f} s", flush=True)


def write_edges(graph: bm.Graph, file: Path) -> None:
    """Write the links as text, a part of the network at a time."""
    with file.open("w", encoding="ascii") as out:
        for begin in range(0, graph.n_nodes, 100_000):
            end = min(begin + 100_000, graph.n_nodes)
            row = graph.offsets[begin : end + 1]
            first = np.repeat(np.arange(begin, end), np.diff(row))
            second = graph.neighbors[row[0] : row[-1]]
            once = first < second
            out.writelines(
                f"{a}\t{b}\n" for a, b in zip(first[once].tolist(), second[once].tolist(), strict=True)
            )


def time_sweeps(clock: Clock, data: HeldOut, communities: int, workers: Workers) -> None:
    """Time a start, and the median of some sampling sweeps after warm-up."""
    low, high = stream_key(np.uint64(1), 0)
    key = int(low), int(high)
    sampler = Scir(data, Model(communities), ScirOptions(), workers)
    state = clock.run("start", lambda: sampler.init(key))
    chain = HostChain(sampler, state, key, data.scored_pairs)
    for sweep in range(WARM_UP):
        chain.advance(True, sweep + 1)
    sweeps = []
    for sweep in range(SAMPLING):
        clock.mark()
        chain.advance(False, sweep + 1)
        clock.mark()
        sweeps.append(np.subtract(clock.marks[-1], clock.marks[-2]))
    seconds, used = np.median(sweeps, axis=0)
    clock.steps[SWEEP] = float(seconds), float(used)


def whole_run(folder: Path, edges: Path, communities: int, threads: int) -> tuple[Clock, dict[str, Any]]:
    """Make a run from the file to the report; return the seconds of its steps, and its size."""
    clock = Clock()
    graph = clock.run("reading", lambda: bm.read_graph(edges, threads=threads))
    data = clock.run("splitting", lambda: hold_out(graph, HELD_OUT, seed=1))
    with Workers(threads) as workers:
        time_sweeps(clock, data, communities, workers)
    post = bm.fit(
        graph, communities, model="assortative", sweeps=3, warm_up=1, chains=1, seed=1, threads=threads,
        held_out=data, progress=False, callback=lambda _: clock.mark(),
    )  # fmt: skip
    clock.mark()
    clock.note("the result", clock.marks[-2], clock.marks[-1])
    size = {"nodes": graph.n_nodes, "links": graph.n_edges, "communities": communities, "threads": threads}
    clock.run("writing results", lambda: write_results(post, folder / "run", THRESHOLD))
    again = clock.run("loading results", lambda: bm.load(folder / "run"))
    clock.run("report", lambda: again.report(folder / "report.html"))
    return clock, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=3_000_000)
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, nodes in (("warm", 2_000), ("large", options.nodes)):
            (folder / name).mkdir()
            edges, k = folder / name / "edges.txt", max(nodes // MEMBERS, 2)
            write_edges(bm.planted(nodes, k, degree=DEGREE, seed=1).graph, edges)
            print(f"{name}: {nodes:,} nodes", flush=True)
            clock, size = whole_run(folder / name, edges, k, options.threads)
    sweep = clock.steps[SWEEP]
    print(f"\n{size}\n{'step':30} {'clock s':>9} {'processor s':>12} {'sweeps':>8} {'of the clock':>13}")
    for name, (seconds, used) in clock.steps.items():
        print(f"{name:30} {seconds:9.1f} {used:12.1f} {used / sweep[1]:8.1f} {seconds / sweep[0]:13.1f}")
    peak = peak_memory_bytes() or 0
    print(
        f"peak memory {peak / 1e9:.2f} GB, {peak / size['nodes']:.0f} bytes a node; a step may take {MOST_SWEEPS}"
    )
    if options.json:
        steps = {name: {"clock": a, "processor": b} for name, (a, b) in clock.steps.items()}
        Path(options.json).write_text(
            json.dumps(size | {"steps": steps, "peak_bytes": peak}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
