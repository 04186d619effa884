"""What the evidence of communities is made of in both link models: memberships, what they cost, shared communities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.special import gammaln, xlogy

from blockmix.graph.graph import Graph

Floats = NDArray[np.float64]
Pairs = NDArray[np.int64]

CHANCE = 0.05
# Links looked at in one step, so that memory stays bounded.
AT_ONCE = 1 << 18
TINY = float(np.finfo(np.float64).tiny)


class Memberships(NamedTuple):
    """Mean memberships in compressed rows, as a `Posterior` has them."""

    offsets: NDArray[np.int64]
    community: NDArray[np.int32]
    mean: NDArray[np.float32]


def charges(table: Memberships, training: Graph, communities: int) -> Floats:
    """Compute what every community is charged: sum_a pi_ak c_a, with what a node's memberships cost to describe."""
    m = _effective(table, communities)
    which = gammaln(communities + 1.0) - gammaln(m + 1.0) - gammaln(communities - m + 1.0)
    return _charged(table, which + 0.5 * (m - 1.0) * np.log(training.degrees + 1.0), communities)


def free_shares(table: Memberships, communities: int) -> Floats:
    """(M21) Compute the free shares of the members of every community, sum_a pi_ak (m_a - 1)."""
    return _charged(table, _effective(table, communities) - 1.0, communities)


def _nodes(table: Memberships) -> NDArray[np.int64]:
    counts = np.diff(table.offsets)
    return np.repeat(np.arange(len(counts)), counts)


def _effective(table: Memberships, communities: int) -> Floats:
    """Compute m_a, the effective number of memberships of every node."""
    node, mean, nodes = _nodes(table), table.mean.astype(np.float64), len(table.offsets) - 1
    total = np.maximum(np.bincount(node, mean, nodes), TINY)
    share = mean / total[node]
    several = np.exp(np.bincount(node, -xlogy(share, share), nodes))
    return np.asarray(np.clip(several, 1.0, communities))


def _charged(table: Memberships, cost: Floats, communities: int) -> Floats:
    """Share out what nodes cost among their communities."""
    return np.asarray(np.bincount(table.community, table.mean * cost[_nodes(table)], communities))


def shared_terms(
    links: Pairs, table: Memberships, above: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return the communities that both ends of a link are in: the number of the link, the community, and t_ab."""
    shape = (len(table.offsets) - 1, len(above))
    rows = csr_array((table.mean.astype(np.float64), table.community, table.offsets), shape=shape)
    both = coo_array(rows[links[:, 0]] * rows[links[:, 1]])
    return both.row.astype(np.int64), both.col.astype(np.int64), both.data * above[both.col]
