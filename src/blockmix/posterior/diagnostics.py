"""Whether chains agree, and what their samples are worth: R-hat, effective sample size, Monte Carlo error.

The quantities are scalars that need no labels, the strengths of the largest communities, and the memberships of some
nodes, the latter two after the communities of the chains were matched: never all N x K of them. The statistics
are those of ArviZ (Vehtari et al. 2021: rank-normalised split R-hat, bulk and tail effective sample size).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import optional
from blockmix.posterior.views import _Table
from blockmix.tables.samples import PosteriorSample

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

Samples = list[list[PosteriorSample]]

MOST_STRENGTHS, MOST_NODES, MOST_PAIRS = 30, 30, 2000
# Communities of fewer expected members are mostly prior, and differ between chains.
LEAST_SIZE = 2.0
# R-hat above this means that chains disagree; with fewer effective samples the ends of intervals are rough.
R_HAT, FEW_EFFECTIVE = 1.05, 100.0
# At most this share of the quantities may miss a limit: so many do by chance.
MAY_MISS = 0.05
FEWEST_DRAWS = 8


@dataclass(frozen=True, eq=False, repr=False)
class DiagnosticsTable(_Table):
    """Quantity by quantity: mean, sd, Monte Carlo error of the mean, R-hat, effective sample sizes.

    `kind` is "scalar", "strength" or "membership". R-hat is NaN with one chain, and everything is for a quantity
    that never changed.
    """

    quantity: list[str]
    kind: list[str]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    mcse: NDArray[np.float64]
    rhat: NDArray[np.float64]
    ess_bulk: NDArray[np.float64]
    ess_tail: NDArray[np.float64]
    chains: int
    draws: int

    def columns(self) -> dict[str, Any]:
        """Return the columns by name, ready for a data frame: `pandas.DataFrame(table.columns())`."""
        return {name: column for name, column in super().columns().items() if name not in ("chains", "draws")}

    def __len__(self) -> int:
        return len(self.quantity)

    @property
    def verdict(self) -> str:
        """In plain words, whether the chains have converged."""
        if not len(self) or self.draws < FEWEST_DRAWS:
            return (
                f"Too few draws ({self.draws} a chain) to tell whether the chains have converged: run longer."
            )
        return " ".join([self._agreement(), self._size()])

    @property
    def converged(self) -> bool:
        """Whether there is no sign against convergence: chains agree, and there are enough effective samples."""
        few = self._share(self.ess_bulk < FEW_EFFECTIVE, self.ess_bulk)
        enough = self.draws >= FEWEST_DRAWS and self.chains > 1
        return enough and self._share(self.rhat > R_HAT, self.rhat) <= MAY_MISS and few <= MAY_MISS

    def _agreement(self) -> str:
        if self.chains == 1:
            return "One chain: whether another would find the same is unknown; fit with chains=4 to see."
        share, worst = self._share(self.rhat > R_HAT, self.rhat), _largest(self.rhat)
        if share <= MAY_MISS:
            but = f" for all but {share:.0%} of what is followed" if share else ""
            limit = R_HAT if share else worst
            return f"The {self.chains} chains agree: R-hat is at most {limit:.2f}{but}."
        which = self._worst_kind()
        return (
            f"The {self.chains} chains do not agree: R-hat is above {R_HAT} for {share:.0%} of what is followed, "
            f"{_number(worst)} at worst, most of all for {which}. Run longer; where it stays so, the network has "
            "several explanations, and means and intervals span all of them."
        )

    def _worst_kind(self) -> str:
        names = {"scalar": "the scores", "strength": "strengths", "membership": "memberships"}
        kinds = np.array(self.kind)
        shares = {
            kind: self._share(self.rhat[kinds == kind] > R_HAT, self.rhat[kinds == kind]) for kind in names
        }
        return names[max(shares, key=lambda kind: shares[kind])]

    def _size(self) -> str:
        least = float(np.nanmin(self.ess_bulk)) if np.isfinite(self.ess_bulk).any() else 0.0
        few = self._share(self.ess_bulk < FEW_EFFECTIVE, self.ess_bulk)
        if few <= MAY_MISS:
            return f"Effective samples: {least:,.0f} or more."
        return (
            f"Few effective samples: below {FEW_EFFECTIVE:.0f} for {few:.0%} of what is followed, {least:,.0f} at "
            "worst; means are usable, the ends of intervals are rough."
        )

    @staticmethod
    def _share(misses: NDArray[np.bool_], values: NDArray[np.float64]) -> float:
        known = ~np.isnan(values)
        return float(misses[known].mean()) if known.any() else 0.0


def diagnostics(post: Posterior) -> DiagnosticsTable:
    """Compute the table for a posterior, from the samples at sweeps that all chains have kept."""
    stats = optional("arviz_stats.base", "diagnostics()", 'pip install "blockmix[arviz]"').array_stats
    sweeps = common_sweeps(post)
    samples = [[sample for sample in chain if sample.sweep in sweeps] for chain in post.draws]
    found = [row for row in _quantities(post, samples) if row[2].shape[1] >= 4]
    numbers = np.array([_statistics(stats, values) for _, _, values in found], dtype=np.float64).reshape(
        -1, 6
    )
    mean, sd, mcse, rhat, ess_bulk, ess_tail = numbers.T
    return DiagnosticsTable(
        [name for name, _, _ in found], [kind for _, kind, _ in found], mean, sd, mcse, rhat, ess_bulk, ess_tail,
        len(samples), len(sweeps),
    )  # fmt: skip


def common_sweeps(post: Posterior) -> set[int]:
    """Return the sweeps at which every chain kept a sample."""
    kept = [{sample.sweep for sample in chain} for chain in post.draws]
    return set.intersection(*kept) if kept else set()


def _quantities(post: Posterior, samples: Samples) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
    """Yield name, kind and values (chains x samples) of every quantity."""
    if not samples or not samples[0]:
        return
    if samples[0][0].strengths.ndim == 1:
        values = [[sample.strengths[-1] for sample in chain] for chain in samples]
        yield "background", "scalar", np.array(values, dtype=np.float64)
    if post.held_out is not None:
        yield "held-out log loss", "scalar", _log_loss(post, samples)
    inside = _traced(post, "links_inside")
    if inside is not None:
        yield "links inside communities", "scalar", inside
    yield from _strengths(post, samples)
    yield from _memberships(post, samples)


def _traced(post: Posterior, name: str) -> NDArray[np.float64] | None:
    """Return a column of the trace after warm-up, chains x evaluations."""
    if name not in post.trace:
        return None
    counts = ~np.asarray(post.trace["warm_up"], dtype=bool)
    chain, values = np.asarray(post.trace["chain"])[counts], np.asarray(post.trace[name])[counts]
    return np.array([values[chain == c] for c in range(len(post.draws))], dtype=np.float64)


def _log_loss(post: Posterior, samples: Samples) -> NDArray[np.float64]:
    """Compute the mean log loss of some held-out pairs under every sample: it needs no labels."""
    held_out = post.held_out
    assert held_out is not None
    pick = np.linspace(0, len(held_out.links) - 1, min(len(held_out.links), MOST_PAIRS)).astype(np.int64)
    pairs, links = np.ascontiguousarray(held_out.pairs[pick]), held_out.links[pick]
    found = np.empty((len(samples), len(samples[0])))
    for place in np.ndindex(found.shape):
        probability = np.zeros(len(pairs))
        post.predictor.add_sample(samples[place[0]][place[1]], pairs, probability)
        right = np.where(links, probability, 1.0 - probability)
        found[place] = -np.log(np.maximum(right, 1e-300)).mean()
    return found


def _strengths(post: Posterior, samples: Samples) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
    """Yield the strengths of the largest communities, in the numbers of the posterior."""
    wanted = [k for k in range(min(post.n_communities, MOST_STRENGTHS)) if post.sizes[k] >= LEAST_SIZE]
    for k in wanted:
        own = [int(np.flatnonzero(numbers == k)[0]) for numbers in post.numbers]
        values = [
            [s.strengths[i] if s.strengths.ndim == 1 else s.strengths[i, i] for s in chain]
            for i, chain in zip(own, samples, strict=True)
        ]
        yield f"strength of {k}", "strength", np.array(values, dtype=np.float64)


def _memberships(post: Posterior, samples: Samples) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
    """Yield, for nodes evenly spread over all, the membership in the community that is largest on average."""
    count = post.graph.n_nodes
    nodes = np.unique(np.linspace(0, count - 1, min(count, MOST_NODES)).astype(np.int64))
    nodes = nodes[np.diff(post.offsets)[nodes] > 0]
    first = np.asarray(post.community[post.offsets[nodes]])
    values = np.array(
        [
            [sample.memberships(nodes, numbers)[np.arange(len(nodes)), first] for sample in chain]
            for chain, numbers in zip(samples, post.numbers, strict=True)
        ]
    )
    for i, (node, k) in enumerate(zip(nodes, first, strict=True)):
        yield f"{post.graph.labels[int(node)]} in {k}", "membership", values[:, :, i]


def _statistics(stats: Any, values: NDArray[np.float64]) -> tuple[float, ...]:
    """Compute mean, sd, MCSE, R-hat, bulk and tail ESS of one quantity (chains x samples)."""
    mean, sd = float(values.mean()), float(values.std())
    within = values.std(axis=1).max()
    if sd == 0.0 or not np.isfinite(values).all():
        return mean, sd, np.nan, np.nan, np.nan, np.nan
    if within == 0.0:
        # No chain moves, and they are at different values.
        return mean, sd, np.nan, np.inf, 1.0, 1.0
    with np.errstate(all="ignore"):
        rhat = float(stats.rhat(values)) if len(values) > 1 else np.nan
        return (
            mean, sd, float(stats.mcse(values)), rhat, float(stats.ess(values, method="bulk")),
            float(stats.ess(values, method="tail", prob=(0.05, 0.95))),
        )  # fmt: skip


def _largest(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else float("nan")


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "without bound"
