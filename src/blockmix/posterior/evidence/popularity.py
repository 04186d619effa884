"""Evidence for the communities of the popularity model: (M14) with its likelihood, and against degrees alone.

At the posterior means, theta_ak = r_a pi_ak, community k adds t_ab = w_k theta_ak theta_bk to the rate of a pair (DC1).
Without it a link has log((1 - e^-rate)/(1 - e^-(rate - t_ab))) less of log likelihood, and a non-link t_ab more.
Memberships cost what they do in the assortative model.

Popularities alone explain much of a network: all communities together must beat these and not the density (M20).
Without that a hub and its neighbours would be a community.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockmix.evaluate.null_models import degree_shape
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

# Steps of the iteration for popularities without communities, which begins far from the mode; its last ones gain less
# than a nat. Those of a fit are near the mode: of 30 steps the first gains all but a few nats.
STEPS, STEPS_OF_FIT = 30, 1


class Rates(NamedTuple):
    """Popularities r, the rates w of the communities, and the background rate eps."""

    popularity: Floats
    communities: Floats
    background: float


class Units(NamedTuple):
    """Expected units of the links (DC5): of each community, of the background, and at each node."""

    communities: Floats
    background: float
    nodes: Floats


class Seen(NamedTuple):
    """The pairs that the likelihood is of: links, and all pairs but those held out."""

    links: Pairs
    hidden: Pairs

    def products(self, r: Floats) -> float:
        """Compute the sum of r_a r_b over the observed pairs."""
        hidden = float((r[self.hidden[:, 0]] * r[self.hidden[:, 1]]).sum())
        return max(0.5 * (float(r.sum()) ** 2 - float((r * r).sum())) - hidden, TINY)


def popular_evidence(
    table: Memberships, rates: Rates, training: Graph, held_out: Pairs
) -> tuple[Floats, float]:
    """Compute the evidence of every community in the popularity model, and of those that have some together, in nats.

    Only the training links enter, not the held-out pairs.
    """
    seen = Seen(training.edges().astype(np.int64), held_out)
    charge = charges(table, training, len(rates.communities))
    added, _ = log_likelihood(table, rates, seen)
    evidence = np.asarray(added - charge - np.log(max(training.n_nodes, 1) / CHANCE))
    some = evidence > 0.0
    # The background takes the units of the communities that are left out.
    left = (rates.communities * _exposures(table, rates, seen))[~some].sum()
    kept = rates._replace(
        communities=np.where(some, rates.communities, 0.0),
        background=rates.background + float(left) / seen.products(rates.popularity),
    )
    _, together = log_likelihood(table, at_mode(table, kept, training, seen, STEPS_OF_FIT), seen)
    return evidence, together - degrees_alone(training, seen) - float(charge[some].sum())


def degrees_alone(training: Graph, seen: Seen) -> float:
    """(M20) Compute the log likelihood of the training pairs under popularities and a background, no communities."""
    none = Memberships(
        np.zeros(training.n_nodes + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
    )
    r = np.ones(training.n_nodes)
    begin = Rates(r, np.empty(0), training.n_edges / seen.products(r))
    return log_likelihood(none, at_mode(none, begin, training, seen, STEPS), seen)[1]


def at_mode(table: Memberships, rates: Rates, training: Graph, seen: Seen, steps: int) -> Rates:
    """(M20) Return the rates nearer to the mode of their posterior given the memberships, by steps of EM.

    In turn the links' expected units, popularities and rates are what they would be if the others were known, as in
    (DC9) and (DC10). Popularities have the Gamma law whose shape is that of the degrees, and are one where these
    vary by chance alone.
    """
    shape = degree_shape(training.degrees)
    for _ in range(steps):
        units, r = _expected_units(table, rates, seen), rates.popularity
        r = (
            np.ones(len(r))
            if np.isinf(shape)
            else (shape + units.nodes) / (shape + _node_exposures(table, rates, seen))
        )
        rates = rates._replace(popularity=r)
        strengths = units.communities / np.maximum(_exposures(table, rates, seen), TINY)
        rates = Rates(r, strengths, units.background / seen.products(r))
    return rates


def log_likelihood(table: Memberships, rates: Rates, seen: Seen) -> tuple[Floats, float]:
    """Return what each community adds to the log likelihood of the training pairs, and this likelihood.

    With all pairs as non-links the log likelihood is minus their rates; a link has log(e^rate - 1) more.
    """
    count = len(rates.communities)
    added = -rates.communities * _exposures(table, rates, seen)
    total = float(added.sum()) - rates.background * seen.products(rates.popularity)
    for begin in range(0, len(seen.links), AT_ONCE):
        which, k, term, rate = _terms(seen.links[begin : begin + AT_ONCE], table, rates)
        gain = _log_odds(rate)
        total += float(gain.sum())
        added += np.bincount(k, gain[which] - _log_odds(np.maximum(rate[which] - term, TINY)), count)
    return added, total


def _terms(pairs: Pairs, table: Memberships, rates: Rates) -> tuple[Pairs, Pairs, Floats, Floats]:
    """Return for every community that both ends of a pair are in number of the pair, community, t_ab; and rates."""
    which, k, term = shared_terms(pairs, table, rates.communities)
    both = rates.popularity[pairs[:, 0]] * rates.popularity[pairs[:, 1]]
    term = term * both[which]
    rate = rates.background * both + np.bincount(which, term, len(pairs))
    return which, k, term, np.asarray(np.maximum(rate, TINY))


def _log_odds(rate: Floats) -> Floats:
    """Compute log(e^rate - 1), the log odds of a link."""
    return np.asarray(rate + np.log(-np.expm1(-rate)))


def _expected_units(table: Memberships, rates: Rates, seen: Seen) -> Units:
    """(DC5) Compute the expected units of the links: rate/(1 - e^-rate) a link, in proportion to what made its rate."""
    count, nodes = len(rates.communities), len(rates.popularity)
    made, background, at = np.zeros(count), 0.0, np.zeros(nodes)
    for begin in range(0, len(seen.links), AT_ONCE):
        links = seen.links[begin : begin + AT_ONCE]
        which, k, term, rate = _terms(links, table, rates)
        units = rate / -np.expm1(-rate)
        inside = term * (units / rate)[which]
        made += np.bincount(k, inside, count)
        background += float(units.sum() - inside.sum())
        at += np.bincount(links.ravel(), np.repeat(units, 2), nodes)
    return Units(made, background, at)


def _exposures(table: Memberships, rates: Rates, seen: Seen) -> Floats:
    """(DC10) Compute P_k, the sum of theta_ak theta_bk over the observed pairs, for every community."""
    r, count = rates.popularity, len(rates.communities)
    theta = table.mean * np.repeat(r, np.diff(table.offsets))
    sums, squares = (np.bincount(table.community, values, count) for values in (theta, theta**2))
    which, k, shared = shared_terms(seen.hidden, table, np.ones(count))
    hidden = shared * (r[seen.hidden[:, 0]] * r[seen.hidden[:, 1]])[which]
    return np.asarray(np.maximum(0.5 * (sums**2 - squares) - np.bincount(k, hidden, count), 0.0))


def _node_exposures(table: Memberships, rates: Rates, seen: Seen) -> Floats:
    """(DC9) Compute Lambda_a, the rate of node a to its observed partners for a popularity of one."""
    r, w, count = rates.popularity, rates.communities, len(rates.communities)
    node = np.repeat(np.arange(len(r)), np.diff(table.offsets))
    theta = table.mean * r[node]
    others = np.bincount(table.community, theta, count)[table.community] - theta
    every = rates.background * (r.sum() - r) + np.bincount(
        node, table.mean * w[table.community] * others, len(r)
    )
    hidden = seen.hidden
    which, _, term = shared_terms(hidden, table, w)
    rate = rates.background + np.bincount(which, term, len(hidden))
    for own, other in (hidden.T, hidden.T[::-1]):
        every -= np.bincount(own, r[other] * rate, len(r))
    return np.asarray(np.maximum(every, 0.0))
