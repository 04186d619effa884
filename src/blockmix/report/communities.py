"""What the report shows of communities: sizes, strengths, certain members, bridge nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.posterior.posterior import Posterior
from blockmix.posterior.views import beta_interval

# A member more likely than not makes at least this share of its links in the community.
THRESHOLD = 0.1
# A bridge has two memberships that are both this large, and whose lower bound (5%) stays above the second.
BRIDGE_SHARE, BRIDGE_LOWER = 0.1, 0.02
_LOWER_5_PERCENT = 1.645
MOST_CERTAIN, MOST_NEIGHBOURS = 6, 4
# A community is named by so many of its most certain members.
NAMED_BY = 3
# Intervals of more entries than this are computed once for each pair of mean and sd in steps of 0.001.
_MANY = 50_000


@dataclass(frozen=True, eq=False)
class Findings:
    """A posterior as the report reads it: its table of memberships with the node of every entry."""

    post: Posterior
    threshold: float = THRESHOLD
    level: float = 0.9

    @cached_property
    def node(self) -> NDArray[np.int64]:
        """The node of every entry of the table of memberships."""
        return np.repeat(np.arange(self.post.graph.n_nodes), np.diff(self.post.offsets))

    @cached_property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper bound of every entry of the table."""
        return fast_interval(np.asarray(self.post.mean), np.asarray(self.post.sd), self.level)

    @cached_property
    def covers(self) -> dict[int, NDArray[np.int64]]:
        """Members of every community that `Posterior.communities` lists."""
        return self.post.covers(self.threshold)

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The communities that are listed, those with the most evidence first."""
        return np.array(sorted(self.covers), dtype=np.int64)

    @cached_property
    def sure(self) -> NDArray[np.bool_]:
        """Entries that are a real share of a clear community: large, and surely above zero."""
        mean, sd = np.asarray(self.post.mean), np.asarray(self.post.sd)
        sure = (mean >= BRIDGE_SHARE) & (mean - _LOWER_5_PERCENT * sd >= BRIDGE_LOWER)
        return np.asarray(sure & self.post.clear[self.post.community])

    @cached_property
    def bridges(self) -> NDArray[np.int64]:
        """Nodes that surely belong to two communities or more, those with the largest second share first.

        A node whose community is merely unknown also has several mean memberships, but their lower bounds
        are near zero: it is not a bridge.
        """
        nodes, mean = self.node[self.sure], np.asarray(self.post.mean)[self.sure]
        # Rows are sorted by mean, so the second sure entry of a node is its second largest.
        rank = np.arange(len(nodes)) - np.searchsorted(nodes, nodes)
        second = np.flatnonzero(rank == 1)
        return nodes[second[np.argsort(-mean[second], kind="stable")]]

    @cached_property
    def names(self) -> dict[int, str]:
        """A name for every listed community: the labels of its most certain members."""
        graph = self.post.graph
        return {
            number: " · ".join(graph.name_of(int(a)) for a in nodes[:NAMED_BY])
            for number, nodes in self.certain.items()
        }

    @cached_property
    def certain(self) -> dict[int, NDArray[np.int64]]:
        """The most certain members of every listed community."""
        return self.certain_members()

    def certain_members(self) -> dict[int, NDArray[np.int64]]:
        """Return for every community the members whose lower bound is highest."""
        member = np.asarray(self.post.mean) >= self.threshold
        community, node, lower = self.post.community[member], self.node[member], self.bounds[0][member]
        order = np.lexsort((node, -lower, community))
        community, node = community[order], node[order]
        ends = np.searchsorted(community, self.numbers)
        return {
            int(k): node[begin : min(begin + MOST_CERTAIN, begin + len(self.covers[int(k)]))]
            for k, begin in zip(self.numbers, ends, strict=True)
        }

    def shared_bridges(self) -> dict[int, list[tuple[int, int]]]:
        """Return for every community the others it shares most bridge nodes with, and how many."""
        from scipy.sparse import csr_array

        surely = csr_array(
            (np.ones(int(self.sure.sum())), (self.node[self.sure], self.post.community[self.sure])),
            shape=(self.post.graph.n_nodes, self.post.n_communities),
        )
        shared = csr_array(surely.T @ surely)
        found = {}
        for k in self.numbers.tolist():
            row = slice(shared.indptr[k], shared.indptr[k + 1])
            others = [
                (int(o), round(float(n)))
                for o, n in zip(shared.indices[row], shared.data[row], strict=True)
                if o != k
            ]
            found[k] = sorted(others, key=lambda pair: (-pair[1], pair[0]))[:MOST_NEIGHBOURS]
        return found

    @cached_property
    def placed(self) -> NDArray[np.int64]:
        """The communities that have a place on the map: those listed, then others that some node is mostly in."""
        first = np.asarray(self.post.offsets[:-1])[np.diff(self.post.offsets) > 0]
        used = np.unique(np.asarray(self.post.community)[first]).astype(np.int64)
        return np.concatenate([self.numbers, np.setdiff1d(used, self.numbers)])

    def community_links(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return pairs of the first `count` of `placed` and the expected number of links between them.

        A link counts for communities k and l as far as one end is in k and the other in l: the sum of
        pi_ak pi_bl over links, with mean memberships.
        """
        from scipy.sparse import coo_array, csr_array, triu

        numbers = self.placed[:count]
        place = np.full(self.post.n_communities, -1)
        place[numbers] = np.arange(len(numbers))
        column = place[self.post.community]
        keep = column >= 0
        shares = csr_array(
            (np.asarray(self.post.mean, dtype=np.float64)[keep], (self.node[keep], column[keep])),
            shape=(self.post.graph.n_nodes, len(numbers)),
        )
        between = coo_array(triu(shares.T @ (self.post.graph.to_scipy() @ shares), k=1))
        pairs = np.column_stack([between.row, between.col]).astype(np.int64)
        return pairs, np.asarray(between.data, dtype=np.float64)


def fast_interval(mean: Any, sd: Any, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute `beta_interval`, on a grid of means and standard deviations where there are very many."""
    if len(mean) <= _MANY:
        return beta_interval(mean, sd, level)
    steps = np.rint(np.column_stack([mean, sd]) * 1000.0).astype(np.int64)
    values, where = np.unique(steps[:, 0] * 2048 + steps[:, 1], return_inverse=True)
    lower, upper = beta_interval(values // 2048 / 1000.0, values % 2048 / 1000.0, level)
    return lower[where], upper[where]
