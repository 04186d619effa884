"""The best cut through a tree of groups: every branch is cut where that makes the network most likely.

Groups of groups make a tree. No single resolution suits a network that has both small dense communities and large
loose ones; a cut may take the small groups of one branch and a large group of another. With the background fixed the
integrated likelihood is a sum over the parts of a partition, so the best cut is found from the leaves to the root
in one pass: a group is one part where its score is higher than that of the best cut through its own groups.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from blockmix.numerics.compile import kernel
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.counting import Counts, Parts, log_evidence, pairs_of

# The prior's penalty of a part: K shares from a Dirichlet(1/K), times the K! ways to number the parts, leave one nat.
PRICE = 1.0
# At this price every merger in the tree raises the score.
MOST_PRICE = 1e12

Scores = NDArray[np.float64]
Marks = NDArray[np.bool_]


class Dendrogram:
    """Groups of nodes, groups of those, and so on: for each step up the group that every group goes into."""

    def __init__(self, nodes: int, workers: Workers) -> None:
        self.nodes, self.workers = nodes, workers
        self.parents: list[Parts] = []
        self.inside: list[Counts] = []
        self.sizes: list[Counts] = []
        self._evidence: list[Scores] = []

    def grow(self, parents: Parts, inside: Counts, sizes: Counts) -> None:
        """Add a level: the new group of each group, the links inside the new ones and their sizes in nodes."""
        self.parents.append(parents)
        self.inside.append(inside)
        self.sizes.append(sizes)
        self._evidence.append(log_evidence(inside, sizes, self.workers) + gammaln(sizes))

    def cut(self, background: float, price: float = PRICE) -> Parts:
        """Return the part of every node in the best cut, each part with the penalty `price`."""
        return self._numbered(self._best(self._scores(background), price))

    def cut_to(self, parts: int, background: float) -> Parts:
        """Return the best cut with at most so many parts that some price gives, or the coarsest one."""
        scores = self._scores(background)
        low, high = PRICE, 2.0 * PRICE
        found = self._best(scores, PRICE)
        if self._count(found) > parts:
            while self._count(found := self._best(scores, high)) > parts:
                if high > MOST_PRICE:
                    return self._numbered(found)
                low, high = high, 4.0 * high
            while high - low > 0.02 * high:
                middle = (low + high) / 2
                tried = self._best(scores, middle)
                if self._count(tried) <= parts:
                    found, high = tried, middle
                else:
                    low = middle
        return self._numbered(found)

    def _scores(self, background: float) -> list[Scores]:
        """Compute what every group adds to the log likelihood as a part, relative to the background, and to the prior.

        The prior of a part of n nodes is Gamma(n); the price is the rest of the prior.
        """
        link, non_link = np.log(background), np.log1p(-background)
        return [
            evidence - (inside * link + (pairs_of(sizes) - inside) * non_link)
            for evidence, inside, sizes in zip(self._evidence, self.inside, self.sizes, strict=True)
        ]

    def _best(self, scores: list[Scores], price: float) -> list[Marks]:
        """Mark in every level the groups that are worth more as one part than cut."""
        marks = []
        below = np.full(self.nodes, -price)
        for parents, score in zip(self.parents, scores, strict=True):
            is_part, best = np.empty(len(score), dtype=np.bool_), np.zeros(len(score))
            mark_parts(parents, below, score, price, is_part, best)
            marks.append(is_part)
            below = best
        return marks

    def _count(self, marks: list[Marks]) -> int:
        """Count the parts of a cut."""
        found = self._numbered(marks)
        return int(found.max(initial=-1)) + 1

    def _numbered(self, marks: list[Marks]) -> Parts:
        """Give every node the number of its part: from the root down, the first group that is one."""
        parts, fresh = np.full(self.nodes if not marks else len(marks[-1]), -1, dtype=np.int32), 0
        for parents, own in zip(reversed(self.parents), reversed(marks), strict=True):
            fresh = number_groups(own, parts, fresh)
            parts = parts[parents]
        number_groups(np.ones(self.nodes, dtype=np.bool_), parts, fresh)
        return parts


@kernel
def mark_parts(
    parents: np.ndarray,
    below: np.ndarray,
    score: np.ndarray,
    price: float,
    is_part: np.ndarray,
    best: np.ndarray,
) -> None:
    """Mark the groups whose score less the price is above the sum of the best that their own groups reach."""
    for g in range(parents.shape[0]):
        best[parents[g]] += below[g]
    for p in range(score.shape[0]):
        is_part[p] = score[p] - price > best[p]
        best[p] = max(best[p], score[p] - price)


@kernel
def number_groups(is_part: np.ndarray, parts: np.ndarray, fresh: int) -> int:
    """Give numbers from `fresh` on to the groups that are a part and in none yet; return the next number."""
    for g in range(parts.shape[0]):
        if parts[g] < 0 and is_part[g]:
            parts[g] = fresh
            fresh += 1
    return fresh


def part_score(inside: Counts, sizes: Counts, background: float) -> Scores:
    """Compute the score of parts, as `cut` adds them up before the price."""
    tree = Dendrogram(0, Workers(1))
    tree.grow(np.zeros(0, dtype=np.int32), np.asarray(inside), np.asarray(sizes))
    return tree._scores(background)[0]
