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
# How many others around a community are its neighbours in the picture, and how often colours are chosen again.
_AROUND, _PASSES = 6, 4
# What a colour costs that is used as often as all are on average, where 1 is to be the same as all neighbours.
_EVEN = 0.3


def assign_colours(links: NDArray[Any], weight: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Assign to each of `count` communities, in their order, a number into `PALETTE`.

    `links` and `weight` give which communities are close (`close_in_picture`). A community takes the colour least like
    those of the ones close to it, each weighed by how close it is, and one that is used seldom rather than often.

    >>> assign_colours(np.array([[0, 1]]), np.array([1.0]), 3).tolist()
    [0, 1, 2]
    """
    from scipy.sparse import csr_array

    colours, alike = len(PALETTE), likeness()
    chosen = np.full(count, -1, dtype=np.int64)
    used = np.zeros(colours)
    even = _EVEN * colours / max(count, 1) * max(2.0 * float(weight.sum()) / max(count, 1), 1e-6)
    ends = np.concatenate([links, links[:, ::-1]]).reshape(-1, 2)
    rows = csr_array((np.tile(weight, 2), (ends[:, 0], ends[:, 1])), shape=(count, count))

    def best(k: int) -> int:
        row = slice(rows.indptr[k], rows.indptr[k + 1])
        taken = chosen[rows.indices[row]]
        close = np.bincount(taken[taken >= 0], rows.data[row][taken >= 0], minlength=colours)
        cost = alike @ close + even * used
        return int(np.lexsort((np.arange(colours), cost.round(9)))[0])

    for k in range(count):
        free = np.flatnonzero(used == 0)
        chosen[k] = free[0] if len(free) else best(k)
        used[chosen[k]] += 1
    # The first ones were chosen before their neighbours.
    for k in list(range(count)) * (_PASSES if count > colours else 0):
        used[chosen[k]] -= 1
        chosen[k] = best(k)
        used[chosen[k]] += 1
    return chosen


def close_in_picture(
    links: NDArray[Any], weight: NDArray[np.float64], centre: NDArray[np.float64], radius: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of communities that must not look alike, and how much: those with links, and those side by side.

    Links count by how much of the links of both they are, neighbours in the picture by their rank, 1 / (1 + rank); both
    add up to one for a community, on average.
    """
    count = len(centre)
    beside, near = _beside(centre, radius)
    of_each = np.maximum(np.bincount(links.ravel(), np.repeat(weight, 2), minlength=count), 1e-12)
    related = weight / np.sqrt(of_each[links[:, 0]] * of_each[links[:, 1]]) if len(links) else weight
    pairs = np.concatenate([links.reshape(-1, 2), beside]).astype(np.int64)
    scaled = [part * (0.5 * count / max(float(part.sum()), 1e-12)) for part in (related, near)]
    return pairs, np.concatenate(scaled)


def _beside(
    centre: NDArray[np.float64], radius: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for every disc those with the smallest gaps to it, and 1 / (1 + rank)."""
    from scipy.spatial import cKDTree

    count = len(centre)
    if count < 2:
        return np.zeros((0, 2), dtype=np.int64), np.zeros(0)
    distance, other = cKDTree(centre).query(centre, k=min(2 * _AROUND + 1, count))
    gap = np.where(other == np.arange(count)[:, None], np.inf, distance - radius[other])
    order = np.argsort(gap, axis=1, kind="stable")[:, : min(_AROUND, count - 1)]
    rank = np.tile(1.0 / (1.0 + np.arange(order.shape[1])), count)
    own = np.repeat(np.arange(count), order.shape[1])
    return np.column_stack([own, np.take_along_axis(other, order, axis=1).ravel()]), rank


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
