"""Whether the default sampler leaves the posterior as it is, on networks where chains are too slow to be compared.

    python benchmarks/stationary.py --concentration 5 --networks 40 --sweeps 300

Parameters are drawn from the prior and a network from them: they are a draw from its posterior. A chain that begins
there is stationary if the sampler is exact, however slowly it moves, so that over many networks no quantity may rise or
fall. Printed are the mean change since the start in its standard errors (z), and in standard deviations of the change
by the root of two, which is at most a posterior standard deviation, for strengths in increasing order, background and
mean squared membership. An error shows as far as chains have moved towards their own law.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.sampler import Scir

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "calibration"))
import harness

NODES, COMMUNITIES, ETA = 250, 5, (15.0, 2.0)
# Networks between two lines.
EVERY = 5


def quantities(found: harness.Parameters) -> NDArray[np.float64]:
    """Return strengths in increasing order, background and mean squared membership."""
    return np.array([*np.sort(found.strengths), found.background, (found.memberships**2).sum(axis=1).mean()])


def change_of(
    number: int, setup: harness.Setup, sweeps: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw a network, make the sweeps from the truth, and return by how much the quantities changed."""
    truth, key = harness.draw_parameters(setup, rng), (number, 7)
    data = no_hold_out(harness.graph_of(harness.simulate(truth, rng), NODES))
    with Workers(1) as workers:
        sampler = Scir(data, setup.model, Scir.Options(), workers)
        state = harness.start_at(sampler, truth, rng, key)
        for _ in range(sweeps):
            sampler.step(state, key, False)
        return quantities(harness.parameters_of(sampler, state)) - quantities(truth)


def main() -> None:
    """Print the mean changes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--concentration", type=float, default=5.0, help="K alpha")
    parser.add_argument("--networks", type=int, default=40)
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=5)
    given = parser.parse_args()
    setup = harness.Setup("scir", NODES, Model(COMMUNITIES, alpha=given.concentration / COMMUNITIES, eta=ETA))
    rng, changes = np.random.default_rng(given.seed), []
    for number in range(given.networks):
        changes.append(change_of(number, setup, given.sweeps, rng))
        if len(changes) % EVERY == 0:
            found = np.array(changes)
            spread = found.std(axis=0, ddof=1)
            z, shift = (
                found.mean(axis=0) / spread * np.sqrt(len(found)),
                found.mean(axis=0) / spread * np.sqrt(2.0),
            )
            print(f"{len(found)} networks  z {z.round(1)}  change in sd {shift.round(2)}", flush=True)


if __name__ == "__main__":
    main()
