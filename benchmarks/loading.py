"""Measure what it costs to check a result when it is loaded, array by array.

    python benchmarks/loading.py --nodes 300000 --degree 20 [--result FOLDER]

A result is made and saved once, or is there already. Then it is loaded many times, in turn: as it is; without the
checks of its content (ranges, order, finiteness); and without the checksums as well, which leaves opening and mapping
the files. The share of the checks is given in processor time of all threads and in elapsed time, from the medians of
all loads, from the smallest of each kind, and as the median of the shares of neighbouring loads: on a machine that does
other work they differ. The files are in the memory of the operating system; from a disk reading takes longer and the
shares are smaller. The last lines are the processor time of each check within a load, by the type and the size of its
array.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import blockmix as bm
from blockmix import stored

CHECKS = (
    "check_range",
    "check_finite",
    "check_offsets",
    "check_samples",
    "check_posterior",
    "_check_texts",
)


@contextmanager
def replaced(functions: dict[str, Callable[..., Any]]) -> Iterator[None]:
    """Replace functions by name, wherever blockmix imported them to."""
    before = []
    for module in [module for name, module in sys.modules.items() if name.startswith("blockmix")]:
        for name, function in functions.items():
            if name in vars(module):
                before.append((module, name, vars(module)[name]))
                setattr(module, name, function)
    try:
        yield
    finally:
        for module, name, function in before:
            setattr(module, name, function)


def make_result(folder: Path, nodes: int, degree: int) -> None:
    """Fit a planted network for a few sweeps and save the result."""
    communities = max(nodes // 500, 4)
    graph = bm.planted(nodes, communities, degree=degree, seed=1).graph
    edges = graph.edges()
    graph = (
        bm.Graph.from_edges(np.char.add("node ", edges.astype(str)).tolist()) if nodes <= 20_000 else graph
    )
    # As many samples as a longer run keeps of 300,000 nodes.
    bm.fit(graph, communities, model="assortative", sweeps=26, warm_up=2, chains=1, seed=1).save(folder)


def seconds(variants: list[dict[str, Callable[..., Any]]], load: Callable[[], Any], repeats: int) -> Any:
    """Return processor and elapsed times (2, variants, repeats) of loading with functions replaced, in turn."""
    times = np.zeros((2, len(variants), repeats))
    for r in range(repeats):
        for i in np.roll(np.arange(len(variants)), r):
            with replaced(variants[i]):
                began = time.process_time(), time.perf_counter()
                load()
                times[:, i, r] = time.process_time() - began[0], time.perf_counter() - began[1]
    return times


def check_times(load: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Return the smallest processor time of each check of entries, by the type and the size of its array."""
    best: dict[str, float] = defaultdict(lambda: np.inf)
    now: dict[str, float] = defaultdict(float)
    check_parts = stored._check_parts

    def timed(array: Any, check: Any, sums: Any) -> None:
        what = f"{check.__qualname__.split('.')[0]}, {array.dtype}, {array.nbytes / 1e6:.1f} MB"

        def timed_check(begin: int, part: Any) -> None:
            started = time.thread_time()
            check(begin, part)
            now[what] += time.thread_time() - started

        check_parts(array, timed_check, sums)

    with replaced({"_check_parts": timed}):
        for _ in range(repeats):
            now.clear()
            load()
            for what, taken in now.items():
                best[what] = min(best[what], taken)
    return best


def main() -> None:
    """Print the times and shares."""
    options = argparse.ArgumentParser()
    options.add_argument("--nodes", type=int, default=300_000)
    options.add_argument("--degree", type=int, default=20)
    options.add_argument("--repeats", type=int, default=40)
    options.add_argument("--result", type=Path, help="a result that is there already")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = chosen.result or Path(name) / "result"
        if chosen.result is None:
            make_result(folder, chosen.nodes, chosen.degree)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

        def load() -> None:
            bm.load(folder)

        load()
        nothing = {name: lambda *_, **__: None for name in CHECKS}
        no_sums = nothing | {"_run": lambda _: ("", None), "_compare": lambda *_: None}
        print(f"{bm.load(folder).graph.n_nodes:,} nodes, {size / 1e6:,.1f} MB")
        for kind, times in zip(
            ("processor", "elapsed"), seconds([{}, nothing, no_sums], load, chosen.repeats), strict=True
        ):
            whole, unchecked, bare = np.median(times, axis=1)
            print(
                f"{kind} time of a load {1e3 * whole:.1f} ms: checks {1 - unchecked / whole:.1%} (smallest "
                f"{1 - times[1].min() / times[0].min():.1%}, pairs {np.median(1 - times[1] / times[0]):.1%}), "
                f"checksums {(unchecked - bare) / whole:.1%}, the rest {bare / whole:.1%}"
            )
        for what, cost in sorted(check_times(load, chosen.repeats).items(), key=lambda item: -item[1])[:12]:
            print(f"  {1e3 * cost:8.3f} ms  {what}")


if __name__ == "__main__":
    main()
