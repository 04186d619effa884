"""What a sweep of the popularity model costs beside one of the assortative model: both in turn, in one process.

    python benchmarks/link_model_speed.py [--network com-DBLP] [--communities 5000] [--sweeps 6]

One thread, default settings, chains from their own starts. After two sweeps that warm caches the sweeps of both models
alternate, so that a busy machine slows both. Processor time; printed are the medians and their ratio, and the bytes a
state takes a node.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import blockmix as bm
from blockmix.inference.fit import choose_held_out
from blockmix.inference.request import FitRequest
from blockmix.numerics.workers import Workers

MODELS = ("assortative", "popularity")


def main() -> None:
    """Alternate sweeps of both models, and print their times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", default="com-DBLP")
    parser.add_argument("--communities", type=int, default=5000)
    parser.add_argument("--sweeps", type=int, default=6, help="of each model, after two that are not counted")
    given = parser.parse_args()
    graph = bm.load_dataset(given.network)
    data = choose_held_out(graph, None, None, 0)
    with Workers(1) as one:
        chains: dict[str, Any] = {}
        for model in MODELS:
            request = FitRequest(given.communities, model=model, threads=1)
            sampler: Any = request.make_sampler(data, one)
            sampler.compile()
            chains[model] = sampler, request.chain_key(0), sampler.init(request.chain_key(0))
        seconds: dict[str, list[float]] = {model: [] for model in MODELS}
        for _ in range(given.sweeps + 2):
            for model, (sampler, key, state) in chains.items():
                began = time.process_time()
                sampler.step(state, key, True)
                seconds[model].append(time.process_time() - began)
    medians = {model: float(np.median(found[2:])) for model, found in seconds.items()}
    for model, (sampler, _, state) in chains.items():
        held = sum(values.nbytes for values in sampler.arrays(state).values()) / graph.n_nodes
        print(f"{model:12} {medians[model]:.3f} s a sweep, {held:.0f} bytes a node in a checkpoint")
    print(f"ratio {medians['popularity'] / medians['assortative']:.2f}")


if __name__ == "__main__":
    main()
