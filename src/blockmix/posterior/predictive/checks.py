"""Posterior predictive checks (M17): does the network look like those that the fitted model would draw?

Calibration on held-out pairs asks whether probabilities come true one by one. These checks ask about the network as a
whole: its degrees, its triangles, and how well links are ranked where degrees are of no help. A statistic of the
network is compared with those of networks drawn from posterior samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.posterior.predictive.ranking import NAME as RANKING
from blockmix.posterior.predictive.ranking import Ranking, can_rank
from blockmix.posterior.predictive.replicate import Ego, Replicator, observed_ego
from blockmix.posterior.predictive.statistics import NAMES, Chosen, choose_nodes, statistics
from blockmix.posterior.predictive.words import link_model
from blockmix.posterior.views import _Table
from blockmix.tables.samples import PosteriorSample

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# Of 199 draws and the network the network is the smallest or the largest with a chance of 1%, if it is a draw as well.
REPLICATES, FEWEST_REPLICATES = 199, 19
# Probability that a network of the model lies inside the interval of a statistic, where there are enough draws for it.
LEVEL = 0.99
# To prepare a sample takes time in proportion to the nodes: so many in all, and never fewer samples than this.
_NODES_IN_ALL, _FEWEST_SAMPLES = 10_000_000, 10
_DEGREES = NAMES[:4]
_NOT_COLUMNS = ("replicates", "level", "kind")


@dataclass(frozen=True, eq=False, repr=False)
class PredictiveChecks(_Table):
    """Statistic by statistic: its value in the network, and the mean and interval of networks drawn from the posterior.

    A network drawn from the posterior lies between `lower` and `upper` with the probability `level`, 99% from 199
    draws on; `p` is the share of draws that are as far out on the same side, doubled. A statistic outside its
    interval is one that the model does not explain. The checks use the same links as the fit, so that they find fewer
    faults than there are. "nodes without links" is left out where every node has a link, as in any network that comes
    as a list of links.
    """

    statistic: list[str]
    observed: NDArray[np.float64]
    mean: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    p: NDArray[np.float64]
    replicates: int
    level: float
    kind: str

    def columns(self) -> dict[str, Any]:
        """Return the columns by name, ready for a data frame: `pandas.DataFrame(table.columns())`."""
        return {name: column for name, column in super().columns().items() if name not in _NOT_COLUMNS}

    def __len__(self) -> int:
        return len(self.statistic)

    @property
    def off(self) -> NDArray[np.bool_]:
        """Whether the network is outside the interval."""
        return np.asarray((self.observed < self.lower) | (self.observed > self.upper))

    @property
    def verdict(self) -> str:
        """In plain words, what of the network the model does not explain, and which model might."""
        if not self.off.any():
            return f"The network looks like those drawn from the posterior, in all {len(self)} statistics."
        parts = [
            f"{self.statistic[i]} {_number(self.observed[i])} ({_number(self.lower[i])} to {_number(self.upper[i])})"
            for i in np.flatnonzero(self.off)
        ]
        advice = ""
        if self.kind != "popularity" and any(self.statistic[i] in _DEGREES for i in np.flatnonzero(self.off)):
            advice = ' model="popularity" comes nearer to degrees.'
        return f"Networks drawn from the posterior differ from this one: {', '.join(parts)}.{advice}"

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries, ready for JSON."""
        names = ("observed", "mean", "lower", "upper", "p")
        return [
            {"statistic": self.statistic[i]}
            | {name: float(getattr(self, name)[i]) for name in names}
            | {"off": bool(self.off[i])}
            for i in range(len(self))
        ]

    def __repr__(self) -> str:
        lines = [f"{'statistic':24}  observed      drawn  ({self.level:.0%} interval)"]
        for i, name in enumerate(self.statistic):
            lines.append(
                f"{name:24}{_number(self.observed[i]):>10} {_number(self.mean[i]):>10}  "
                f"({_number(self.lower[i])} to {_number(self.upper[i])}){'  off' if self.off[i] else ''}"
            )
        return "\n".join(lines)


def can_check(post: Posterior) -> bool:
    """Return whether networks can be drawn: not from the general model, nor without samples."""
    return post.blocks_mean is None and bool(post.draws) and any(post.draws)


def predictive_checks(post: Posterior, replicates: int = REPLICATES, seed: int = 0) -> PredictiveChecks:
    """Draw networks from posterior samples, chains by their weights, and compare their statistics.

    Held-out pairs are links of neither: the posterior has not seen them, and of links more are held out than of pairs.
    """
    if int(replicates) != replicates or replicates < FEWEST_REPLICATES:
        raise InputError(
            f"replicates={replicates!r}: give a whole number of at least {FEWEST_REPLICATES}; {REPLICATES} is usual"
        )
    if post.blocks_mean is not None:
        raise InputError("the general model has no predictive checks: networks are not drawn from it")
    samples = _samples(post, int(replicates), np.random.default_rng([seed, 0]))
    graph, hidden = _training(post)
    chosen = choose_nodes(graph, np.random.default_rng([seed, 1]))
    rng = np.random.default_rng([seed, 2])
    ego = observed_ego(graph.offsets, graph.neighbors, chosen.nodes)
    observed = statistics(ego, chosen, graph.has_edges, rng)
    if (post.graph.degrees > 0).all():
        observed[NAMES.index("nodes without links")] = np.nan
    if graph.sides is not None:
        # The neighbours of a node are on one side: no two of them are linked.
        observed[NAMES.index("clustering")] = np.nan
    ranking = Ranking(post) if can_rank(post) else None
    if ranking is not None:
        observed = np.append(observed, ranking.auc(ranking.is_link))
    networks = Networks(post, chosen, hidden)
    drawn = np.array(list(_drawn(networks, samples, ranking, rng)))
    names = [*NAMES, *([RANKING] if ranking is not None else [])]
    known = np.isfinite(observed) & np.isfinite(drawn).all(axis=0)
    kept = [name for name, use in zip(names, known, strict=True) if use]
    return _table(kept, observed[known], drawn[:, known], link_model(post))


