"""How many sweeps a run without limits may make: as many as take about ten minutes of one processor.

The limit is found from the work that a sweep has, before the run begins, and not from a clock: the same seed gives the
same bits on a slow machine and on a fast one.
"""

from __future__ import annotations

from blockmix.inference.plan import FEWEST_SWEEPS, MOST_BY_DEFAULT
from blockmix.samplers.scir.constants import MOST_EXACT

# Link updates of all chains together. One takes 0.3 microseconds (docs/benchmarks.md): ten minutes of one processor.
WORK = 2_000_000_000
# Link updates that a sweep of a chain takes before its first link, and a link of a network small enough to be exact.
A_SWEEP, EXACT_LINK = 1000, 5
# A warm-up and twice as many sampling sweeps fit into the limit of any network, however large.
FEWEST = 3 * FEWEST_SWEEPS


def most_sweeps(nodes: int, links: int, chains: int) -> int:
    """Return the sweeps, warm-up included, after which a run without limits ends in any case.

    >>> most_sweeps(34, 78, 8), most_sweeps(317_080, 1_049_866, 1), most_sweeps(10**6, 10**7, 1)
    (30000, 1903, 360)
    """
    work = A_SWEEP + links * (EXACT_LINK if nodes <= MOST_EXACT else 1)
    return min(max(WORK // (work * max(chains, 1)), FEWEST), MOST_BY_DEFAULT)
