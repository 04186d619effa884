"""Peak memory and time per iteration of `sgmc` and `sgmc-m` over the number of communities.

    python benchmarks/memory.py --network ca-HepPh --communities 30 1000 --json memory.json

Every row is a process of its own on one thread: it reads the network, compiles, notes its peak memory, then starts a
chain, makes some sweeps and reads memberships and predictions from it. "rows" is by how much the peak rose over the
note, "peak" the peak itself with Python, numba and the network in it. Microseconds an iteration are those of the
fastest sweep. The network comes from the folder named by BLOCKMIX_DATA or is downloaded.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

# What has to hold at the largest K: memory of `sgmc-m` over that of `sgmc`, and its time over that at the smallest K.
MOST_MEMORY, MOST_TIME = 0.4, 2.5
SHOWN = "{sampler:8} {communities:6d} {peak:9.1f} {rows:9.1f} {microseconds:12.0f} {memory_ratio:8.4f}"


def peak_mib() -> float:
    """Peak resident memory of this process in MiB (Linux counts kibibytes, macOS bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def measure(network: str, sampler: str, communities: int, sweeps: int) -> dict[str, float | str]:
    """One row of the table, measured in this process."""
    import numpy as np

    from blockmix.graph.datasets.load import load_dataset
    from blockmix.graph.split import hold_out
    from blockmix.model import Model
    from blockmix.numerics.workers import Workers
    from blockmix.samplers import sampler_class

    data = hold_out(load_dataset(network), 0.05, seed=1)
    kind = sampler_class(sampler)
    with Workers(1) as workers:
        bound = kind(data, Model(communities), kind.Options(), workers)
        bound.compile()
        before, fastest, ratio = peak_mib(), float("inf"), 1.0
        state, predicted = bound.init((1, 2)), np.zeros(data.n_pairs)
        for sweep in range(sweeps):
            begin = time.perf_counter()
            info = bound.step(state, (1, 2), sweep < sweeps // 2)
            fastest = min(fastest, (time.perf_counter() - begin) / info.iterations)
            bound.predict(state, data.pairs, 0.5, 0.5, predicted)
            ratio = info.measures.get("memory_ratio", 1.0)
        bound.memberships(state)
    return {
        "sampler": sampler, "communities": communities, "peak": peak_mib(), "rows": peak_mib() - before,
        "microseconds": fastest * 1e6, "memory_ratio": ratio,
    }  # fmt: skip


def in_own_process(network: str, sampler: str, communities: int, sweeps: int) -> dict[str, float | str]:
    """The same in a process of its own, whose peak is nobody else's."""
    command = [sys.executable, __file__, "--one", sampler, "--network", network, "--sweeps", str(sweeps)]
    done = subprocess.run(
        [*command, "--communities", str(communities)], capture_output=True, text=True, check=True
    )
    row: dict[str, float | str] = json.loads(done.stdout.splitlines()[-1])
    return row


def ratios(rows: list[dict[str, float | str]], least: int, most: int) -> dict[str, float]:
    """What has to hold, from the rows."""
    at = {(row["sampler"], row["communities"]): row for row in rows}
    small, large, full = at["sgmc-m", least], at["sgmc-m", most], at["sgmc", most]
    return {
        "rows": float(large["rows"]) / float(full["rows"]),
        "peak": float(large["peak"]) / float(full["peak"]),
        "time": float(large["microseconds"]) / float(small["microseconds"]),
        "time of sgmc": float(full["microseconds"]) / float(at["sgmc", least]["microseconds"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--network", default="ca-HepPh")
    parser.add_argument("--communities", type=int, nargs="+", default=[30, 100, 300, 1000])
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.network, args.one, args.communities[0], args.sweeps)))
        return
    print(f"{'sampler':8} {'K':>6} {'peak MiB':>9} {'rows MiB':>9} {'us/iteration':>12} {'stored':>8}")
    rows = []
    for sampler in ("sgmc", "sgmc-m"):
        for communities in args.communities:
            rows.append(in_own_process(args.network, sampler, communities, args.sweeps))
            print(SHOWN.format(**rows[-1]), flush=True)
    least, most = min(args.communities), max(args.communities)
    found = ratios(rows, least, most)
    print(f"memory of rows, sgmc-m over sgmc at K={most}: {found['rows']:.3f} (at most {MOST_MEMORY})")
    print(f"peak of the process, the same: {found['peak']:.3f}")
    print(f"time of sgmc-m, K={most} over K={least}: {found['time']:.2f} (at most {MOST_TIME});", end=" ")
    print(f"of sgmc: {found['time of sgmc']:.1f}")
    if args.json:
        args.json.write_text(
            json.dumps({"network": args.network, "rows": rows, "ratios": found}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
