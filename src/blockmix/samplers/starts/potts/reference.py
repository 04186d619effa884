"""One batch of local moving in plain Python: the version to read first, and the one that tests compare with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.samplers.starts.potts.local_moves import LEAST_GAIN


def rank(number: int, salt: int) -> int:
    """Return the place of a group, or of a part, in a random order: its number, mixed by a hash of 32 bits."""
    x = (int(number) ^ salt) & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    return x ^ (x >> 16)


def move_batch(
    weight: NDArray[np.int64], sizes: NDArray[np.int64], parts: NDArray[np.int32], batch: list[int],
    resolution: float, salt: int, batches: int, free: bool = True,
) -> NDArray[np.int32]:  # fmt: skip
    """Return the parts after the groups of a batch have chosen and moved.

    `weight[g, h]` are the links between groups, `sizes` their nodes; `free` says that parts are named after groups, so
    that a group that loses where it is may leave for a part of its own.
    """
    count = int(parts.max()) + 1 if not free else len(sizes)
    nodes = np.bincount(parts, weights=sizes, minlength=count).astype(np.float64)
    chosen: dict[int, tuple[int, float, int]] = {}
    for g in batch:
        links = np.bincount(parts, weights=weight[g], minlength=count)
        links[parts[g]] -= weight[g, g]
        home = int(parts[g])
        stay = links[home] - resolution * (sizes[g] * (nodes[home] - sizes[g]))
        others = [p for p in np.flatnonzero(links).tolist() if p != home]
        gains = {p: links[p] - resolution * (sizes[g] * nodes[p]) for p in others}
        better = [p for p in others if gains[p] > stay + LEAST_GAIN]
        best = min(better, key=lambda p: (-gains[p], rank(p, salt))) if better else -1
        most = gains[best] if better else stay + LEAST_GAIN
        if free and most < 0.0 and nodes[home] > sizes[g] and nodes[g] == 0:
            best = g
        if best < 0 or (free and _waits(g, best, parts, sizes, nodes, salt, batches)):
            continue
        chosen[g] = (int(best), stay, int(links[best]) if best != g else 0)
    return _after(chosen, sizes, nodes, parts, resolution, salt)


def _waits(
    g: int, part: int, parts: NDArray[np.int32], sizes: NDArray[np.int64], nodes: NDArray[np.float64], salt: int,
    batches: int,
) -> bool:  # fmt: skip
    """Say whether g, alone in its part, leaves it to another lone group of its batch to join."""
    alone = nodes[parts[g]] == sizes[g]
    lone = parts[part] == part and nodes[part] == sizes[part]
    same = rank(g, salt) % batches == rank(part, salt) % batches
    return bool(alone and lone and same and rank(part, salt) > rank(g, salt))


def _after(
    chosen: dict[int, tuple[int, float, int]], sizes: NDArray[np.int64], nodes: NDArray[np.float64],
    parts: NDArray[np.int32], resolution: float, salt: int,
) -> NDArray[np.int32]:  # fmt: skip
    """Move those that gain when everybody who chose the same part joins it, and of each part the one of least rank."""
    result = parts.copy()
    for g, (part, stay, links) in chosen.items():
        joining = [h for h, (other, _, _) in chosen.items() if other == part]
        others = nodes[part] + sum(int(sizes[h]) for h in joining) - sizes[g]
        gained = links - resolution * (sizes[g] * others) - stay
        if gained > LEAST_GAIN or g == min(joining, key=lambda h: rank(h, salt)):
            result[g] = part
    return result
