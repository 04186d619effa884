"""Everything about a run of `scir` that stays the same from sweep to sweep, for kernels of any engine."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Engine, Shard
from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.special import expint_e1
from blockmix.samplers.contract import ChainKey
from blockmix.samplers.data import non_link_weight
from blockmix.samplers.scir.concentration import DegreeCounts, count_degrees
from blockmix.samplers.scir.constants import (
    BATCHES,
    EVENTS_A_LINK,
    MOST_EXACT,
    MOST_EXPECTED_BIRTHS,
    MOST_EXPECTED_BIRTHS_WITHOUT_LINKS,
    SMALLER_WITHOUT_LINKS,
    WARM_UP_DECAY,
    WARM_UP_STEP,
)
from blockmix.samplers.scir.frame import EVERYWHERE, Batch, NodePriors, Settings, batch_of
from blockmix.samplers.scir.options import ScirOptions
from blockmix.tables.layout import Key, Rows, Strengths


@dataclass
class ScirState:
    """Everything a chain is: memberships, strengths, K alpha, sums over nodes, sweeps done; `step` updates it.

    `priors` follow from K alpha, the `concentration`.
    """

    rows: Rows
    strengths: Strengths
    sums: NDArray[np.int64]
    concentration: float
    priors: NodePriors
    sweep: int = 0


class Sweep(NamedTuple):
    """What is fixed for one sweep: settings of the moves, random numbers, and whether it is warm-up."""

    settings: Settings
    key: Key
    warm_up: bool


@dataclass(frozen=True)
class Problem:
    """The data as this process holds them, the model, the options, and what follows from them."""

    shard: Shard
    model: Model
    options: ScirOptions
    degrees: NDArray[np.int64]
    strength_prior: NDArray[np.float64]
    links: int
    non_links: int
    non_link_weight: float
    density: float
    all_nodes: int
    degree_counts: DegreeCounts

    @classmethod
    def of(cls, data: HeldOut, model: Model, options: ScirOptions, engine: Engine) -> Problem:
        """Prepare a problem for an engine."""
        graph, shard = data.training, engine.shard(data)
        prior = np.empty((model.communities + 1, 2))
        prior[:-1], prior[-1] = model.eta, model.prior_of_background(graph.n_nodes)
        whole = shard.network.offsets is graph.offsets
        degrees = graph.degrees if whole else np.diff(shard.network.offsets)
        weight = non_link_weight(data) if options.weighted else 1.0
        return cls(
            shard, model, options, degrees, prior, graph.n_edges,
            graph.n_pairs - graph.n_edges - len(data.hidden_neighbors) // 2, weight, graph.density,
            graph.n_nodes, count_degrees(graph.degrees),
        )  # fmt: skip

    def part(self, shard: Shard) -> Problem:
        """Return the problem of a process that has this shard of the same data."""
        return replace(self, shard=shard, degrees=np.diff(shard.network.offsets))

    @property
    def nodes(self) -> int:
        """The number of nodes that this process updates; `all_nodes` are those of the network."""
        return self.shard.own

    @property
    def communities(self) -> int:
        """The number of communities, K."""
        return self.model.communities

    @property
    def dense(self) -> bool:
        """Whether rows hold all communities."""
        return self.options.is_dense(self.communities)

    @property
    def slots(self) -> int:
        """Communities that a row can hold."""
        return self.communities if self.dense else self.options.slots

    @property
    def exact(self) -> bool:
        """Whether non-links are summed member by member: as asked for, or by the number of nodes."""
        if self.options.local_move != "indicators":
            return False
        return self.all_nodes <= MOST_EXACT if self.options.exact is None else self.options.exact

    @property
    def whole(self) -> bool:
        """Whether rows have a slot for every community and nothing is cut off."""
        return self.exact and self.communities <= self.options.slots

    @property
    def learned(self) -> bool:
        """Whether K alpha is learned (Q1): it is not given, and the local move is that of link indicators."""
        return self.model.alpha is None and self.options.local_move == "indicators"

    def smallest(self, concentration: float) -> float:
        """Return the smallest phi that a node with links keeps."""
        smallest = float(self.options.smallest)
        return (
            min(smallest, EVERYWHERE)
            if self.whole
            else smallest_kept(concentration, smallest, MOST_EXPECTED_BIRTHS)
        )

    def priors(self, concentration: float) -> NodePriors:
        """Return alpha of nodes for this K alpha, and the smallest phi they keep: less where a node has no links.

        Where K alpha is neither given nor learned, nodes without links have one of their own.
        """
        k, smallest = self.communities, self.smallest(concentration)
        unlinked = concentration if self.learned else k * self.model.unlinked_concentration
        without = smallest
        if not self.whole:
            without = smallest_kept(
                unlinked, self.options.smallest * SMALLER_WITHOUT_LINKS, MOST_EXPECTED_BIRTHS_WITHOUT_LINKS
            )
        return NodePriors(np.array([unlinked / k, concentration / k]), np.array([without, smallest]))

    @property
    def in_turn(self) -> bool:
        """Whether a sweep goes node by node, on one thread."""
        return self.exact and self.options.batches is None and self.all_nodes <= MOST_EXACT

    @property
    def batches(self) -> int:
        """Batches a sweep, of a network that is not swept in turn."""
        return min(self.options.batches or BATCHES, self.all_nodes)

    @property
    def most_events(self) -> float:
        """Events of one community, or proposals of one node, beyond which strengths are not looked at (N6)."""
        return EVENTS_A_LINK * (self.links + self.all_nodes)

    def batch(self, number: int) -> tuple[Batch, int]:
        """Return a batch, which takes every so many-th node of the network, and how many nodes it has here."""
        return batch_of(self.shard, number, self.batches)

    @property
    def most_at_once(self) -> int:
        """The most nodes that one batch has here."""
        return 1 if self.in_turn else max(self.batch(b)[1] for b in range(self.batches))

    def sweep(self, number: int, key: ChainKey, warm_up: bool) -> Sweep:
        """Return what is fixed for sweep `number` of a chain."""
        o = self.options
        step = warm_up_step(number) if warm_up else float(o.step)
        settings = Settings(
            step, o.neighbors, o.non_links, float(o.cut), warm_up, self.non_link_weight, self.exact
        )
        return Sweep(settings, Key(np.uint32(key[0]), np.uint32(key[1]), np.uint32(number)), warm_up)


def warm_up_step(sweep: int) -> float:
    """Return the step h in warm-up: large at first, so that communities find their place, then smaller."""
    return WARM_UP_STEP / math.sqrt(1.0 + sweep / WARM_UP_DECAY)


def smallest_kept(concentration: float, smallest: float, most_births: float) -> float:
    """Return the smallest phi that is kept, raised where a large K alpha would fill the slots with births.

    >>> smallest_kept(0.3, 0.005, 8), round(smallest_kept(50.0, 0.005, 8), 3)
    (0.005, 1.258)
    """
    while concentration * expint_e1(smallest) > most_births:
        smallest *= 1.1
    return smallest
