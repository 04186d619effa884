"""Two results side by side: which communities are the same, and which nodes moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from blockmix.errors import InputError
from blockmix.evaluate import CoverScores, compare_covers
from blockmix.notebook import escaped, table_html
from blockmix.posterior.answers.shares import labels_of, largest_in_rows, mean_shares
from blockmix.posterior.answers.table import Answer

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# Up to this many communities they are matched optimally; beyond it greedily.
_OPTIMAL = 2000


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two results on the nodes that both have.

    `communities` has a row for each community of the first result that has members: its match in the second (-1 where
    there is none), and their likeness: sum_a min(pi, pi') / sum_a max(pi, pi'), 1 where they are the same.
    `moved` lists the nodes whose largest membership is in communities that are not matched, most changed first;
    `change` is half the sum of the differences of a node's memberships, from 0 to 1. `scores` compares the covers.
    """

    communities: Answer
    moved: Answer
    scores: CoverScores
    common: int

    def __repr__(self) -> str:
        return (
            f"{self.common:,} nodes in both; ONMI {self.scores.onmi:.3f}, omega {self.scores.omega:.3f}; "
            f"{len(self.moved):,} nodes moved\n{self.communities}"
        )

    def _repr_html_(self) -> str:
        first = repr(self).partition("\n")[0]
        return f"<div>{escaped(first)}</div>{table_html(self.communities.columns())}"


def compare(post: Posterior, other: Posterior, threshold: float) -> Comparison:
    """See `Posterior.compare`."""
    mine, theirs = _common_nodes(post, other)
    first, second = mean_shares(post)[mine], mean_shares(other)[theirs]
    sizes = [np.asarray(shares.sum(axis=0)).ravel() for shares in (first, second)]
    likeness = _likeness(sp.csr_array(first.T) @ second, sizes)
    match = _match(likeness, post.n_communities)
    used = np.flatnonzero(sizes[0] >= 0.5)
    renamed = _renamed(first, match, second.shape)
    least = np.asarray(renamed.minimum(second).sum(axis=0)).ravel()
    value = np.zeros(post.n_communities)
    matched = np.flatnonzero(match >= 0)
    common = least[match[matched]]
    value[matched] = common / np.maximum(sizes[0][matched] + sizes[1][match[matched]] - common, 1e-300)
    rows = Answer(
        {
            "community": used,
            "other": match[used],
            "likeness": value[used],
            "size": sizes[0][used],
            "other_size": np.where(match[used] >= 0, sizes[1][match[used]], 0.0),
        }
    )
    moved = _moved(post, mine, (first, renamed, second), match)
    place = np.full(post.graph.n_nodes, -1), np.full(other.graph.n_nodes, -1)
    place[0][mine] = place[1][theirs] = np.arange(len(mine))
    covers: list[Any] = [
        [found[found >= 0] for found in (where[nodes] for nodes in result.covers(threshold).values())]
        for result, where in ((post, place[0]), (other, place[1]))
    ]
    kept = [[nodes for nodes in cover if len(nodes)] for cover in covers]
    return Comparison(rows, moved, compare_covers(kept[0], kept[1], len(mine)), len(mine))


def _common_nodes(post: Posterior, other: Posterior) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if post.graph.fingerprint == other.graph.fingerprint:
        every = np.arange(post.graph.n_nodes)
        return every, every
    place = {str(label): node for node, label in enumerate(other.graph.labels)}
    pairs = [(node, place[str(label)]) for node, label in enumerate(post.graph.labels) if str(label) in place]
    if not pairs:
        raise InputError("the two results have no node in common: they are of different networks")
    found = np.array(pairs, dtype=np.int64)
    return found[:, 0], found[:, 1]


def _likeness(shared: Any, sizes: list[NDArray[np.float64]]) -> sp.csr_array:
    """Return shared membership over that of both together, for every pair of communities that share some."""
    found = sp.coo_array(shared)
    whole = sizes[0][found.row] + sizes[1][found.col] - found.data
    value = np.divide(found.data, whole, out=np.zeros(len(whole)), where=whole > 0)
    return sp.csr_array((value, (found.row, found.col)), shape=found.shape)


def _match(likeness: sp.csr_array, communities: int) -> NDArray[np.int64]:
    match = np.full(communities, -1, dtype=np.int64)
    if max(likeness.shape) <= _OPTIMAL:
        rows, columns = linear_sum_assignment(-likeness.toarray())
        kept = np.asarray(likeness[rows, columns]).ravel() > 0
        match[rows[kept]] = columns[kept]
        return match
    entries = sp.coo_array(likeness)
    taken: set[int] = set()
    for i in np.lexsort((entries.col, entries.row, -entries.data)).tolist():
        row, column = int(entries.row[i]), int(entries.col[i])
        if match[row] < 0 and column not in taken:
            match[row] = column
            taken.add(column)
    return match


def _renamed(first: Any, match: NDArray[np.int64], shape: tuple[int, int]) -> sp.csr_array:
    """Return the first result in the numbers of the second; communities without a match keep no place there."""
    entries = sp.coo_array(first)
    kept = match[entries.col] >= 0
    return sp.csr_array((entries.data[kept], (entries.row[kept], match[entries.col[kept]])), shape=shape)


def _moved(
    post: Posterior, mine: NDArray[np.int64], shares: tuple[Any, Any, Any], match: NDArray[np.int64]
) -> Answer:
    first, renamed, second = shares
    lost = np.asarray(first.sum(axis=1) - renamed.sum(axis=1)).ravel()
    change = 0.5 * (np.asarray(abs(renamed - second).sum(axis=1)).ravel() + lost)
    before, after = largest_in_rows(first), largest_in_rows(second)
    moved = np.flatnonzero((before >= 0) & (after >= 0) & (match[before] != after))
    moved = moved[np.lexsort((moved, -change[moved]))]
    return Answer(
        {
            "node": labels_of(post, mine[moved]),
            "community": before[moved],
            "other": after[moved],
            "change": np.minimum(change[moved], 1.0),
        }
    )
