"""The settings of the default sampler on the popularity model, checked where they come in."""

from __future__ import annotations

from dataclasses import dataclass

from blockmix.samplers.checks import check_choice, check_count, check_positive
from blockmix.samplers.scir.options import MOST_SLOTS

# Networks of up to so many links are swept node by node, larger ones in so many batches. Chains of small networks
# run on one thread each, so that node by node costs them nothing.
MOST_IN_TURN, DEFAULT_BATCHES = 150_000, 5


@dataclass(frozen=True)
class PopularityOptions:
    """What can be set on `scir` with the popularity model.

    Arguments:
        slots: communities a node can be in at once, L.
        batches: batches a sweep; nodes of one batch read the same state. 0, the default: one node after the other,
            which is exact, on networks of up to 150,000 links, and 5 batches on larger ones.
        smallest: a birth below this size, in units of links, is left out; nodes without links have a smaller limit.
        start: "partition" or "random".
    """

    slots: int = 16
    batches: int = 0
    smallest: float = 0.005
    start: str = "partition"

    def __post_init__(self) -> None:
        check_count("slots", self.slots, 1, MOST_SLOTS)
        check_count("batches", self.batches, 0, 10**6)
        check_positive("smallest", self.smallest)
        check_choice("start", self.start, ("partition", "random"))

    def batches_for(self, nodes: int, links: int) -> int:
        """Return the number of batches of a sweep; as many as nodes means one node after the other.

        >>> PopularityOptions().batches_for(1000, 5000), PopularityOptions().batches_for(10**6, 10**7)
        (1000, 5)
        """
        if self.batches:
            return min(self.batches, nodes)
        return nodes if links <= MOST_IN_TURN else min(DEFAULT_BATCHES, nodes)
