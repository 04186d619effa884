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
from blockmix.samplers.starts.counting import PartCounts, Parts
from blockmix.samplers.starts.laws import PartLaw, log_evidence, pairs_inside

# The prior's penalty of a part: K shares from a Dirichlet(1/K), times the K! ways to number the parts, leave one nat.
PRICE = 1.0
# At this price every merger in the tree raises the score.
MOST_PRICE = 1e12

Scores = NDArray[np.float64]
Marks = NDArray[np.bool_]


class Dendrogram:
    """Groups of nodes, groups of those, and so on: for every node and group the group that it goes into.

    Nodes have the numbers 0 .. `nodes` - 1. Groups follow, level by level and in the order of their level; a group that
    is one of the level before under another number is not listed again. `above` is -1 for the tops of the tree.
    """

    def __init__(self, nodes: int, law: PartLaw, workers: Workers) -> None:
        self.nodes, self.law, self.workers = nodes, law, workers
        self.above = np.full(nodes, -1, dtype=np.int32)
        # Where in the tree the groups of the last level are, and where the groups of every level begin.
        self._places = np.arange(nodes, dtype=np.int32)
        self._begins = [nodes]
        self._counts: list[PartCounts] = []
        self._evidence: list[Scores] = []

    def grow(self, parents: Parts, counts: PartCounts) -> None:
        """Add a level: the new group of each group, and what is counted of the new ones."""
        begin, places = self._begins[-1], np.empty(len(counts.nodes), dtype=np.int32)
        parents = np.asarray(parents, dtype=np.int32)
        self._begins.append(int(join_places(parents, self._places, begin, places, self.above)))
        self.above = np.append(self.above, np.full(self._begins[-1] - begin, -1, dtype=np.int32))
        self._places = places
        merged = counts.those(places >= begin)
        self._counts.append(merged)
        self._evidence.append(log_evidence(self.law, merged, self.workers) + gammaln(merged.nodes))

    def cut(self, background: float, price: float = PRICE) -> Parts:
        """Return the part of every node in the best cut, each part with the penalty `price`."""
        return self._numbered(self._best(self._scores(background), price))[0]

    def cut_to(self, parts: int, background: float) -> Parts:
        """Return the best cut with at most so many parts that some price gives, or the coarsest one."""
        scores = self._scores(background)
        low, high = PRICE, 2.0 * PRICE
        found = self._best(scores, PRICE)
        if self._count(found) > parts:
            while self._count(found := self._best(scores, high)) > parts:
                if high > MOST_PRICE:
                    return self._numbered(found)[0]
                low, high = high, 4.0 * high
            while high - low > 0.02 * high:
                middle = (low + high) / 2
                tried = self._best(scores, middle)
                if self._count(tried) <= parts:
                    found, high = tried, middle
                else:
                    low = middle
        return self._numbered(found)[0]

    def _scores(self, background: float) -> Scores:
        """Compute what every group adds as a part to the log likelihood, against the background, and to the prior."""
        levels = zip(self._evidence, self._counts, strict=True)
        return np.concatenate([np.empty(0), *(relative(self.law, *level, background) for level in levels)])

    def _best(self, scores: Scores, price: float) -> Marks:
        """Mark the groups that are worth more as one part than cut."""
        is_part = np.empty(len(scores), dtype=np.bool_)
        mark_parts(self.nodes, self.above, scores, price, is_part, np.zeros(len(scores)))
        return is_part

    def _count(self, marks: Marks) -> int:
        """Count the parts of a cut."""
        return self._numbered(marks)[1]

    def _numbered(self, marks: Marks) -> tuple[Parts, int]:
        """Return the number of the part of every node, and how many parts there are.

        From the tops down, the first group that is a part; numbers follow the order of groups in their level.
        """
        numbers = np.empty(self._begins[-1], dtype=np.int32)
        count = number_parts_below(self.nodes, self.above, np.array(self._begins), marks, numbers)
        return numbers[: self.nodes].copy(), int(count)


@kernel
def join_places(parents: np.ndarray, old: np.ndarray, begin: int, new: np.ndarray, above: np.ndarray) -> int:
    """Set the places of the new groups in the tree: that of their only child, or the next ones from `begin` on.

    Set what is above the children of the latter, and return the next place.
    """
    new[:] = -2
    for g in range(parents.shape[0]):
        p = parents[g]
        new[p] = old[g] if new[p] == -2 else -1
    place = begin
    for p in range(new.shape[0]):
        if new[p] == -1:
            new[p] = place
            place += 1
    for g in range(parents.shape[0]):
        p = parents[g]
        if new[p] >= begin:
            above[old[g]] = new[p]
    return place


@kernel
def mark_parts(
    nodes: int, above: np.ndarray, score: np.ndarray, price: float, is_part: np.ndarray, best: np.ndarray
) -> None:
    """Mark the groups whose score less the price is above the sum of the best that their own groups reach.

    A single node reaches minus the price. `best` is zero at first; groups come after all that are below them.
    """
    for a in range(nodes):
        if above[a] >= 0:
            best[above[a] - nodes] -= price
    for t in range(score.shape[0]):
        alone = score[t] - price
        is_part[t] = alone > best[t]
        best[t] = max(best[t], alone)
        up = above[nodes + t]
        if up >= 0:
            best[up - nodes] += best[t]


@kernel
def number_parts_below(
    nodes: int, above: np.ndarray, begins: np.ndarray, is_part: np.ndarray, numbers: np.ndarray
) -> int:
    """Give groups the number of the group above them, or, where they are a part, the next one; return the count.

    Levels are gone through from the top, groups of a level in order, and the nodes last: each is a part by itself.
    """
    count = 0
    for level in range(begins.shape[0] - 1, -1, -1):
        first = begins[level - 1] if level else 0
        for t in range(first, begins[level]):
            up = above[t]
            numbers[t] = numbers[up] if up >= 0 else -1
            if numbers[t] < 0 and (t < nodes or is_part[t - nodes]):
                numbers[t] = count
                count += 1
    return count


def relative(law: PartLaw, evidence: Scores, counts: PartCounts, background: float) -> Scores:
    """Compute the score of parts against the same pairs at the background, from their evidence and prior.

    The prior of a part of n nodes is Gamma(n); the price is the rest of the prior.
    """
    links, pairs = counts.inside.astype(np.float64), pairs_inside(law, counts)
    return np.asarray(evidence - law.at_strength(links, pairs, background))


def part_score(law: PartLaw, counts: PartCounts, background: float) -> Scores:
    """Compute the score of parts, as `cut` adds them up before the price."""
    evidence = log_evidence(law, counts, Workers(1)) + gammaln(counts.nodes)
    return relative(law, evidence, counts, background)
