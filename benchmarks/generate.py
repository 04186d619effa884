"""Time the generators: `python benchmarks/generate.py [--nodes N] [--degree D] [--communities K]`.

The target is 1 million nodes with 10 million links in under 60 seconds on two cores, compilation included.
"""

from __future__ import annotations

import argparse
import resource
import time

from blockmix.generators.planted import planted
from blockmix.generators.simulate import simulate


def report(name: str, make, repeats: int) -> None:
    """Print the first call (with compilation) and the fastest of the calls."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        made = make()
        seconds.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name}: {made.graph.n_nodes:,} nodes, {made.graph.n_edges:,} links, {made.memberships.nnz:,} "
        f"memberships; first {seconds[0]:.1f} s, best of {repeats} {min(seconds):.1f} s; peak {peak:.1f} GiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--communities", type=int, default=10_000)
    parser.add_argument("--degree", type=float, default=20.0)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    size = (options.nodes, options.communities)
    report("simulate", lambda: simulate(*size, degree=options.degree, seed=1), options.repeats)
    report("planted", lambda: planted(*size, degree=options.degree, seed=1), options.repeats)


if __name__ == "__main__":
    main()
