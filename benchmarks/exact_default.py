"""Whether the default sampler has the posterior of collapsed Gibbs sampling on networks of 250 nodes.

    python benchmarks/exact_default.py --json exact_default.json --chains 3
    python benchmarks/exact_default.py --json exact_default.json --chains 0     # prints the tables again

Networks are drawn with K = 5, strengths between .6 and .99 and a background of .01; K alpha is .3, 1 and 5 in turn.
`cgs`, which has no approximation, and the default sampler with its default options get the same alpha, priors and
start (the true parameters). Compared are strengths in increasing order, background, and the mean squared membership,
none of which depends on how communities are numbered. Chains are added until every network has as many of each sampler
as `--chains` says, and the file is written after each: a run that is stopped goes on where it was.

The difference of the means is given in standard deviations of the posterior of `cgs`, with its Monte Carlo error from
batch means of all chains. A quantity is `within` where the difference less two errors is below .15, and `clearly` so
where difference and two errors together are. For each K alpha the mean difference over the networks says whether there
is a bias too small to see on one.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.cgs.sampler import Cgs
from blockmix.samplers.scir.sampler import Scir

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "calibration"))
import harness

NODES, COMMUNITIES, BACKGROUND = 250, 5, 0.01
TOTALS = (0.3, 1.0, 5.0)
NAMES = (*(f"strength {k + 1}" for k in range(COMMUNITIES)), "background", "squared memberships")
# Sweeps of a chain that count, those before, and the batches that give its Monte Carlo error.
SWEEPS, BEFORE, BATCHES = {"cgs": 1000, "scir": 1500}, 200, 10
ALLOWED = 0.15
Floats = NDArray[np.float64]


class Case:
    """A network with the parameters that it was drawn from."""

    def __init__(self, number: int) -> None:
        rng = np.random.default_rng(number)
        alpha = TOTALS[number % len(TOTALS)] / COMMUNITIES
        pi = rng.dirichlet(np.full(COMMUNITIES, alpha), NODES).astype(np.float32).astype(np.float64)
        strengths = rng.uniform(0.6, 0.99, COMMUNITIES)
        # One is as high as they come, in every network.
        strengths[0] = 0.99
        self.truth = harness.Parameters(pi, strengths, BACKGROUND)
        self.data = no_hold_out(harness.graph_of(harness.simulate(self.truth, rng), NODES))
        self.model = Model(COMMUNITIES, alpha=alpha)


def quantities(found: harness.Parameters) -> Floats:
    """Return the quantities of `NAMES`."""
    squared = (found.memberships**2).sum(axis=1).mean()
    return np.array([*np.sort(found.strengths), found.background, squared])


def run_chain(case: Case, name: str, key: tuple[int, int]) -> dict[str, list[Any]]:
    """Run one chain; return the means of its batches, and its variances."""
    kind = {"cgs": Cgs, "scir": Scir}[name]
    with Workers(1) as workers:
        sampler = kind(case.data, case.model, kind.Options(), workers)
        state, found = harness.start_at(sampler, case.truth, np.random.default_rng(key), key), []
        for sweep in range(BEFORE + SWEEPS[name]):
            sampler.step(state, key, sweep < BEFORE)
            if sweep >= BEFORE:
                found.append(quantities(harness.parameters_of(sampler, state)))
    values = np.array(found)
    batches = values.reshape(BATCHES, -1, len(NAMES)).mean(axis=1)
    return {"batches": batches.tolist(), "variance": values.var(axis=0).tolist()}


def pooled(chains: list[dict[str, list[Any]]]) -> tuple[Floats, Floats, Floats]:
    """Return means, their Monte Carlo errors and posterior standard deviations of all chains together."""
    batches = np.concatenate([np.array(chain["batches"]) for chain in chains])
    means = np.array([np.mean(chain["batches"], axis=0) for chain in chains])
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    if len(means) > 1:
        # Chains that differ by more than their batches say have longer memories than a batch.
        error = np.maximum(error, means.std(axis=0, ddof=1) / np.sqrt(len(means)))
    within = np.mean([chain["variance"] for chain in chains], axis=0)
    return means.mean(axis=0), error, np.sqrt(within + means.var(axis=0))


def compare(found: dict[str, list[dict[str, list[Any]]]]) -> tuple[Floats, Floats]:
    """Return differences and their errors, in posterior standard deviations."""
    (exact, exact_error, sd), (mean, error, _) = pooled(found["cgs"]), pooled(found["scir"])
    return (mean - exact) / sd, np.hypot(exact_error, error) / sd


def print_tables(record: dict[str, dict[str, list[dict[str, list[Any]]]]]) -> None:
    """Print the differences of every network, and what they say together."""
    done = {int(name): compare(found) for name, found in record.items() if found["cgs"] and found["scir"]}
    print(f"{'network':>7} {'K alpha':>7}  " + "".join(f"{name:>21}" for name in NAMES))
    for number, (difference, error) in sorted(done.items()):
        cells = "".join(f"{d:13.3f} ± {e:5.3f}" for d, e in zip(difference, error, strict=True))
        print(f"{number:7} {TOTALS[number % len(TOTALS)]:7g}  {cells}")
    for i, total in enumerate(TOTALS):
        chosen = [both for number, both in done.items() if number % len(TOTALS) == i]
        if not chosen:
            continue
        difference, error = (np.array(values) for values in zip(*chosen, strict=True))
        weight = 1.0 / error**2
        mean = (weight * difference).sum(axis=0) / weight.sum(axis=0)
        cells = "".join(
            f"{d:13.3f} ± {e:5.3f}" for d, e in zip(mean, weight.sum(axis=0) ** -0.5, strict=True)
        )
        within = np.abs(difference) - 2 * error <= ALLOWED
        clearly = np.abs(difference) + 2 * error <= ALLOWED
        z = np.abs(difference / error)
        print(f"{'mean':>7} {total:7g}  {cells}")
        print(
            f"K alpha {total:g}: {len(chosen)} networks, {within.sum()} of {within.size} quantities within "
            f"{ALLOWED}, {clearly.sum()} clearly; root mean square of z {np.sqrt((z**2).mean()):.2f}, largest "
            f"{z.max():.1f}; largest error {error.max():.2f}"
        )


def main() -> None:
    """Add chains to the file and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", type=int, nargs="+", default=list(range(20)), metavar="NUMBER")
    parser.add_argument("--chains", type=int, default=3, help="of each sampler on every network")
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    record = json.loads(given.json.read_text("utf-8")) if given.json.exists() else {}
    for place in range(given.chains):
        for number in given.networks:
            for name, chains in record.setdefault(str(number), {"cgs": [], "scir": []}).items():
                if len(chains) == place:
                    chains.append(run_chain(Case(number), name, (number, 2 * place + (name == "cgs"))))
                    given.json.write_text(json.dumps(record) + "\n", "utf-8")
    print_tables(record)


if __name__ == "__main__":
    main()
