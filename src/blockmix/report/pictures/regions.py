"""Regions of the map: communities grouped by the links between them, as the start groups nodes.

Many communities make a long list and small names. The tree of the start (`samplers/starts/partition.py`) goes on above
communities: they are grouped at lower and lower resolutions until there are few enough groups to name at a glance.
What counts is what pulls communities together on the map, the links beyond those that sizes alone would give: by all
links, most communities of a network that is dense everywhere end up in one region.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.workers import Workers
from blockmix.report.pictures.places import excess_links
from blockmix.samplers.starts.potts.groups import Links
from blockmix.samplers.starts.potts.levels import Coarsening
from blockmix.samplers.starts.potts.merging import weighted_links

# With fewer communities than this there are no regions; with more, at most `MOST` where links allow it.
FEWEST_COMMUNITIES, MOST = 40, 24
_FACTOR = 0.5
_ROUNDS = 30
# A region of more than this share of all communities divides nothing.
_LARGEST_SHARE = 0.5
# Local moving counts in whole numbers of 32 bits, links inside a region twice: so the largest weight is at most the
# first of these, and the sum of all the second.
_LARGEST_WEIGHT, _LARGEST_SUM = 2.0**20, 2.0**29


def make_regions(
    links: NDArray[Any], weight: NDArray[np.float64], size: NDArray[np.float64], *, seed: int = 0
) -> NDArray[np.int64] | None:
    """Return the region of every community, the largest region first; None where there are none to be told apart.

    `links` are pairs of communities, `weight` the expected number of links between them, `size` their nodes.
    """
    count = len(size)
    if count < FEWEST_COMMUNITIES:
        return None
    links, weight = excess_links(links, weight, count)
    if not len(links):
        return None
    sizes = np.maximum(np.rint(size), 1.0).astype(np.int32)
    scale = min(_LARGEST_WEIGHT / weight.max(), _LARGEST_SUM / weight.sum())
    whole = np.maximum(np.rint(weight * scale), 1.0).astype(np.int32)
    resolution = float((whole / (sizes[links[:, 0]] * sizes[links[:, 1]].astype(np.float64))).max())
    # A community that no link pulls stays by itself: more rounds would join the others until one region is left.
    alone = count - len(np.unique(links))
    region: NDArray[np.int64] = np.arange(count)
    with Workers(1) as workers:
        coarsening = Coarsening(_rows(links, whole, count), sizes, workers, seed)
        for _ in range(_ROUNDS):
            coarser = coarsening.coarsen(resolution).astype(np.int64)[region]
            if np.bincount(coarser).max() > _LARGEST_SHARE * count:
                break
            region = coarser
            if region.max() + 1 - alone <= MOST:
                break
            resolution *= _FACTOR
    of_each = np.bincount(region, sizes)
    rank = np.empty(len(of_each), dtype=np.int64)
    rank[np.argsort(-of_each, kind="stable")] = np.arange(len(of_each))
    return None if len(of_each) == count else rank[region]


def _rows(links: NDArray[Any], weight: NDArray[np.int32], count: int) -> Links:
    """Return weighted pairs as the rows of a network, every pair in both."""
    ends = np.concatenate([links, links[:, ::-1]])
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    offsets = np.searchsorted(ends[order, 0], np.arange(count + 1))
    neighbors = ends[order, 1].astype(np.int32)
    return weighted_links(offsets, neighbors, np.tile(weight, 2)[order], np.zeros(count, dtype=np.int32))
