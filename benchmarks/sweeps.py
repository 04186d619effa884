"""Time of a sweep against the number of communities, threads and network, and memory: one table, one JSON file.

    python benchmarks/sweeps.py --json sweeps.json

Each row is measured in a process of its own, after the kernels are compiled and the chain has taken a few sweeps.
Networks come from the folder named by BLOCKMIX_DATA or are downloaded. `bytes a node` is the growth of the
resident size from before the sampler is made to after the last sweep, posterior summaries included, over nodes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

CASES = [
    ("ca-CondMat", 100, 2), ("ca-CondMat", 1000, 2), ("ca-CondMat", 10_000, 2), ("ca-CondMat", 100_000, 2),
    ("com-DBLP", 5000, 1), ("com-DBLP", 5000, 2), ("com-DBLP", 10_000, 2),
]  # fmt: skip


def resident_bytes(field: str = "VmRSS") -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def measure(name: str, communities: int, threads: int, sweeps: int) -> dict[str, float]:
    import numpy as np

    from blockmix import Model, hold_out, load_dataset
    from blockmix.kernels.philox import stream_key
    from blockmix.kernels.workers import Workers
    from blockmix.posterior.chain import ChainSummary
    from blockmix.samplers.options import ScirOptions
    from blockmix.samplers.scir import Scir

    data = hold_out(load_dataset(name), 0.05, seed=1)
    nodes = data.training.n_nodes
    with Workers(threads) as workers:
        sampler = Scir(data, Model(communities), ScirOptions(), workers)
        sampler.compile()
        before = resident_bytes()
        key = tuple(int(word) for word in stream_key(np.uint64(1), 0))
        begin = time.perf_counter()
        state = sampler.init(key)
        start = time.perf_counter() - begin
        summary = ChainSummary.empty(nodes, communities, sampler.options.slots)
        times = []
        for sweep in range(sweeps):
            begin = time.perf_counter()
            sampler.step(state, key, sweep < sweeps // 2)
            times.append(time.perf_counter() - begin)
            if sweep >= sweeps // 2:
                summary.add(sweep, state.rows, state.strengths.value, workers)
    best = min(times[sweeps // 2 :])
    return {
        "seconds_a_sweep": best,
        "updates_a_second": nodes / best,
        "start_seconds": start,
        "bytes_a_node": (resident_bytes() - before) / nodes,
        "peak_bytes": resident_bytes("VmHWM"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sweeps", type=int, default=16)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        name, communities, threads = args.one[0], int(args.one[1]), int(args.one[2])
        print(json.dumps(measure(name, communities, threads, args.sweeps)))
        return
    rows = []
    print(
        f"{'network':12} {'K':>7} {'threads':>7} {'ms a sweep':>11} {'M updates/s':>12} {'start s':>8} {'peak MB':>8}"
    )
    for name, communities, threads in CASES:
        command = [
            sys.executable,
            __file__,
            "--sweeps",
            str(args.sweeps),
            "--one",
            name,
            str(communities),
            str(threads),
        ]
        row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        print(
            f"{name:12} {communities:7d} {threads:7d} {row['seconds_a_sweep'] * 1e3:11.1f} "
            f"{row['updates_a_second'] / 1e6:12.3f} {row['start_seconds']:8.2f} {row['peak_bytes'] / 1e6:8.0f}",
            flush=True,
        )
        rows.append({"network": name, "communities": communities, "threads": threads} | row)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
