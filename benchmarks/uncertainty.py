"""Whether blockmix knows what it does not know: coverage of credible intervals, calibration of link probabilities.

    python benchmarks/uncertainty.py --case prior-300 --seeds 0 1 2 3 --json uncertainty.json

Networks "prior-*" are drawn from the prior the model is then given (`blockmix.simulate` with degree=None), and
there an exact posterior covers at its nominal rate whatever set of memberships is looked at, as long as the set
is chosen without the truth. It is chosen by the posterior mean alone. "planted-*" have equal weights that no
Dirichlet prior draws: coverage there is reported, not promised. Communities are matched to the true ones by the
memberships they share. Columns: "table" is the interval `Posterior` gives, "draws" the central quantiles of the
draws kept.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import blockmix as bm
from blockmix.posterior.merge import match_labels
from blockmix.posterior.posterior import Posterior
from blockmix.posterior.views import beta_interval
from blockmix.tables.packed import WEIGHT_SCALE

LEVELS = (0.5, 0.8, 0.9, 0.95)
LEAST_MEAN = 0.05
# A community with fewer expected members is not in use: its strength is a draw from the prior.
LEAST_MEMBERS = 5.0
RANDOM_PAIRS = 200_000
PROBABILITY_BINS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
# K alpha of the model where the user does not say.
CONCENTRATION = 0.3


@dataclass(frozen=True)
class Case:
    """How a network is drawn; without `eta` it is a planted one of average degree 20."""

    nodes: int
    communities: int
    eta: tuple[float, float] | None = None
    background: float = 0.0
    sweeps: int = 900

    def draw(self, seed: int) -> Any:
        """The network with its truth."""
        if self.eta is None:
            return bm.planted(self.nodes, self.communities, degree=20, seed=seed)
        return bm.simulate(
            self.nodes, self.communities, degree=None, alpha=CONCENTRATION / self.communities, eta=self.eta,
            background=self.background, cut=0.0, seed=seed,
        )  # fmt: skip


CASES = {
    "prior-300": Case(300, 5, (4.0, 6.0), 0.01),
    "prior-500": Case(500, 10, (4.0, 6.0), 0.005),
    "prior-2000": Case(2000, 20, (5.0, 15.0), 0.002, sweeps=600),
    "planted-2000": Case(2000, 20, sweeps=600),
    "planted-5000": Case(5000, 100, sweeps=400),
}


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit with the truth in its own numbering of communities."""

    post: Posterior
    memberships: NDArray[np.float64]
    strengths: NDArray[np.float64]
    background: float


def fit_to_truth(case: Case, seed: int, **options: Any) -> Fitted:
    """Draw a network, fit four chains with the prior it was drawn from, match communities to the true ones."""
    made = case.draw(seed)
    options = {"chains": 4, "held_out": 0.05, "held_out_kind": "balanced", "threads": 2} | options
    if case.eta is not None:
        options |= {"alpha": CONCENTRATION / case.communities, "eta": case.eta}
    post = bm.fit(
        made.graph, case.communities, model="assortative", seed=seed + 100, sweeps=case.sweeps,
        warm_up=case.sweeps // 3, progress=False, **options,
    )  # fmt: skip
    mean = sp.csr_matrix((post.mean, post.community, post.offsets), shape=made.memberships.shape)
    number = match_labels(sp.csr_matrix(made.memberships), mean)
    truth = made.memberships.toarray().astype(np.float64)[:, number]
    return Fitted(post, truth / truth.sum(axis=1, keepdims=True), made.strengths[number], made.background)


def membership_draws(
    post: Posterior, nodes: NDArray[np.int64], communities: NDArray[np.int32]
) -> NDArray[Any]:
    """Draws x entries: the membership of nodes[i] in communities[i] in every draw kept."""
    found = []
    for chain, numbers in zip(post.draws, post.numbers, strict=True):
        for draw in chain:
            offsets = np.concatenate(([0], np.cumsum(draw.counts, dtype=np.int64)))
            row = (draw.weights / WEIGHT_SCALE, numbers[draw.communities], offsets)
            whole = sp.csr_matrix(row, shape=(len(draw.counts), post.n_communities))
            found.append(np.asarray(whole[nodes, communities]).ravel().astype(np.float32))
    return np.array(found)


def central(draws: NDArray[Any], level: float) -> tuple[Any, Any]:
    """Central quantiles over draws."""
    lower, upper = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return lower, upper


def covered(interval: tuple[Any, Any], truth: NDArray[np.float64]) -> list[bool]:
    """Whether each interval holds the truth."""
    return np.atleast_1d((interval[0] <= truth) & (truth <= interval[1])).tolist()


def coverage(fitted: Fitted) -> dict[tuple[str, float], list[bool]]:
    """For every quantity and level, whether each interval holds the truth."""
    post = fitted.post
    nodes = np.repeat(np.arange(post.graph.n_nodes), np.diff(post.offsets))
    keep = post.mean >= LEAST_MEAN
    nodes, community, mean, sd = nodes[keep], post.community[keep], post.mean[keep], post.sd[keep]
    truth, draws = fitted.memberships[nodes, community], membership_draws(post, nodes, community)
    used = post.sizes >= LEAST_MEMBERS
    strengths = np.concatenate(post.strength_draws)[:, used]
    background = np.array([draw.strengths[-1] for chain in post.draws for draw in chain], dtype=np.float64)
    found = {}
    for level in LEVELS:
        found["memberships, table", level] = covered(beta_interval(mean, sd, level), truth)
        found["memberships, draws", level] = covered(central(draws, level), truth)
        interval = beta_interval(post.strength_mean[used], post.strength_sd[used], level)
        found["strengths, table", level] = covered(interval, fitted.strengths[used])
        found["strengths, draws", level] = covered(central(strengths, level), fitted.strengths[used])
        found["background, draws", level] = covered(central(background, level), np.float64(fitted.background))
    return found


