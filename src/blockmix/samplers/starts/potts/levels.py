"""The levels of a network: groups of nodes, groups of those, and so on, at lower and lower resolutions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.counting import PartCounts, joined
from blockmix.samplers.starts.laws import law_of, weights_by_degree
from blockmix.samplers.starts.potts.groups import Groups, Links
from blockmix.samplers.starts.potts.merging import (
    count_neighbors,
    fill_rows,
    links_of,
    merged_groups,
    single_groups,
    weighted_links,
)
from blockmix.samplers.starts.potts.moving import Movers

# Resolutions go from here down to a share of the density, each this many times smaller than the last.
FINEST, COARSEST_SHARE, FACTOR = 0.5, 0.3, 2.0**0.5
# The links of groups are stored as a network of their own once they are fewer than this share of those gone through.
WORTH_STORING = 0.4
# Whether they are is looked at again when there are fewer than this share of the groups of the last time.
WORTH_LOOKING = 0.7
# A round of local moving that leaves more than this share of the groups is the last at its resolution.
WORTH_ANOTHER = 0.99

Parts = NDArray[np.int32]


class Step(NamedTuple):
    """What is kept of a level: resolution, what is counted of its groups, and the group that each group of the
    level before (at first each node) is in."""

    resolution: float
    counts: PartCounts
    parents: Parts


def resolutions_of(density: float) -> list[float]:
    """Return the resolutions of all levels."""
    values = [FINEST]
    while values[-1] > COARSEST_SHARE * density:
        values.append(values[-1] / FACTOR)
    return values


class Coarsening:
    """Groups of the nodes of a network, which `coarsen` merges at lower and lower resolutions."""

    def __init__(
        self,
        links: Links,
        sizes: NDArray[np.signedinteger],
        workers: Workers,
        salt: int,
        densest: float = np.inf,
    ) -> None:
        """Begin with every row as a group; `densest` is at least the links of any two over the product of sizes."""
        self.workers, self.salt = workers, salt
        bound = np.full(len(sizes), densest, dtype=np.float32)
        self.movers = Movers(workers, links, single_groups(sizes, links, bound))
        self._looked_at = len(sizes)

    @property
    def groups(self) -> Groups:
        """The groups as they are now."""
        return self.movers.groups

    def coarsen(self, resolution: float) -> Parts:
        """Group the groups at this resolution until no move is left; return the new group of each group."""
        parents, count = None, len(self.groups.sizes)
        self.movers.measure(resolution, np.zeros(count, dtype=np.uint8))
        while count and self.groups.bound.max() > resolution:
            before, own = count, self._merge(resolution)
            count = len(self.groups.sizes)
            if count == before:
                break
            parents = own if parents is None else own[parents]
            self._store()
            if count > WORTH_ANOTHER * before:
                break
        return np.arange(count, dtype=np.int32) if parents is None else parents

    def _merge(self, resolution: float) -> Parts:
        """Move the groups and merge those of a part; return the new group of each group."""
        parts = self.movers.move(resolution, self.salt)
        groups, own, fresh = merged_groups(self.groups, parts, self.workers)
        if len(groups.sizes) < len(own):
            self.movers.take(self.movers.links, groups)
            self.movers.measure(resolution, fresh)
        return own

    def _store(self) -> None:
        """Store the links of the groups as a smaller network, where that is worth it."""
        movers, groups, count = self.movers, self.groups, len(self.groups.sizes)
        if count > WORTH_LOOKING * self._looked_at:
            return
        self._looked_at = count
        found = np.zeros(count + 1, dtype=np.int64)
        movers.share(lambda table, a, b: count_neighbors(a, b, groups, movers.links, table, found))
        offsets = np.cumsum(found, out=found)
        if offsets[-1] > WORTH_STORING * len(movers.links.neighbors):
            return
        neighbors, weights = np.empty((2, offsets[-1]), dtype=np.int32)
        movers.share(
            lambda table, a, b: fill_rows(a, b, groups, movers.links, table, offsets, neighbors, weights)
        )
        links = weighted_links(offsets, neighbors, weights, groups.inside)
        movers.take(links, single_groups(groups.sizes, links, groups.bound))


class Levels:
    """The levels of a network at lower and lower resolutions, each computed when it is first asked for.

    A resolution is a probability of a link between two nodes of average weight. With `by_degree` nodes weigh their
    degrees: two hubs must have more links than two leaves to be in one group. Levels that are gone through more than
    once are `kept`; others are forgotten, and would be computed again.
    """

    def __init__(
        self, graph: Graph, salt: int, workers: Workers, kept: bool = False, by_degree: bool = False
    ) -> None:
        self.graph, self.salt, self.workers = graph, salt, workers
        self.weights = weights_by_degree(graph) if by_degree else None
        self.law = law_of(graph, self.weights)
        self._kept = self._begin() if kept else None
        self._steps: list[Step] = []

    @property
    def sizes(self) -> NDArray[np.signedinteger]:
        """What the nodes weigh."""
        return np.ones(self.graph.n_nodes, dtype=np.int32) if self.weights is None else self.weights

    @property
    def nodes(self) -> PartCounts:
        """What is counted of single nodes."""
        none, one = np.zeros(self.graph.n_nodes, dtype=np.int32), np.ones(self.graph.n_nodes, dtype=np.int32)
        if self.weights is None:
            return PartCounts(none, one, one, one)
        return PartCounts(none, one, self.weights, self.weights.astype(np.int64) ** 2)

    def _begin(self) -> Coarsening:
        return Coarsening(links_of(self.graph), self.sizes, self.workers, self.salt, densest=1.0)

    def __iter__(self) -> Iterator[tuple[Step, Parts]]:
        """Yield every level, and the group of each node in it."""
        coarsening, counts = self._kept or self._begin(), self.nodes
        parts = None
        for place, resolution in enumerate(resolutions_of(self.graph.density)):
            if place < len(self._steps):
                step = self._steps[place]
            else:
                scaled = resolution / self.law.mean_weight**2
                parents = coarsening.coarsen(scaled)
                groups = coarsening.groups
                step = Step(scaled, joined(counts, parents, groups.inside, groups.sizes), parents)
                del parents
                if self._kept:
                    self._steps.append(step)
            counts = step.counts
            parts = step.parents if parts is None else step.parents[parts]
            yield step, parts
            # Memory for the next level.
            del step
