"""The levels of a network: groups of nodes, groups of those, and so on, at lower and lower resolutions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.numerics.workers import Workers
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
    """What is kept of a level: resolution, links inside and nodes of its groups, and the group that each group of the
    level before (at first each node) is in."""

    resolution: float
    inside: NDArray[np.int64]
    sizes: NDArray[np.int64]
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
        self, links: Links, sizes: NDArray[np.int64], workers: Workers, salt: int, densest: float = np.inf
    ) -> None:
        """Begin with every row as a group; `densest` is at least the share of linked pairs of any two."""
        self.workers, self.salt = workers, salt
        self.movers = Movers(workers, links, single_groups(sizes, links, np.full(len(sizes), densest)))
        self._looked_at = len(sizes)

    @property
    def groups(self) -> Groups:
        """The groups as they are now."""
        return self.movers.groups

    def coarsen(self, resolution: float) -> Parts:
        """Group the groups at this resolution until no move is left; return the new group of each group."""
        parents = np.arange(len(self.groups.sizes), dtype=np.int32)
        self.movers.measure(resolution, np.zeros(len(parents), dtype=np.uint8))
        while len(parents) and self.groups.bound.max() > resolution:
            parts = self.movers.move(resolution, self.salt)
            groups, own, fresh = merged_groups(self.groups, parts, self.workers)
            if len(groups.sizes) == len(own):
                break
            parents = own[parents]
            self.movers = Movers(self.workers, self.movers.links, groups)
            self.movers.measure(resolution, fresh)
            self._store()
            if len(groups.sizes) > WORTH_ANOTHER * len(own):
                break
        return parents

    def _store(self) -> None:
        """Store the links of the groups as a smaller network, where that is worth it."""
        movers, groups, count = self.movers, self.groups, len(self.groups.sizes)
        if count > WORTH_LOOKING * self._looked_at:
            return
        self._looked_at = count
        found = np.zeros(count + 1, dtype=np.int64)
        movers.share(lambda table, a, b: count_neighbors(a, b, groups, movers.links, table, found))
        offsets = np.cumsum(found)
        if offsets[-1] > WORTH_STORING * len(movers.links.neighbors):
            return
        neighbors, weights = np.empty((2, offsets[-1]), dtype=np.int32)
        movers.share(
            lambda table, a, b: fill_rows(a, b, groups, movers.links, table, offsets, neighbors, weights)
        )
        links = weighted_links(offsets, neighbors, weights, groups.inside)
        self.movers = Movers(self.workers, links, single_groups(groups.sizes, links, groups.bound))


class Levels:
    """The levels of a network at lower and lower resolutions, each computed once, when it is first asked for."""

    def __init__(self, graph: Graph, salt: int, workers: Workers) -> None:
        self.graph, self.salt, self.workers = graph, salt, workers
        ones = np.ones(graph.n_nodes, dtype=np.int64)
        self._coarsening = Coarsening(links_of(graph), ones, workers, salt, densest=1.0)
        self._steps: list[Step] = []

    def __iter__(self) -> Iterator[tuple[Step, Parts]]:
        """Yield every level, and the group of each node in it."""
        parts = np.arange(self.graph.n_nodes, dtype=np.int32)
        for place, resolution in enumerate(resolutions_of(self.graph.density)):
            if place == len(self._steps):
                parents = self._coarsening.coarsen(resolution)
                groups = self._coarsening.groups
                self._steps.append(Step(resolution, groups.inside, groups.sizes, parents))
            step = self._steps[place]
            parts = step.parents[parts]
            yield step, parts
