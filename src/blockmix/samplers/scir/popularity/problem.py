"""What a chain of the popularity model is, what stays the same from sweep to sweep, and where a chain starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Engine, Shard
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.special import expint_e1
from blockmix.samplers.contract import ChainKey
from blockmix.samplers.data import non_link_weight
from blockmix.samplers.scir.concentration import DegreeCounts, count_degrees
from blockmix.samplers.scir.constants import (
    MOST_EXACT,
    MOST_EXPECTED_BIRTHS,
    MOST_EXPECTED_BIRTHS_WITHOUT_LINKS,
    SMALLER_WITHOUT_LINKS,
)
from blockmix.samplers.scir.frame import Batch, batch_of
from blockmix.samplers.scir.popularity.frame import Settings
from blockmix.samplers.scir.popularity.options import PopularityOptions
from blockmix.samplers.scir.popularity.weights import COUNTS, LinkLaw
from blockmix.samplers.scir.problem import smallest_kept
from blockmix.tables.layout import FIXED_POINT, Key, Rows

# The shape rho of popularities that chains start with: the prior then expects degrees as unequal as those of most
# networks, and the first sweeps find the right one.
START_RHO = 1.0


@dataclass
class PopularityState:
    """Everything a chain is: rows with popularities as totals, rates, rho, K alpha, sums over nodes, sweeps done.

    `rho` has one entry, or one for each side (DC15). The last entry of `rates` and of `sums` is the background's;
    `step` updates it all. `unit` are shape and rate of the size of a unit (DC13), in use where weights are amounts.
    """

    rows: Rows
    rates: NDArray[np.float64]
    rho: NDArray[np.float64]
    sums: NDArray[np.int64]
    concentration: float
    unit: NDArray[np.float64]
    sweep: int = 0


class Sweep(NamedTuple):
    """What is fixed for one sweep: settings of the moves, random numbers, and whether it is warm-up."""

    settings: Settings
    key: Key
    warm_up: bool


@dataclass(frozen=True)
class PopularityProblem:
    """The data as this process holds them, the model, the options, and what follows from them.

    `first` is the number of nodes of the first side (DC15); 0 where the network has no sides.
    """

    shard: Shard
    model: Model
    options: PopularityOptions
    rate_prior: NDArray[np.float64]
    links: int
    non_link_weight: float
    batches: int
    training: Graph | None
    weights: LinkLaw
    all_nodes: int
    degree_counts: DegreeCounts
    first: int

    @classmethod
    def of(cls, data: HeldOut, model: Model, options: PopularityOptions, engine: Engine) -> PopularityProblem:
        """Prepare a problem for an engine."""
        graph, shard = data.training, engine.shard(data)
        prior = np.empty((model.communities + 1, 2))
        prior[:-1], prior[-1] = model.eta, model.prior_of_background(graph.n_nodes)
        batches = options.batches_for(graph.n_nodes, graph.n_edges)
        weights = LinkLaw.of(graph, model.weights)
        return cls(
            shard, model, options, prior, graph.n_edges, non_link_weight(data), batches, graph, weights, graph.n_nodes,
            count_degrees(graph.degrees), 0 if graph.sides is None else graph.sides.first,
        )  # fmt: skip

    def part(self, shard: Shard) -> PopularityProblem:
        """Return the problem of a process that has this shard of the same data, whose links have no weights."""
        return replace(self, shard=shard, training=None, weights=self.weights.without_weights())

    @property
    def nodes(self) -> int:
        """The number of nodes that this process updates; `all_nodes` are those of the network."""
        return self.shard.own

    @property
    def nodes_of_sides(self) -> NDArray[np.int64]:
        """The number of nodes of every side; of all nodes where there are no sides."""
        return np.array([self.first, self.all_nodes - self.first] if self.first else [self.all_nodes])

    def side(self, number: int) -> slice:
        """Return the places of the nodes of a side: of all nodes where there are no sides."""
        if not self.first:
            return slice(None)
        return slice(self.first, None) if number else slice(self.first)

    @property
    def communities(self) -> int:
        """The number of communities, K."""
        return self.model.communities

    @property
    def in_turn(self) -> bool:
        """Whether nodes are updated one after the other."""
        return self.batches == self.all_nodes

    @property
    def learned(self) -> bool:
        """Whether K alpha is learned (Q1): it is not given."""
        return self.model.alpha is None

    @property
    def whole(self) -> bool:
        """Whether rows have a slot for every community and nothing is cut off: on small networks."""
        return self.communities <= self.options.slots and self.all_nodes <= MOST_EXACT and self.in_turn

    def smallest(self, concentration: float) -> tuple[float, float]:
        """Return the smallest phi that is kept by a node with links, and by one without."""
        least = float(self.options.smallest)
        return (
            smallest_kept(concentration, least, MOST_EXPECTED_BIRTHS),
            smallest_kept(concentration, least * SMALLER_WITHOUT_LINKS, MOST_EXPECTED_BIRTHS_WITHOUT_LINKS),
        )

    def batch(self, number: int) -> tuple[Batch, int]:
        """Return a batch, which takes every so many-th node of the network, and how many nodes it has here."""
        return batch_of(self.shard, number, self.batches)

    @property
    def most_at_once(self) -> int:
        """The most nodes that one batch has here."""
        return 1 if self.in_turn else max(self.batch(b)[1] for b in range(self.batches))

    def sweep(self, state: PopularityState, key: ChainKey, warm_up: bool) -> Sweep:
        """Return what is fixed for the next sweep of a chain."""
        total, smallest = state.concentration, self.smallest(state.concentration)
        births = (total * expint_e1(smallest[0]), total * expint_e1(smallest[1]))
        settings = Settings(
            total / self.communities, (float(state.rho[0]), float(state.rho[-1])), self.non_link_weight, smallest,
            births, self.whole, self.first,
        )  # fmt: skip
        return Sweep(settings, Key(np.uint32(key[0]), np.uint32(key[1]), np.uint32(state.sweep)), warm_up)


def rescale(state: PopularityState, t: float, side: slice, power: float) -> None:
    """(DC10), (DC15) Multiply the popularities of a side, or of all nodes, by e^t, and divide rates by e^(power t)."""
    state.rows.total[side] = state.rows.total[side] * np.float32(np.exp(t))
    state.rates *= np.exp(-power * t)


def start_popularity(data: HeldOut, weights: LinkLaw) -> NDArray[np.float32]:
    """Return popularities to start with: units over their mean, drawn towards one where there are few links.

    Where the network has sides the mean is that of the side.
    """
    graph, degrees = data.training, np.asarray(data.training.degrees, dtype=np.float64)
    if weights.law == COUNTS:
        owner = np.repeat(np.arange(graph.n_nodes), graph.degrees)
        degrees = np.bincount(owner, weights.entries, minlength=graph.n_nodes).astype(np.float64)
    first = 0 if graph.sides is None else graph.sides.first
    parts = [part for part in (degrees[:first], degrees[first:]) if len(part)]
    found = [(part + START_RHO) / (part.mean() + START_RHO) for part in parts]
    return np.asarray(np.concatenate(found), dtype=np.float32)


def sums_of(rows: Rows, communities: int, first: int) -> NDArray[np.int64]:
    """Return the sums of theta_ak and of its square over all nodes, in fixed point; the last entry is that of r_a.

    Where `first` nodes are of the first side: the sums of theta_ak over this and over the other (DC15).
    """
    if first:
        cuts = (slice(first), slice(first, None))
        sides = [Rows(rows.words[cut], rows.weights[cut], rows.total[cut]) for cut in cuts]
        return np.column_stack([sums_of(side, communities, 0)[:, 0] for side in sides])
    sums = np.zeros((communities + 1, 2), dtype=np.int64)
    popularity = rows.total.astype(np.float64)
    ids = rows.words[:, ::2]
    used = np.cumprod(ids >= 0, axis=1).astype(bool)
    theta = (rows.weights[:, 1::2].astype(np.float64) * popularity[:, None])[used]
    for column, value in enumerate((theta, theta * theta)):
        np.add.at(sums[:, column], ids[used], (value * FIXED_POINT).astype(np.int64))
    for column, value in enumerate((popularity, popularity * popularity)):
        sums[-1, column] = (value * FIXED_POINT).astype(np.int64).sum()
    return sums


def start_rates(data: HeldOut, rows: Rows, model: Model, weights: LinkLaw) -> NDArray[np.float64]:
    """Return rates that give the units inside each community, each pair in that of its larger weight (DC10).

    Links between nodes whose largest communities differ are the background's.
    """
    k, ends = model.communities, data.training.edges()
    sides = data.training.sides
    sums = sums_of(rows, k, 0 if sides is None else sides.first) / FIXED_POINT
    first = rows.words[:, 0]
    inside = first[ends[:, 0]] == first[ends[:, 1]]
    units = np.ones(len(ends)) if weights.law != COUNTS else data.training.weights_of(ends)
    links = np.append(np.bincount(first[ends[inside, 0]], units[inside], minlength=k), units[~inside].sum())
    pairs = (
        np.maximum((sums[:, 0] ** 2 - sums[:, 1]) / 2.0, 0.0) if sides is None else sums[:, 0] * sums[:, 1]
    )
    rates = (links + 1.0) / (pairs + 1.0)
    if model.background is not None:
        rates[-1] = -np.log1p(-model.background)
    return np.asarray(rates)
