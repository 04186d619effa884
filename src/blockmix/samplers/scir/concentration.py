"""The concentration K alpha given the memberships, for both link models: (Q1) to (Q3) of README.md.

Where the user gives no alpha it is learned: once a sweep it is drawn from its law given the rows of all nodes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Comm, Solo, add_up
from blockmix.numerics.compile import kernel
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_CONCENTRATION
from blockmix.numerics.variates import uniform53
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.constants import SLICE_STEPS, SLICE_WIDTH
from blockmix.tables.layout import FIXED_POINT, Key, Rows

# (Q1) K alpha is Exponential(1) between these two: below the first memberships are hard, above the second all alike.
LEAST, MOST = 1e-3, 1e2
# (Q2) A component below this is only known to be below it: where rows are drawn whole, and so many times the component
# that the truncation (P3) leaves out of a row on average. Chosen on Dirichlet rows that were truncated: with 1 K alpha
# is up to 14% too low, with 4 up to 7% at nodes of one link and 3% at others (lab notes, "the concentration").
SMALL_IN_WHOLE_ROWS, TIMES_TRUNCATED = 1e-5, 4.0
# Where that is more than this, the law of small components is another one, and the node is left out.
LARGEST_SMALL = 0.05


class Evidence(NamedTuple):
    """(Q3) What the rows say: nodes, K, components that are not small, the sums of log(pi/c) over them and of log c.

    `limits` is the sum of log c over all nodes.
    """

    nodes: float
    communities: float
    kept: float
    excess: float
    limits: float


def small_components(degrees: NDArray[np.int64], smallest: float | None) -> NDArray[np.float64]:
    """(Q2) Return for each node the size c below which a component is small; no `smallest` phi means whole rows.

    It is 0 for nodes that are left out: truncated rows say nothing where a node has no links, or too few.

    >>> small_components(np.array([0, 1, 10]), 0.005)
    array([0.   , 0.02 , 0.002])
    """
    if smallest is None:
        return np.full(len(degrees), SMALL_IN_WHOLE_ROWS)
    small = TIMES_TRUNCATED * smallest / np.maximum(degrees, 1)
    return np.where((degrees > 0) & (small <= LARGEST_SMALL), small, 0.0)


class DegreeCounts(NamedTuple):
    """The numbers of links that nodes of the network have, in increasing order, and how many nodes have each."""

    degrees: NDArray[np.int64]
    nodes: NDArray[np.int64]


def count_degrees(degrees: NDArray[np.int64]) -> DegreeCounts:
    """Count the nodes of each degree."""
    return DegreeCounts(*np.unique(degrees, return_counts=True))


class ConcentrationMove:
    """The draw of K alpha for the nodes of one network.

    `degrees` are those of the nodes that this process updates, `counts` those of all nodes where others update some.
    """

    def __init__(
        self,
        degrees: NDArray[np.int64],
        communities: int,
        workers: Workers,
        comm: Comm | None = None,
        counts: DegreeCounts | None = None,
    ) -> None:
        self.degrees, self.communities, self.workers = degrees, communities, workers
        self.comm: Comm = Solo() if comm is None else comm
        self.counts = count_degrees(degrees) if counts is None else counts
        self._smallest: float | None = -1.0
        self._small, self._nodes, self._limits = np.empty(0), 0.0, 0.0

    def draw(self, total: float, smallest: float | None, rows: Rows, key: Key) -> float:
        """(Q3) Return the next K alpha; `total` is the present one, and `smallest` the smallest phi kept by rows."""
        if smallest != self._smallest:
            most = int(self.degrees.max(initial=0))
            self._smallest, self._small = smallest, small_components(np.arange(most + 1), smallest)
            # By degree and not by node: a sum of floats over nodes would depend on where nodes are stored.
            small = small_components(self.counts.degrees, smallest)
            nodes, used = self.counts.nodes[small > 0.0], small[small > 0.0]
            self._nodes, self._limits = float(nodes.sum()), float((nodes * np.log(used)).sum())
        # Integers, so that the sums have the same bits on any number of threads and ranks.
        sums = np.zeros((self.workers.threads, 2), dtype=np.int64)

        def read(worker: int, begin: int, end: int) -> None:
            add_rows_range(begin, end, self.degrees, self._small, rows, sums[worker])

        self.workers.share(len(self.degrees), read)
        add_up(sums, self.comm)
        kept, excess = sums.sum(axis=0)
        given = Evidence(
            self._nodes, float(self.communities), float(kept), float(excess / FIXED_POINT), self._limits
        )
        return float(draw_concentration(total, given, key))


@kernel
def add_rows_range(
    begin: int, end: int, degrees: np.ndarray, small_at: np.ndarray, rows: Rows, sums: np.ndarray
) -> None:
    """Count the components of a range of nodes that are not small, and add up log(pi/c) of them.

    `small_at` has c of a node by its number of links.
    """
    kept, excess = 0, 0
    for a in range(begin, end):
        small = small_at[degrees[a]]
        if small == 0.0:
            continue
        for j in range(0, rows.words.shape[1], 2):
            if rows.words[a, j] < 0:
                break
            pi = rows.weights[a, j + 1]
            if pi >= small:
                kept += 1
                excess += int(math.log(pi / small) * FIXED_POINT)
    sums[0] += kept
    sums[1] += excess


@kernel
def log_density(t: float, given: Evidence) -> float:
    """(Q1), (Q3) Compute the log density of t = log(K alpha), up to a constant."""
    total = math.exp(t)
    alpha = total / given.communities
    result = t - total + given.nodes * math.lgamma(total) + given.kept * math.log(alpha)
    result -= given.nodes * given.communities * math.lgamma(1.0 + alpha)
    return result + alpha * given.excess + total * given.limits


@kernel
def draw_concentration(total: float, given: Evidence, key: Key) -> float:
    """(Q3) Draw K alpha given the rows, by slice sampling of its logarithm (Neal 2003): step out, then shrink."""
    lowest, highest, now = math.log(LEAST), math.log(MOST), math.log(total)
    width = SLICE_WIDTH / math.sqrt(given.kept + 1.0)
    level = log_density(now, given) + math.log(_uniform(0, key))
    low = now - width * _uniform(1, key)
    high = low + width
    while low > lowest and log_density(low, given) > level:
        low -= width
    while high < highest and log_density(high, given) > level:
        high += width
    low, high = max(low, lowest), min(high, highest)
    for step in range(2, SLICE_STEPS):
        t = low + (high - low) * _uniform(step, key)
        if log_density(t, given) > level:
            return math.exp(t)
        if t < now:
            low = t
        else:
            high = t
    return total


@kernel
def _uniform(step: int, key: Key) -> float:
    """Return the uniform of one step of a slice."""
    word = stream_word(DRAW_CONCENTRATION, 0)
    w0, w1, _, _ = philox4x32(np.uint32(0), key.sweep, word, np.uint32(step), key.low, key.high)
    return uniform53(w0, w1)
