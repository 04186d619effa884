"""What a checkpoint costs: its size, and the seconds to write it and to read it back, in warm-up and with all draws.

python benchmarks/checkpoints.py EDGES -k 5000
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from blockmix import read_graph
from blockmix.graph.split import hold_out
from blockmix.inference.loop import Chain, Position, chain_key
from blockmix.inference.plan import Plan
from blockmix.inference.run_folder.checkpoint import position_facts, restore_chains, run_arrays
from blockmix.inference.run_folder.snapshots import read_snapshot, write_snapshot
from blockmix.inference.task import Task
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers import sampler_options
from blockmix.tables.summary import ChainSummary

REPEATS, SAMPLES = 5, 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edges", type=Path)
    parser.add_argument("-k", type=int, default=5000)
    asked = parser.parse_args()
    data = hold_out(read_graph(asked.edges), 0.02, seed=1)
    task = Task(Model(asked.k), "scir", sampler_options("scir", {}), 1, 1, False)
    with Workers() as workers, tempfile.TemporaryDirectory(dir=".") as folder:
        samplers = task.samplers(data, workers)
        key = chain_key(1, 0)
        sampler, state = samplers[0], samplers[0].init(key)
        summary = ChainSummary.empty(sampler.nodes, asked.k, sampler.slots)
        chain = Chain(sampler, state, key, summary, data.pairs[:, 0] * 0.0)
        measure("warm-up", chain, Path(folder))
        for sample in range(SAMPLES):
            summary.add(sample, sampler.memberships(state), sampler.strengths(state), workers)
        measure(f"{len(summary.kept.samples)} draws", chain, Path(folder))


def measure(what: str, chain: Chain, folder: Path) -> None:
    target, written, read = folder / "000001", [], []
    for _ in range(REPEATS):
        began = time.perf_counter()
        size = write_snapshot(
            target, "run", run_arrays([chain], Position(), Plan()), position_facts(Position())
        )
        written.append(time.perf_counter() - began)
        began = time.perf_counter()
        restore_chains(read_snapshot(target), [chain.sampler], 1, len(chain.forecast))
        read.append(time.perf_counter() - began)
        shutil.rmtree(target)
    print(
        f"{what}: {size / 1e6:.0f} MB, written in {min(written):.2f} s, read in {min(read):.2f} s", flush=True
    )


if __name__ == "__main__":
    main()
