"""Colours of communities: distinguishable for colour-blind readers too, chosen so that neighbours differ most.

The first eight are after Okabe and Ito (2008), yellow and black replaced by a violet and a brown that show on white
and on black; the six others are those of a grid in OKLCH that lie furthest from all before them for four kinds of eyes.
With more communities than colours several share a colour: never two that are close if it can be avoided, and
wherever a colour marks a community, its number is beside it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#7E45D0", "#8A4A22",
    "#D6BB79", "#6D485D", "#A5148F", "#476547", "#92CFA1", "#B77DF8",
)  # fmt: skip
# What is not in any listed community.
REST = "#A3A8AF"
# How the three common kinds of colour blindness see linear RGB (Machado, Oliveira and Fernandes 2009).
EYES = {
    "usual": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
# Units of CIELAB at which two colours count as half alike.
_ALIKE = 25.0


def assign_colours(links: NDArray[Any], weight: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Assign to each of `count` communities, in their order, a number into `PALETTE`.

    `links` and `weight` give which communities are close. A community takes the colour least like those of the ones
    close to it, each weighed by how close it is; among equally good ones the colour that was used least.

    >>> assign_colours(np.array([[0, 1]]), np.array([1.0]), 3).tolist()
    [0, 1, 2]
    """
    from scipy.sparse import csr_array

    colours, alike = len(PALETTE), likeness()
    chosen = np.full(count, -1, dtype=np.int64)
    used = np.zeros(colours)
    ends = np.concatenate([links, links[:, ::-1]]).reshape(-1, 2)
    rows = csr_array((np.tile(weight, 2), (ends[:, 0], ends[:, 1])), shape=(count, count))
    for k in range(count):
        row = slice(rows.indptr[k], rows.indptr[k + 1])
        taken = chosen[rows.indices[row]]
        close = np.bincount(taken[taken >= 0], rows.data[row][taken >= 0], minlength=colours)
        cost = alike @ close
        free = np.flatnonzero(used == 0)
        chosen[k] = free[0] if len(free) else np.lexsort((np.arange(colours), used, cost.round(9)))[0]
        used[chosen[k]] += 1
    return chosen


@cache
def likeness() -> NDArray[np.float64]:
    """Compute how much alike every two colours of the palette are, 1 for the same, for the eyes that see least."""
    distance = np.min([_distances(matrix) for matrix in EYES.values()], axis=0)
    return np.asarray(0.5 ** (distance / _ALIKE) ** 2, dtype=np.float64)


def _distances(matrix: Any) -> NDArray[np.float64]:
    lab = np.array([cielab(colour, matrix) for colour in PALETTE])
    return np.asarray(np.linalg.norm(lab[:, None] - lab[None], axis=-1), dtype=np.float64)


def rgb(colour: str) -> NDArray[np.float64]:
    """Return red, green and blue from 0 to 1 of a colour such as "#0072B2"."""
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def cielab(colour: str, matrix: Any) -> NDArray[np.float64]:
    """Compute the place of a colour in CIELAB; `matrix` turns linear RGB into what an eye sees of it."""
    light = rgb(colour)
    linear = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(matrix) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ linear / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])
