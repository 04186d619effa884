"""A hard partition to start from: constant-Potts communities, fine to coarse, the best by its likelihood.

From a random start some communities stay merged and others split for longer than any run. So nodes are first grouped
by local moving at a high resolution, and the groups are grouped again at lower and lower resolutions. Of all these
partitions, and of the best cuts through the tree they make (`dendrogram.py`), the one with at most K parts and the
highest integrated likelihood is used (Traag, Van Dooren and Nesterov 2011; Daudin, Picard and Robin 2008).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

from blockmix.graph.graph import Graph
from blockmix.samplers.starts.dendrogram import Dendrogram
from blockmix.samplers.starts.local_moves import local_moves

# Resolutions go from here down to a share of the density, each this many times smaller than the last.
FINEST, COARSEST_SHARE, FACTOR = 0.5, 0.3, 2.0**0.5
# Partitions with fewer parts than this share of K are left out: where communities are hard to see, a single part has
# the highest likelihood, and a chain that starts there finds nothing else.
FEWEST_SHARE = 0.25

Parts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Level:
    """An aggregated network: links between groups, those inside twice on the diagonal, and group sizes."""

    links: sp.csr_matrix
    sizes: NDArray[np.float64]

    @property
    def inside(self) -> NDArray[np.float64]:
        """Links inside every group."""
        return np.asarray(self.links.diagonal() / 2, dtype=np.float64)


class Step(NamedTuple):
    """What is kept of a level: its resolution, the links inside and the nodes of its groups, the group of each group of
    the level before (at first of each node), and the state of the generator after it."""

    resolution: float
    inside: NDArray[np.float64]
    sizes: NDArray[np.float64]
    parents: Parts
    state: Any


class Levels:
    """The levels of a network at lower and lower resolutions, each computed once, when it is first asked for.

    Whoever goes through them again finds the same levels, and after each of them the generator as it was.
    """

    def __init__(self, graph: Graph, rng: np.random.Generator) -> None:
        self.graph, self.rng = graph, rng
        self._coarsest = _base(graph)
        self._steps: list[Step] = []

    def __iter__(self) -> Iterator[tuple[Step, Parts]]:
        """Yield every level, and the group of each node in it."""
        parts = np.arange(self.graph.n_nodes)
        for place, resolution in enumerate(_resolutions(self.graph)):
            if place == len(self._steps):
                self._coarsest, parents = coarsen(self._coarsest, resolution, self.rng)
                level, state = self._coarsest, self.rng.bit_generator.state
                self._steps.append(Step(resolution, level.inside, level.sizes, parents, state))
            step = self._steps[place]
            self.rng.bit_generator.state = step.state
            parts = step.parents[parts]
            yield step, parts


def find_parts(graph: Graph, communities: int, rng: np.random.Generator) -> Parts:
    """Find a part in 0..K-1 for every node; isolated nodes are spread at random."""
    if graph.n_edges == 0:
        return rng.integers(0, communities, graph.n_nodes)
    return parts_of(Levels(graph, rng), communities)


def parts_of(levels: Levels, communities: int) -> Parts:
    """Find the parts in the levels of a network that has links."""
    graph, rng = levels.graph, levels.rng
    candidates, resolution = _candidates(levels, communities)
    base, polished = _base(graph), []
    # The order in which nodes move is drawn once: a cut that is a level again is polished to the same parts.
    state = rng.bit_generator.state
    for parts in candidates:
        rng.bit_generator.state = state
        polished.append(_polished(base, parts, resolution, rng))
    best = max(candidates + polished, key=lambda parts: integrated_likelihood(graph, parts, communities))
    isolated = np.flatnonzero(graph.degrees == 0)
    best[isolated] = rng.integers(0, communities, len(isolated))
    return best


def _candidates(levels: Levels, communities: int) -> tuple[list[Parts], float]:
    """Return three partitions with at most K parts (the best level, the best cut, the best cut that has no more), and
    the resolution of that level."""
    graph = levels.graph
    best, best_score, best_resolution = np.zeros(graph.n_nodes, dtype=np.int64), -np.inf, FINEST
    tree = Dendrogram(graph.n_nodes)
    for step, parts in levels:
        if len(step.sizes) < FEWEST_SHARE * communities and np.isfinite(best_score):
            break
        tree.grow(step.parents, step.inside, step.sizes)
        found = _reduced(step.sizes, parts, communities)
        score = integrated_likelihood(graph, found, communities)
        if score > best_score:
            best, best_score, best_resolution = found, score, step.resolution
    free = best_cut(graph, tree, best)
    few = tree.cut_to(communities, background_of(graph, free))
    cuts = [_reduced(np.bincount(cut).astype(np.float64), cut, communities) for cut in (free, few)]
    return [best, *cuts], best_resolution


def best_cut(graph: Graph, tree: Dendrogram, parts: Parts) -> Parts:
    """Return the best cut at the background of the best cut at the background of these parts."""
    for _ in range(2):
        parts = tree.cut(background_of(graph, parts))
    return parts


def background_of(graph: Graph, parts: Parts) -> float:
    """Return the share of linked pairs between parts, one link and one non-link added."""
    inside, sizes = inside_counts(graph, parts, int(parts.max()) + 1)
    links, pairs = graph.n_edges - inside.sum(), graph.n_pairs - (sizes * (sizes - 1) / 2).sum()
    return float((links + 1) / (pairs + 2))


def _base(graph: Graph) -> Level:
    links = sp.csr_matrix(
        (np.ones(len(graph.neighbors)), graph.neighbors.astype(np.int64), graph.offsets),
        shape=(graph.n_nodes, graph.n_nodes),
    )
    return Level(links, np.ones(graph.n_nodes))


def _resolutions(graph: Graph) -> list[float]:
    values = [FINEST]
    while values[-1] > COARSEST_SHARE * graph.density:
        values.append(values[-1] / FACTOR)
    return values


def coarsen(level: Level, resolution: float, rng: np.random.Generator) -> tuple[Level, Parts]:
    """Group the groups at this resolution until no move is left; return the level and the new group of each group."""
    parents = np.arange(len(level.sizes))
    while True:
        groups = np.arange(len(level.sizes))
        moves = _move(level, groups, resolution, rng)
        if not moves:
            return level, parents
        names, groups = np.unique(groups, return_inverse=True)
        member = sp.csr_matrix(
            (np.ones(len(groups)), (np.arange(len(groups)), groups)), shape=(len(groups), len(names))
        )
        links = sp.csr_matrix(member.T @ level.links @ member)
        level = Level(links, np.bincount(groups, weights=level.sizes).astype(np.float64))
        parents = groups[parents]


def _move(level: Level, groups: Parts, resolution: float, rng: np.random.Generator) -> int:
    m = level.links
    order = rng.permutation(len(groups))
    return int(
        local_moves(
            m.indptr.astype(np.int64),
            m.indices.astype(np.int64),
            m.data,
            level.sizes,
            resolution,
            order,
            groups,
        )
    )


def _polished(base: Level, parts: Parts, resolution: float, rng: np.random.Generator) -> Parts:
    """Move single nodes once more, at the resolution that the partition was found at."""
    moved = parts.copy()
    _move(base, moved, resolution, rng)
    return moved


def _reduced(sizes: NDArray[np.float64], parts: Parts, communities: int) -> Parts:
    """Merge the two smallest parts, linked or not, until there are at most K.

    A merger of r and s adds n_r n_s pairs that are not linked, so small parts lose least.
    """
    import heapq

    count = len(sizes)
    if count <= communities:
        return parts
    parent = np.arange(2 * count)
    heap = [(float(size), i) for i, size in enumerate(sizes)]
    heapq.heapify(heap)
    fresh = count
    while len(heap) > communities:
        first, a = heapq.heappop(heap)
        second, b = heapq.heappop(heap)
        parent[a] = parent[b] = fresh
        heapq.heappush(heap, (first + second, fresh))
        fresh += 1
    for i in range(fresh - 1, -1, -1):
        parent[i] = parent[parent[i]]
    _, numbers = np.unique(parent[:count], return_inverse=True)
    return np.asarray(numbers, dtype=np.int64)[parts]


def integrated_likelihood(graph: Graph, parts: Parts, communities: int) -> float:
    """Compute log p(links, parts) of the hard-partition model with every strength integrated out under Beta(1, 1)."""
    inside, sizes = inside_counts(graph, parts, communities)
    pairs = sizes * (sizes - 1) / 2
    between_links, between_pairs = graph.n_edges - inside.sum(), graph.n_pairs - pairs.sum()
    total = float(np.sum(betaln(1 + inside, 1 + pairs - inside)))
    total += float(betaln(1 + between_links, 1 + between_pairs - between_links))
    alpha = 1.0 / communities
    return total + float(np.sum(gammaln(sizes + alpha) - gammaln(alpha)))


def inside_counts(graph: Graph, parts: Parts, communities: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Count the links inside every part, and its nodes."""
    first = np.repeat(parts, graph.degrees)
    inside = first == parts[graph.neighbors]
    links = np.bincount(first[inside], minlength=communities) / 2
    return links, np.bincount(parts, minlength=communities).astype(np.float64)
