"""Measure what it costs to check a result when it is loaded, array by array.

    python benchmarks/loading.py --nodes 300000 --degree 20

A result is made and saved once. Then it is loaded many times, in turn: as it is; without the checks of its content
(ranges, order, finiteness); and without the checksums as well, which leaves opening and mapping the files. The cost of
a check is its share of a load with everything: in processor time of all threads, the smallest of all repetitions, and
in elapsed time, where checksums are computed on other threads at the same time. The files are in the memory of the
operating system; from a disk reading takes longer and the shares are smaller.
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
from blockmix.posterior import checks
from blockmix.tables import samples

CHECKS = (
    "check_range",
    "check_finite",
    "check_offsets",
    "check_rows",
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


def make_result(folder: Path, nodes: int, degree: int) -> int:
    """Fit a planted network for a few sweeps and save the result; return its bytes."""
    graph = bm.planted(nodes, max(nodes // 500, 2), degree=degree, seed=1).graph
    edges = graph.edges()
    graph = (
        bm.Graph.from_edges(np.char.add("node ", edges.astype(str)).tolist()) if nodes <= 20_000 else graph
    )
    # As many samples as a longer run keeps of 300,000 nodes.
    bm.fit(graph, max(nodes // 500, 2), sweeps=26, warm_up=2, chains=1, seed=1).save(folder)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def seconds(variants: list[dict[str, Callable[..., Any]]], load: Callable[[], Any], repeats: int) -> Any:
    """Return the smallest processor times and elapsed times of loading with functions replaced, in turn."""
    best = np.full((2, len(variants)), np.inf)
    for _ in range(repeats):
        for i, functions in enumerate(variants):
            with replaced(functions):
                began = time.process_time(), time.perf_counter()
                load()
                taken = time.process_time() - began[0], time.perf_counter() - began[1]
            best[:, i] = np.minimum(best[:, i], taken)
    return best


def array_times(load: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Return the smallest processor time of each check of each array."""
    best: dict[str, float] = defaultdict(lambda: np.inf)

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *arguments: Any, **options: Any) -> Any:
            began = time.thread_time()
            result = function(first, *arguments, **options)
            what = f"{name} {first}" if isinstance(first, str) else name
            best[what] = min(best[what], time.thread_time() - began)
            return result

        return call

    functions = {
        name: getattr(stored, name) for name in ("check_range", "check_finite", "check_offsets", "check_rows")
    }
    functions |= {"check_samples": samples.check_samples, "check_posterior": checks.check_posterior}
    with replaced({name: timed(name, function) for name, function in functions.items()}):
        for _ in range(repeats):
            load()
    return best


def main() -> None:
    """Print the times and shares."""
    options = argparse.ArgumentParser()
    options.add_argument("--nodes", type=int, default=300_000)
    options.add_argument("--degree", type=int, default=20)
    options.add_argument("--repeats", type=int, default=15)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "result"
        size = make_result(folder, chosen.nodes, chosen.degree)

        def load() -> None:
            bm.load(folder)

        load()
        nothing = {name: lambda *_, **__: None for name in CHECKS}
        no_sums = nothing | {"_digest_of": lambda *_: "", "_compare": lambda *_: None}
        print(f"{chosen.nodes:,} nodes, {size / 1e6:,.1f} MB")
        for kind, (whole, unchecked, bare) in zip(
            ("processor", "elapsed"), seconds([{}, nothing, no_sums], load, chosen.repeats), strict=True
        ):
            print(
                f"{kind} time of a load {1e3 * whole:.1f} ms: checks {(whole - unchecked) / whole:.1%}, ",
                end="",
            )
            print(f"checksums {(unchecked - bare) / whole:.1%}, the rest {bare / whole:.1%}")
        for what, cost in sorted(array_times(load, chosen.repeats).items(), key=lambda item: -item[1])[:12]:
            print(f"  {1e3 * cost:8.3f} ms  {what}")


if __name__ == "__main__":
    main()
