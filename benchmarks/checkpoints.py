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
from blockmix.inference.execute import make_samplers
from blockmix.inference.plan import Plan
from blockmix.inference.position import Position
from blockmix.inference.request import FitRequest
from blockmix.inference.run_folder.checkpoint import chain_arrays, position_facts, run_arrays
from blockmix.inference.run_folder.snapshots import read_snapshot, write_snapshot
from blockmix.numerics.workers import Workers
from blockmix.samplers.live import HostChain

REPEATS, SAMPLES = 5, 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edges", type=Path)
    parser.add_argument("-k", type=int, default=5000)
    asked = parser.parse_args()
    data = hold_out(read_graph(asked.edges), 0.02, seed=1)
    request = FitRequest(asked.k, "assortative", seed=1, chains=1)
    with Workers() as workers, tempfile.TemporaryDirectory(dir=".") as folder:
        (sampler,) = make_samplers(request, data, workers)
        chain = HostChain.start(sampler, request.chain_key(0), data.pairs)
        summary = chain.summary()
        measure("warm-up", chain, Path(folder))
        for sample in range(SAMPLES):
            summary.add(sample, sampler.memberships(chain.state), sampler.strengths(chain.state), workers)
        measure(f"{len(summary.kept.samples)} samples", chain, Path(folder))


def measure(what: str, chain: HostChain, folder: Path) -> None:
    target, written, read = folder / "000001", [], []
    for _ in range(REPEATS):
        began = time.perf_counter()
        size = write_snapshot(
            target, "run", run_arrays([chain], Position(), Plan()), position_facts(Position())
        )
        written.append(time.perf_counter() - began)
        began = time.perf_counter()
        HostChain.restore(chain.sampler, chain.key, chain.pairs, chain_arrays(read_snapshot(target), 0))
        read.append(time.perf_counter() - began)
        shutil.rmtree(target)
    print(
        f"{what}: {size / 1e6:.0f} MB, written in {min(written):.2f} s, read in {min(read):.2f} s", flush=True
    )


if __name__ == "__main__":
    main()