def strength_errors(fitted: Fitted) -> list[float]:
    """(truth - mean)/sd of the strengths in use and, last, of the background."""
    post = fitted.post
    used = post.sizes >= LEAST_MEMBERS
    z = ((fitted.strengths - post.strength_mean) / post.strength_sd)[used]
    return [*z.tolist(), (fitted.background - post.background_mean) / post.background_sd]


def true_probability(fitted: Fitted, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """(M1) of every pair at the truth."""
    a, b = fitted.memberships[pairs[:, 0]], fitted.memberships[pairs[:, 1]]
    return fitted.background + (a * b) @ (fitted.strengths - fitted.background)


def random_pair_calibration(fitted: Fitted, seed: int) -> list[tuple[int, float, float]]:
    """Pairs in each bin of the predicted probability, their mean prediction, their mean true probability.

    The truth is known, so that trained pairs can be looked at as well and no noise of links comes in.
    """
    rng = np.random.default_rng(seed)
    pairs = rng.integers(fitted.post.graph.n_nodes, size=(RANDOM_PAIRS, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    predicted = fitted.post.node_link_probability(pairs)
    true = true_probability(fitted, pairs)
    place = np.clip(np.digitize(predicted, PROBABILITY_BINS) - 1, 0, len(PROBABILITY_BINS) - 2)
    bins = [place == i for i in range(len(PROBABILITY_BINS) - 1)]
    return [(int(b.sum()), float(predicted[b].sum()), float(true[b].sum())) for b in bins]


def off_diagonal(fitted: Fitted) -> list[tuple[int, bool, float, float]]:
    """For held-out bins of 50 pairs or more: pairs, diagonal inside its 99% interval, predicted, observed."""
    if fitted.post.held_out is None:
        return []
    t = fitted.post.calibration()
    size = t.n_links + t.n_non_links
    inside = (t.lower <= t.predicted) & (t.predicted <= t.upper)
    rows = zip(size.tolist(), inside.tolist(), t.predicted.tolist(), t.observed.tolist(), strict=True)
    return [row for row in rows if row[0] >= 50]


def run(name: str, seeds: list[int], options: dict[str, Any]) -> dict[str, Any]:
    """Fit all seeds of a case and print what they say together."""
    held: dict[tuple[str, float], list[bool]] = defaultdict(list)
    z: list[float] = []
    z_background: list[float] = []
    bins: list[tuple[int, bool, float, float]] = []
    random_pairs = np.zeros((len(PROBABILITY_BINS) - 1, 3))
    for seed in seeds:
        fitted = fit_to_truth(CASES[name], seed, **options)
        for key, value in coverage(fitted).items():
            held[key] += value
        *errors, last = strength_errors(fitted)
        z, z_background = z + errors, [*z_background, last]
        bins += off_diagonal(fitted)
        random_pairs += np.array(random_pair_calibration(fitted, seed))
    print(f"{name} {options or ''}: {len(seeds)} networks")
    for quantity in dict.fromkeys(key[0] for key in held):
        shares = [float(np.mean(held[quantity, level])) for level in LEVELS]
        text = "  ".join(f"{level:.0%} {share:6.1%}" for level, share in zip(LEVELS, shares, strict=True))
        print(f"  {quantity:20} {text}   ({len(held[quantity, LEVELS[0]])})")
    print(
        f"  strengths (truth - mean)/sd: mean {np.mean(z):.2f}, sd {np.std(z):.2f}; background "
        f"mean {np.mean(z_background):.2f}, sd {np.std(z_background):.2f}"
    )
    off = [b for b in bins if not b[1]]
    print(
        f"  held-out bins of 50 pairs or more: {len(bins)}, diagonal outside the 99% interval in {len(off)}"
    )
    for size, _, predicted, observed in off:
        print(f"    {size} pairs, predicted {predicted:.5f}, observed {observed:.5f}")
    for i, (count, predicted, true) in enumerate(random_pairs):
        if count >= 50:
            span = f"{PROBABILITY_BINS[i]:g} to {PROBABILITY_BINS[i + 1]:g}"
            print(
                f"  p {span:12} {count:8.0f} pairs  mean p {predicted / count:.5f}  truth {true / count:.5f}"
            )
    return {
        "case": name,
        "options": options,
        "seeds": seeds,
        "coverage": {f"{q} {level}": float(np.mean(v)) for (q, level), v in held.items()},
        "strength_z": z,
        "background_z": z_background,
        "held_out_bins": bins,
        "random_pairs": random_pairs.tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3])
    parser.add_argument("--held-out", type=float, default=0.05)
    parser.add_argument("--held-out-kind", choices=["balanced", "proportional"], default="balanced")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    options = {"held_out": args.held_out, "held_out_kind": args.held_out_kind}
    rows = [run(name, args.seeds, options) for name in args.case]
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
