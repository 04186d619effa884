"""The evidence for each community: what it adds to the likelihood, less what some set of nodes does in any network.

With mean memberships pi, strength beta_k and background delta, community k adds t_ab = pi_ak pi_bk (beta_k - delta) to
the link probability p_ab of a pair (M1). Without it a link has log(p_ab / (p_ab - t_ab)) less of log likelihood, and a
non-link -log(1 - t_ab) more (where p_ab is small without k). The sum A_k over all training pairs is what the community
adds; one that is weaker than the background adds nothing.

Any network has some set of nodes with more links among them than elsewhere. A likelihood ratio has the mean one under
the model without the community, so that by Markov's inequality, and over all C(N, n) sets of all N sizes, one of them
exceeds C(N, n) N / q with a probability of at most q. (M14) takes that off:

    evidence_k = A_k - log C(N, n_k) - log(N / q),    q = 0.05, n_k the expected size.

A community with evidence above zero is *clear*. This holds for hard communities against a network that is uniform apart
from the other communities; memberships that are spread out have less evidence, never more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.special import gammaln

from blockmix.graph.graph import Graph

Floats = NDArray[np.float64]
Pairs = NDArray[np.int64]

# The chance that a network without communities shows a clear one.
CHANCE = 0.05
# Terms of log(1 - t): sums over all pairs of a power of pi_ak pi_bk are products of sums over nodes.
TERMS = 40
# Links looked at in one step, so that memory stays bounded.
_AT_ONCE = 1 << 18
_TINY = float(np.finfo(np.float64).tiny)


class Memberships(NamedTuple):
    """Mean memberships in compressed rows, as a `Posterior` has them."""

    offsets: NDArray[np.int64]
    community: NDArray[np.int32]
    mean: NDArray[np.float32]


def community_evidence(
    table: Memberships, strengths: Floats, background: float, sizes: Floats, training: Graph, held_out: Pairs
) -> Floats:
    """Compute the evidence (M14) of every community in nats, from the training links; held-out pairs do not enter."""
    above = strengths - background
    added, inside, links = np.zeros(len(strengths)), np.zeros(len(strengths)), training.edges()
    for begin in range(0, len(links), _AT_ONCE):
        _add_links(links[begin : begin + _AT_ONCE], table, above, background, added, inside)
    _, k, term = _shared(held_out, table, above)
    inside += np.bincount(k, _log_one_less(term), len(inside))
    added += _all_pairs(table.community, table.mean.astype(np.float64), above) - inside
    # Members of a community that is weaker than the background are linked less than others: the opposite of one.
    added = np.where(above > 0.0, added, 0.0)
    nodes = float(training.n_nodes)
    n = np.clip(sizes, 0.0, nodes)
    ways = gammaln(nodes + 1.0) - gammaln(n + 1.0) - gammaln(nodes - n + 1.0)
    return np.asarray(added - ways - np.log(nodes / CHANCE))


def _add_links(
    links: NDArray[np.int64],
    table: Memberships,
    above: Floats,
    background: float,
    added: Floats,
    inside: Floats,
) -> None:
    """Add the gain of every link to `added`, and what it would be as a non-link to `inside`, community by community."""
    which, k, term = _shared(links, table, above)
    p = np.maximum(background + np.bincount(which, term, len(links)), _TINY)
    rest = np.maximum(p[which] - term, _TINY)
    added += np.bincount(k, np.log(p[which] / rest), len(added))
    inside += np.bincount(k, _log_one_less(term), len(added))


def _shared(
    links: Pairs, table: Memberships, above: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return the communities that both ends of a link are in: the number of the link, the community, and t_ab."""
    shape = (len(table.offsets) - 1, len(above))
    rows = csr_array((table.mean.astype(np.float64), table.community, table.offsets), shape=shape)
    both = coo_array(rows[links[:, 0]] * rows[links[:, 1]])
    return both.row.astype(np.int64), both.col.astype(np.int64), both.data * above[both.col]


def _log_one_less(t: Floats) -> Floats:
    """Compute log(1 - t) by as many terms as `_all_pairs` has, so that links can be taken out of its sums."""
    power, total = np.ones(len(t)), np.zeros(len(t))
    for m in range(1, TERMS + 1):
        power = power * t
        total -= power / m
    return total


def _all_pairs(community: NDArray[np.int32], mean: Floats, above: Floats) -> Floats:
    """Sum log(1 - t_ab) over all pairs of nodes, for every community.

    The m-th power of pi_ak pi_bk, summed over pairs, is half of (sum_a pi^m)^2 - sum_a pi^2m.
    """
    count, total = len(above), np.zeros(len(above))
    power, slope = np.ones(len(mean)), np.ones(count)
    for m in range(1, TERMS + 1):
        power, slope = power * mean, slope * above
        once = np.bincount(community, power, count)
        twice = np.bincount(community, power * power, count)
        total -= slope * 0.5 * (once * once - twice) / m
    return total
