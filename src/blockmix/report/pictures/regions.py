"""Regions of the map: communities grouped by the links between them, as the start groups nodes.

Many communities make a long list and small names. The tree of the start (`samplers/starts/partition.py`) goes on above
communities: they are grouped at lower and lower resolutions until there are few enough groups to name at a glance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from blockmix.samplers.starts.partition import Level, coarsen

# With fewer communities than this there are no regions; with more, at most `MOST` where links allow it.
FEWEST_COMMUNITIES, MOST = 40, 24
_FACTOR = 0.5
_ROUNDS = 30


def make_regions(
    links: NDArray[Any], weight: NDArray[np.float64], size: NDArray[np.float64], *, seed: int = 0
) -> NDArray[np.int64] | None:
    """Return the region of every community, the largest region first; None where there are too few communities.

    `links` are pairs of communities, `weight` the expected number of links between them, `size` their nodes.
    """
    count = len(size)
    if count < FEWEST_COMMUNITIES or not len(links):
        return None
    ends = np.concatenate([links, links[:, ::-1]])
    matrix = sp.csr_matrix((np.tile(weight, 2), (ends[:, 0], ends[:, 1])), shape=(count, count))
    level, region = Level(matrix, np.maximum(size, 1.0).astype(np.float64)), np.arange(count)
    rng = np.random.default_rng(seed)
    resolution = float((weight / (level.sizes[links[:, 0]] * level.sizes[links[:, 1]])).max())
    for _ in range(_ROUNDS):
        level, parents = coarsen(level, resolution, rng)
        region = parents[region]
        if len(level.sizes) <= MOST:
            break
        resolution *= _FACTOR
    rank = np.empty(len(level.sizes), dtype=np.int64)
    rank[np.argsort(-level.sizes, kind="stable")] = np.arange(len(level.sizes))
    return rank[region]
