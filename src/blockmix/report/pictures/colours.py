"""Colours of communities: few, distinguishable for colour-blind readers too, repeated so that neighbours differ.

Eight colours after Okabe and Ito (2008), yellow and black replaced by a violet and a brown that show on white
and on black. With more communities than colours several share a colour; wherever a colour marks a
community, its number is beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#7E45D0", "#8A4A22")
# What is not in any listed community.
REST = "#A3A8AF"


def assign_colours(links: NDArray[Any], weight: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Assign to each of `count` communities, larger ones first, a number into `PALETTE`.

    `links` and `weight` give which communities are close. A community takes a colour that none has yet, or
    the one that is least used among those close to it.

    >>> assign_colours(np.array([[0, 1]]), np.array([1.0]), 3).tolist()
    [0, 1, 2]
    """
    from scipy.sparse import csr_array

    colours = len(PALETTE)
    chosen = np.full(count, -1, dtype=np.int64)
    used = np.zeros(colours)
    ends = np.concatenate([links, links[:, ::-1]]).reshape(-1, 2)
    rows = csr_array((np.tile(weight, 2), (ends[:, 0], ends[:, 1])), shape=(count, count))
    for k in range(count):
        row = slice(rows.indptr[k], rows.indptr[k + 1])
        taken = chosen[rows.indices[row]]
        close = np.bincount(taken[taken >= 0], rows.data[row][taken >= 0], minlength=colours)
        free = np.flatnonzero(used == 0)
        # Among equally free colours the one that was used least keeps the whole picture balanced.
        chosen[k] = free[0] if len(free) else np.lexsort((np.arange(colours), used, close))[0]
        used[chosen[k]] += 1
    return chosen