def _table(
    names: list[str], observed: NDArray[np.float64], drawn: NDArray[np.float64], kind: str
) -> PredictiveChecks:
    """Compare statistics of the network with those of networks drawn (networks x statistics).

    The network is the k-th smallest of all or smaller with the probability k/(draws + 1), if it is one of them.
    """
    draws, ranked = len(drawn), np.sort(drawn, axis=0)
    k = max(1, int((draws + 1) * (1.0 - LEVEL) / 2.0 + 1e-9))
    beyond = np.minimum((drawn <= observed).sum(axis=0), (drawn >= observed).sum(axis=0))
    p = np.minimum(2.0 * (1.0 + beyond) / (draws + 1.0), 1.0)
    level = 1.0 - 2.0 * k / (draws + 1.0)
    return PredictiveChecks(
        names, observed, drawn.mean(axis=0), ranked[k - 1], ranked[draws - k], p, draws, level, kind
    )


def _samples(post: Posterior, replicates: int, rng: np.random.Generator) -> list[tuple[PosteriorSample, int]]:
    """Choose posterior samples, and how many networks to draw from each."""
    chains = [
        (weight, chain)
        for weight, chain in zip(post.chain_weights, post.draws, strict=True)
        if weight > 0 and chain
    ]
    if not chains:
        raise InputError("this run kept no samples: it was stopped during warm-up; fit for longer")
    most = int(np.clip(_NODES_IN_ALL // max(post.graph.n_nodes, 1), _FEWEST_SAMPLES, replicates))
    weights = np.concatenate([np.full(len(chain), weight / len(chain)) for weight, chain in chains])
    everything = [sample for _, chain in chains for sample in chain]
    picked = rng.choice(len(everything), most, p=weights / weights.sum())
    share = np.bincount(np.arange(replicates) % most, minlength=most)
    return [(everything[i], int(count)) for i, count in zip(picked, share, strict=True)]


def _training(post: Posterior) -> tuple[Graph, NDArray[np.int64]]:
    """Return the network without held-out links, and the sorted keys of the held-out pairs."""
    held_out, graph = post.held_out, post.graph
    if held_out is None:
        return graph, np.empty(0, dtype=np.int64)
    pairs = held_out.pairs.astype(np.int64)
    keys = pairs.min(axis=1) * graph.n_nodes + pairs.max(axis=1)
    return graph.without_edges(pairs[held_out.links]), np.sort(keys)


class Networks(NamedTuple):
    """What networks are drawn with: the result, the nodes whose links are drawn, and keys of the held-out pairs."""

    post: Posterior
    chosen: Chosen
    hidden: NDArray[np.int64]

    def draw(self, replicator: Replicator, rng: np.random.Generator) -> Ego:
        """Draw the links of the chosen nodes to their observed partners."""
        ego = replicator.draw(rng)
        seen = ~_among(self.keys(ego), self.hidden)
        return Ego(ego.owner[seen], ego.other[seen])

    def keys(self, ego: Ego) -> NDArray[np.int64]:
        """Return one number for each pair of nodes, whatever their order."""
        return np.minimum(ego.owner, ego.other) * self.post.graph.n_nodes + np.maximum(ego.owner, ego.other)

    def linked(
        self, pairs: NDArray[np.int64], ego: Ego, sample: PosteriorSample, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Return whether pairs a < b are links of a drawn network.

        Pairs with a chosen node were drawn already; of all others each different one is drawn once, by its probability.
        """
        size = self.post.graph.n_nodes
        keys, place = np.unique(pairs[:, 0] * size + pairs[:, 1], return_inverse=True)
        found = _among(keys, np.sort(self.keys(ego)))
        is_chosen = np.zeros(size, dtype=bool)
        is_chosen[self.chosen.nodes] = True
        ends = np.column_stack((keys // size, keys % size))
        new = ~is_chosen[ends].any(axis=1) & ~_among(keys, self.hidden)
        if new.any():
            p = np.zeros(int(new.sum()))
            self.post.predictor.add_sample(sample, np.ascontiguousarray(ends[new]), p)
            found[new] = rng.random(len(p)) < p
        return np.asarray(found[place])


def _drawn(
    networks: Networks,
    samples: list[tuple[PosteriorSample, int]],
    ranking: Ranking | None,
    rng: np.random.Generator,
) -> Iterator[NDArray[np.float64]]:
    """Draw the links of the chosen nodes, and the held-out and matched pairs that are links, network by network."""
    for sample, count in samples:
        replicator = Replicator(sample, networks.chosen.nodes, networks.post.graph.sides)
        chances = np.empty(0) if ranking is None else ranking.chances(sample)
        for _ in range(count):
            ego = networks.draw(replicator, rng)

            def linked(pairs: NDArray[np.int64], ego: Ego = ego, sample: Any = sample) -> NDArray[np.bool_]:
                return networks.linked(pairs, ego, sample, rng)

            values = statistics(ego, networks.chosen, linked, rng)
            if ranking is not None:
                values = np.append(values, ranking.auc(rng.random(len(chances)) < chances))
            yield values


def _among(keys: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which keys are among the sorted ones."""
    if not len(known):
        return np.zeros(len(keys), dtype=bool)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.asarray(known[at] == keys)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
