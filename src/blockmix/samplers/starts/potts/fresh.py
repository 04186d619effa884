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
