"""Running means and variances of sparse memberships, in memory that grows neither with K nor with time.

Every node keeps a table of P entries (community, mean, sum of squared deviations), updated by Welford's rule
with each sample. Where a community has no entry and none is free, it replaces the entry with the smallest mean if its
own mean would be larger; the mean that was replaced is counted as lost mass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import kernel
from blockmix.tables.layout import Rows


class Running(NamedTuple):
    """Entries of all nodes; community -1 is a free entry. `lost` is the mean weight that each node has no entry for."""

    community: NDArray[np.int32]
    mean: NDArray[np.float32]
    deviation: NDArray[np.float32]
    lost: NDArray[np.float32]


def new_running(nodes: int, entries: int) -> Running:
    """Return tables with every entry free."""
    return Running(
        np.full((nodes, entries), -1, dtype=np.int32),
        np.zeros((nodes, entries), dtype=np.float32),
        np.zeros((nodes, entries), dtype=np.float32),
        np.zeros(nodes, dtype=np.float32),
    )


@kernel
def fade(a: int, samples: float, running: Running) -> None:
    """Add a sample of zero to every entry of a node; `add_weight` then corrects those that are not zero."""
    for i in range(running.community.shape[1]):
        if running.community[a, i] < 0:
            break
        mean = np.float64(running.mean[a, i])
        running.mean[a, i] = mean - mean / samples
        running.deviation[a, i] += mean * (mean - mean / samples)
    running.lost[a] -= running.lost[a] / samples


@kernel
def add_weight(a: int, k: int, pi: float, samples: float, running: Running) -> None:
    """Change the zero that `fade` added for community k of this sample to pi."""
    entries = running.community.shape[1]
    smallest = 0
    for i in range(entries):
        known = running.community[a, i]
        if known == k or known < 0:
            # fade() moved the mean from m to m (1 - 1/T) and added m * m (1 - 1/T) to the deviation
            faded = np.float64(running.mean[a, i]) if known == k else 0.0
            old = faded * samples / (samples - 1.0) if samples > 1.0 else 0.0
            mean = faded + pi / samples
            running.deviation[a, i] += (pi - old) * (pi - mean) - old * faded
            running.mean[a, i] = mean
            running.community[a, i] = k
            return
        if running.mean[a, i] < running.mean[a, smallest]:
            smallest = i
    mean = pi / samples
    if mean <= running.mean[a, smallest]:
        running.lost[a] += mean
        return
    running.lost[a] += running.mean[a, smallest]
    running.community[a, smallest] = k
    running.mean[a, smallest] = mean
    running.deviation[a, smallest] = pi * (pi - mean)


@kernel
def add_sample(begin: int, end: int, samples: float, rows: Rows, running: Running) -> None:
    """Add one sample to the nodes [begin, end); `samples` counts it."""
    slots = rows.words.shape[1] // 2
    for a in range(begin, end):
        fade(a, samples, running)
        for j in range(slots):
            k = rows.words[a, 2 * j]
            if k < 0:
                break
            add_weight(a, k, np.float64(rows.weights[a, 2 * j + 1]), samples, running)
