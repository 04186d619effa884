"""The sparse and the dense form of the diffusion timed against each other over K.

    python benchmarks/forms.py

Microseconds a node update on one thread, the least of several sweeps once the chain has settled, on planted
networks of few and of many links a node. The dense form follows all K communities, the sparse one at most 16.
The last column says which was faster; `MOST_DENSE` in samplers/scir/constants.py is set from this table.
"""

from __future__ import annotations

import time

from blockmix.generators.planted import planted
from blockmix.graph.split import no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.sampler import Scir

NODES = 2000
SETTLING, SWEEPS = 30, 12


def microseconds(graph, communities: int, form: str) -> float:
    options = ScirOptions(moves="cir", form=form, start="random")
    with Workers(1) as workers:
        sampler = Scir(no_hold_out(graph), Model(communities), options, workers)
        state = sampler.init((1, 2))
        for sweep in range(SETTLING):
            sampler.step(state, (1, 2), sweep < SETTLING // 2)
        best = float("inf")
        for _ in range(SWEEPS):
            begin = time.perf_counter()
            sampler.step(state, (1, 2), False)
            best = min(best, time.perf_counter() - begin)
    return best / NODES * 1e6


def main() -> None:
    print(f"{'degree':>6} {'K':>4} {'sparse':>8} {'dense':>8}  faster   (microseconds a node)")
    for degree in (6, 20):
        for communities in (2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64):
            graph = planted(NODES, communities, degree=degree, overlap=(1, 2), seed=3).graph
            sparse, dense = (microseconds(graph, communities, form) for form in ("sparse", "dense"))
            faster = "dense" if dense < sparse else "sparse"
            print(f"{degree:>6} {communities:>4} {sparse:>8.2f} {dense:>8.2f}  {faster}")


if __name__ == "__main__":
    main()
