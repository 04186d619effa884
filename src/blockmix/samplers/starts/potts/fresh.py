"""Partitions found anew at one resolution, by local moves of single nodes, of their groups, and of single nodes again.

The levels of a network are cheap since each begins with the groups of the one before. Where nodes weigh their degrees
this harms: a hub and the leaves that hang on it become a group at a fine resolution, and no later level takes them
apart. So the resolutions around the best level are tried again from single nodes, in steps of `FACTOR`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.samplers.starts.counting import count_inside
from blockmix.samplers.starts.laws import integrated_likelihood
from blockmix.samplers.starts.potts.levels import FACTOR, Coarsening, Levels
from blockmix.samplers.starts.potts.merging import links_of, number_parts, single_groups
from blockmix.samplers.starts.potts.moving import Movers
from blockmix.samplers.starts.reducing import reduced

Parts = NDArray[np.int32]
# So many steps in a row without a gain end the search in a direction: the likelihood goes up and down from step to
# step. On networks of more links one such step is enough: each takes as long as several sweeps.
PATIENCE, MOST_PATIENT = 3, 200_000


# How far `find_many` goes for more parts or fewer: in steps of the resolution, and in parts.
MOST_STEPS, MOST_PIECES = 20, 3
# A part of fewer nodes is a leftover.
SMALLEST = 3


class Found(NamedTuple):
    """A partition, its integrated likelihood, and the resolution that it was found at."""

    parts: Parts
    score: float
    resolution: float


def find_anew(levels: Levels, resolution: float, communities: int | None) -> Found:
    """Return the best partition at this resolution and at those around it; with `communities` it has at most so many
    parts."""
    best = _found_at(levels, resolution, communities)
    patience = PATIENCE if levels.graph.n_edges <= MOST_PATIENT else 1
    for factor in (FACTOR, 1.0 / FACTOR):
        at, without_gain = resolution, 0
        while without_gain < patience:
            at *= factor
            other = _found_at(levels, at, communities)
            without_gain = 0 if other.score > best.score else without_gain + 1
            best = max(best, other, key=lambda found: found.score)
    return best


def find_many(levels: Levels, communities: int) -> Parts:
    """Return at most so many parts, and about as many where the network can be divided into half of them.

    The partition of the highest likelihood may have a few large parts where the posterior has many communities that
    overlap: with as many parts as communities each of them has something to begin with. Parts at too fine a resolution
    are pieces of communities, which a chain takes long to join: so there are at most `MOST_PIECES` for each part of
    the best partition.
    """
    found = find_anew(levels, levels.graph.density / levels.law.mean_weight**2, None)
    count = _parts_of_three(found.parts)
    wanted = min(communities, MOST_PIECES * count)
    enough, at = count >= wanted, found.resolution
    for _ in range(MOST_STEPS):
        # Towards the resolution with as many parts: a coarser one where there are too many, else a finer one.
        at *= 1.0 / FACTOR if enough else FACTOR
        tried = _found_at(levels, at, None)
        more = _parts_of_three(tried.parts)
        if enough and more < wanted:
            break
        if enough or more > count:
            found, count = tried, more
        if not enough and more >= wanted:
            break
    most = int(found.parts.max()) + 1
    counts = count_inside(levels.graph, found.parts, most, levels.workers, levels.weights)
    return reduced(counts.weight, found.parts, communities)


def _parts_of_three(parts: Parts) -> int:
    """Count the parts that are more than a pair."""
    return int(np.count_nonzero(np.bincount(parts) >= SMALLEST))


def _found_at(levels: Levels, resolution: float, communities: int | None) -> Found:
    graph, workers = levels.graph, levels.workers
    links = links_of(graph)
    coarsening = Coarsening(links, levels.sizes, workers, levels.salt, densest=1.0)
    parts = polished(levels, coarsening.coarsen(resolution), resolution)
    count = int(number_parts(parts, np.empty(int(parts.max()) + 1, dtype=np.int32)))
    counts = count_inside(graph, parts, count, workers, levels.weights)
    if communities is not None and count > communities:
        parts = reduced(counts.weight, parts, communities)
        counts = count_inside(graph, parts, communities, workers, levels.weights)
    score = integrated_likelihood(levels.law, graph.n_edges, counts, communities or count, workers)
    return Found(parts, score, resolution)


def polished(levels: Levels, parts: Parts, resolution: float) -> Parts:
    """Move single nodes once more, at the resolution that the partition was found at."""
    links = links_of(levels.graph)
    groups = single_groups(levels.sizes, links, np.ones(levels.graph.n_nodes, dtype=np.float32))
    return Movers(levels.workers, links, groups).move(resolution, levels.salt, parts)
