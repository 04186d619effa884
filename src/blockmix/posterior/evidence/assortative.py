"""The evidence for each community: what it adds to the likelihood, less what its memberships cost to describe.

With mean memberships pi, strength beta_k and background delta, community k adds t_ab = pi_ak pi_bk (beta_k - delta) to
the link probability p_ab of a pair (M1). Without it a link has log(p_ab / (p_ab - t_ab)) less of log likelihood, and a
non-link -log(1 - t_ab) more (where p_ab is small without k). The sum A_k over all training pairs is what the community
adds; one that is weaker than the background adds nothing.

Memberships that are fitted to a network always add something, also where there are no communities. A node with m_a
effective memberships, m_a = exp of the entropy of pi_a, and d_a links costs (M14)

    c_a = log C(K, m_a) + (m_a - 1)/2 log(d_a + 1)

nats to describe: which communities, and how much of each as exactly as its links tell. Community k is charged
sum_a pi_ak c_a, and log(N/0.05). It is *clear* if its evidence, A_k less this, is above zero, and if all communities of
which that is so gain more together over the density alone, with a background of what they leave, than they cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from blockmix.graph.graph import Graph
from blockmix.posterior.evidence.parts import (
    AT_ONCE,
    CHANCE,
    TINY,
    Floats,
    Memberships,
    Pairs,
    charges,
    shared_terms,
)

_MOST = 1.0 - 1e-12
# Terms of log(1 - t): sums over all pairs of a power of pi_ak pi_bk are products of sums over nodes.
TERMS = 40


def community_evidence(
    table: Memberships, strengths: Floats, background: float, training: Graph, held_out: Pairs
) -> tuple[Floats, float]:
    """Compute the evidence (M14) of every community, and of those that have some together, in nats.

    Only the training links enter, not the held-out pairs.
    """
    charge = charges(table, training, len(strengths))
    powers = _power_sums(table, len(strengths))
    added, _ = _likelihood(table, powers, strengths - background, background, training, held_out)
    # Members of a community that is weaker than the background are linked less than others: the opposite of one.
    added = np.where(strengths > background, added, 0.0)
    evidence = np.asarray(added - charge - np.log(max(training.n_nodes, 1) / CHANCE))
    some = evidence > 0.0
    pairs = max(training.n_pairs - len(held_out), 1)
    within = np.where(some, _pairs(table, len(strengths)), 0.0)
    rest = (training.n_edges - float((strengths * within).sum())) / max(pairs - float(within.sum()), 1.0)
    base = rest if 0.0 < rest < 1.0 else background
    _, together = _likelihood(table, powers, np.where(some, strengths - base, 0.0), base, training, held_out)
    rate = training.n_edges / pairs
    alone = xlogy(training.n_edges, rate) + xlog1py(pairs - training.n_edges, -rate)
    return evidence, float(together - alone - charge[some].sum())


def _likelihood(
    table: Memberships,
    powers: list[Floats],
    above: Floats,
    background: float,
    training: Graph,
    held_out: Pairs,
) -> tuple[Floats, float]:
    """Return what each community adds to the log likelihood of the training pairs, and this likelihood."""
    added, inside, links = np.zeros(len(above)), np.zeros(len(above)), training.edges()
    total = 0.0
    for begin in range(0, len(links), AT_ONCE):
        total += _add_links(links[begin : begin + AT_ONCE], table, above, background, added, inside)
    _, k, term = shared_terms(held_out, table, above)
    inside += np.bincount(k, _log_one_less(term), len(inside))
    apart = _all_pairs(powers, above) - inside
    non_links = max(training.n_pairs - len(held_out) - len(links), 0)
    total += float(apart.sum() + xlog1py(non_links, -min(background, _MOST)))
    return added + apart, total


def _pairs(table: Memberships, count: int) -> Floats:
    """Compute the expected number of pairs in each community: half of (sum_a pi_ak)^2 - sum_a pi_ak^2."""
    mean = table.mean.astype(np.float64)
    once, twice = np.bincount(table.community, mean, count), np.bincount(table.community, mean**2, count)
    return np.asarray(0.5 * (once * once - twice))


def _add_links(
    links: NDArray[np.int64],
    table: Memberships,
    above: Floats,
    background: float,
    added: Floats,
    inside: Floats,
) -> float:
    """Add the gain of every link to `added`, and what it would be as a non-link to `inside`, community by community.

    Returns the sum of their log probabilities.
    """
    which, k, term = shared_terms(links, table, above)
    p = np.maximum(background + np.bincount(which, term, len(links)), TINY)
    rest = np.maximum(p[which] - term, TINY)
    added += np.bincount(k, np.log(p[which] / rest), len(added))
    inside += np.bincount(k, _log_one_less(term), len(added))
    return float(np.log(p).sum())


def _log_one_less(t: Floats) -> Floats:
    """Compute log(1 - t) by as many terms as `_all_pairs` has, so that links can be taken out of its sums."""
    power, total = np.ones(len(t)), np.zeros(len(t))
    for m in range(1, TERMS + 1):
        power = power * t
        total -= power / m
    return total


def _power_sums(table: Memberships, count: int) -> list[Floats]:
    """Sum the m-th power of pi_ak pi_bk over all pairs of nodes: half of (sum_a pi^m)^2 - sum_a pi^2m."""
    mean = table.mean.astype(np.float64)
    power, sums = np.ones(len(mean)), list[Floats]()
    for _ in range(TERMS):
        power = power * mean
        once = np.bincount(table.community, power, count)
        twice = np.bincount(table.community, power * power, count)
        sums.append(np.asarray(0.5 * (once * once - twice), dtype=np.float64))
    return sums


def _all_pairs(powers: list[Floats], above: Floats) -> Floats:
    """Sum log(1 - t_ab) over all pairs of nodes, for every community, by its terms."""
    total, slope = np.zeros(len(above)), np.ones(len(above))
    for m, power in enumerate(powers, start=1):
        slope = slope * above
        total -= slope * power / m
    return total
