"""Whether the default sampler leaves the posterior as it is, on networks where chains are too slow to be compared.

    python benchmarks/stationary.py --concentration 5 --networks 40 --sweeps 300
    python benchmarks/stationary.py --concentration 5 --networks 300 --sweeps 300 --nodes 80

Parameters are drawn from the prior and a network from them: they are a draw from its posterior. A chain that begins
there is stationary if the sampler is exact, however slowly it moves, so that over many networks no quantity may rise or
fall. Printed is the mean over the second half of the sweeps less the start: in its standard errors (z), and in
posterior standard deviations, for which stands the change from start to end divided by the root of two; it is less
where chains remember their start. `kept` is the correlation of start and end over networks, in which networks differ
too. The quantities are strengths in increasing order, their mean, background and mean squared membership. An error
shows as far as chains have moved towards their own law.
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

COMMUNITIES, ETA = 5, (15.0, 2.0)
# Networks between two lines.
EVERY = 20


def quantities(found: harness.Parameters) -> NDArray[np.float64]:
    """Return strengths in increasing order, their mean, background and mean squared membership."""
    squared = (found.memberships**2).sum(axis=1).mean()
    return np.array([*np.sort(found.strengths), found.strengths.mean(), found.background, squared])


def changes_of(
    number: int, setup: harness.Setup, sweeps: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw a network, make the sweeps from the truth; return the truth, the mean of the second half, and the end."""
    truth, key = harness.draw_parameters(setup, rng), (number, 7)
    data = no_hold_out(harness.graph_of(harness.simulate(truth, rng), setup.nodes))
    found = [quantities(truth)]
    with Workers(1) as workers:
        sampler = Scir(data, setup.model, Scir.Options(), workers)
        state = harness.start_at(sampler, truth, rng, key)
        for _ in range(sweeps):
            sampler.step(state, key, False)
            found.append(quantities(harness.parameters_of(sampler, state)))
    return np.array([found[0], np.mean(found[1 + sweeps // 2 :], axis=0), found[-1]])


def print_line(found: NDArray[np.float64]) -> None:
    """Print what the networks so far say; `found` is networks x (truth, mean, end) x quantities."""
    start, mean, end = found.transpose(1, 0, 2)
    change = mean - start
    z = change.mean(axis=0) / change.std(axis=0, ddof=1) * np.sqrt(len(found))
    spread = (end - start).std(axis=0, ddof=1) / np.sqrt(2.0)
    kept = [np.corrcoef(a, b)[0, 1] for a, b in zip(start.T, end.T, strict=True)]
    print(
        f"{len(found)} networks  z {z.round(1)}  change in sd {(change.mean(axis=0) / spread).round(2)} "
        f"± {(change.std(axis=0, ddof=1) / spread / np.sqrt(len(found))).round(2)}  kept {np.round(kept, 2)}",
        flush=True,
    )


def main() -> None:
    """Print the mean changes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--concentration", type=float, default=5.0, help="K alpha")
    parser.add_argument("--networks", type=int, default=40)
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--nodes", type=int, default=250)
    parser.add_argument("--seed", type=int, default=5)
    given = parser.parse_args()
    model = Model(COMMUNITIES, alpha=given.concentration / COMMUNITIES, eta=ETA)
    setup = harness.Setup("scir", given.nodes, model)
    rng, found = np.random.default_rng(given.seed), []
    for number in range(given.networks):
        found.append(changes_of(number, setup, given.sweeps, rng))
        if len(found) % EVERY == 0 or len(found) == given.networks:
            print_line(np.array(found))


if __name__ == "__main__":
    main()
