"""Time to compare two covers of a large network on one core.

    python benchmarks/covers.py [--nodes 1000000] [--communities 50000] [--size 40] [--repeat 3]

The truth is random; the found cover is the truth with a share of each community's members replaced, so that
communities have a match and also overlap many others by a node or two. A second case has a few huge
communities. The first call of omega compiles and is not counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from blockmix.evaluate import best_match_f1, omega, onmi, unique_communities


def planted(n_nodes: int, n_communities: int, size: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = rng.poisson(size, n_communities) + 1
    return np.split(rng.integers(0, n_nodes, sizes.sum()), np.cumsum(sizes)[:-1])


def disturbed(cover: list[np.ndarray], n_nodes: int, share: float, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.where(rng.random(len(c)) < share, rng.integers(0, n_nodes, len(c)), c) for c in cover]


def best_of(repeat: int, call: Callable[[], float]) -> tuple[float, float, float]:
    times, cpu_times = [], []
    for _ in range(repeat):
        start, cpu_start = time.perf_counter(), time.process_time()
        value = call()
        times.append(time.perf_counter() - start)
        cpu_times.append(time.process_time() - cpu_start)
    return min(times), min(cpu_times), value


def report(name: str, found: list[np.ndarray], truth: list[np.ndarray], n_nodes: int, repeat: int) -> None:
    memberships = sum(map(len, truth))
    print(f"{name}: {n_nodes:,} nodes, {len(truth):,} communities, {memberships:,} memberships a cover")
    calls: dict[str, Callable[[], float]] = {
        "unique_communities": lambda: len(unique_communities(truth)),
        "onmi (mgh)": lambda: onmi(found, truth, n_nodes),
        "onmi (lfk)": lambda: onmi(found, truth, n_nodes, "lfk"),
        "omega": lambda: omega(found, truth, n_nodes),
        "best_match_f1": lambda: best_match_f1(found, truth),
    }
    for label, call in calls.items():
        seconds, cpu, value = best_of(repeat, call)
        print(f"  {label:<20} {seconds:7.2f} s ({cpu:.2f} s of CPU)   value {value:.6g}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the comparison of two covers on one core.")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--communities", type=int, default=50_000)
    parser.add_argument("--size", type=int, default=40)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    omega([[0, 1]], [[0, 1]], 3)
    truth = planted(args.nodes, args.communities, args.size, seed=1)
    report("small communities", disturbed(truth, args.nodes, 0.3, seed=2), truth, args.nodes, args.repeat)
    huge = planted(args.nodes, 8, args.nodes // 5, seed=3)
    report("huge communities", huge[:6], huge[2:], args.nodes, args.repeat)


if __name__ == "__main__":
    main()
