"""The best cut through a tree of groups: every branch is cut where that makes the network most likely.

Groups of groups make a tree. No single resolution suits a network that has both small dense communities and large
loose ones; a cut may take the small groups of one branch and a large group of another. With the background fixed the
integrated likelihood is a sum over the parts of a partition, so the best cut is found from the leaves to the root
in one pass: a group is one part where its score is higher than that of the best cut through its own groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

# The prior's penalty of a part: K shares from a Dirichlet(1/K), times the K! ways to number the parts, leave one nat.
PRICE = 1.0
# At this price every merger in the tree raises the score.
MOST_PRICE = 1e12

Groups = NDArray[np.int64]
Counts = NDArray[np.float64]


@dataclass(eq=False)
class Dendrogram:
    """Groups of nodes, groups of those, and so on: for each step up the group that every group goes into."""

    nodes: int
    parents: list[Groups] = field(default_factory=list)
    inside: list[Counts] = field(default_factory=list)
    sizes: list[Counts] = field(default_factory=list)

    def grow(self, parents: Groups, inside: Counts, sizes: Counts) -> None:
        """Add a level: the new group of each group, the links inside the new ones and their sizes in nodes."""
        self.parents.append(parents)
        self.inside.append(inside)
        self.sizes.append(sizes)

    def cut(self, background: float, price: float = PRICE) -> Groups:
        """Return the part of every node in the best cut, each part with the penalty `price`."""
        is_part = []
        best = np.full(self.nodes, -price)
        for parents, inside, sizes in zip(self.parents, self.inside, self.sizes, strict=True):
            apart = np.bincount(parents, weights=best, minlength=len(sizes))
            whole = part_score(inside, sizes, background) - price
            is_part.append(whole > apart)
            best = np.maximum(whole, apart)
        return self._numbered(is_part)

    def cut_to(self, parts: int, background: float) -> Groups:
        """Return the best cut with at most so many parts that some price gives, or the coarsest one."""
        low, high = PRICE, 2.0 * PRICE
        found = self.cut(background)
        if found.max(initial=0) < parts:
            return found
        while (found := self.cut(background, high)).max() >= parts:
            if high > MOST_PRICE:
                return found
            low, high = high, 4.0 * high
        while high - low > 0.02 * high:
            middle = (low + high) / 2
            tried = self.cut(background, middle)
            if tried.max() < parts:
                found, high = tried, middle
            else:
                low = middle
        return found

    def _numbered(self, is_part: list[NDArray[np.bool_]]) -> Groups:
        """Give every node the number of its part: from the root down, the first group that is one."""
        if not self.parents:
            return np.arange(self.nodes)
        above, fresh = np.full(len(self.sizes[-1]), -1), self.nodes
        for parents, own in zip(reversed(self.parents), reversed(is_part), strict=True):
            alone = (above < 0) & own
            above[alone] = fresh + np.arange(np.count_nonzero(alone))
            fresh += int(np.count_nonzero(alone))
            above = above[parents]
        return np.unique(np.where(above < 0, np.arange(self.nodes), above), return_inverse=True)[1].astype(
            np.int64
        )


def part_score(inside: Counts, sizes: Counts, background: float) -> Counts:
    """Compute what a part adds to the log likelihood, relative to the background, and to the prior.

    The prior of a part of n nodes is Gamma(n); the price is the rest of the prior.
    """
    pairs = sizes * (sizes - 1) / 2
    apart = inside * np.log(background) + (pairs - inside) * np.log1p(-background)
    return np.asarray(betaln(1 + inside, 1 + pairs - inside) - apart + gammaln(sizes))
