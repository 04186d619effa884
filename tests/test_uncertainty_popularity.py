"""Credible intervals of the popularity model cover at their level, and its link probabilities are the true ones.

Networks of 200 nodes with popularities from the prior, where an exact posterior covers at its nominal rate, and from a
power law, which the prior of popularities is not. Seeds are fixed.
"""

import numpy as np
import pytest
import scipy.sparse as sp

import blockmix as bm
from blockmix.posterior.merge import match_labels

NODES, COMMUNITIES, ETA, BACKGROUND = 200, 4, (4.0, 6.0), 0.01
NETWORKS = 5
# What the documentation promises: credible intervals cover within five points of their level.
WITHIN = 0.05
# Popularities of another law than the prior's: measured, 0.84 at 0.9 and 0.42 at 0.5.
OTHER_LAW = 0.1
LEAST_MEAN = 0.05

pytestmark = pytest.mark.slow


def draw(degrees, seed):
    return bm.simulate(
        NODES, COMMUNITIES, degree=None, alpha=0.3 / COMMUNITIES, eta=ETA, background=BACKGROUND, cut=0.0,
        degrees=degrees, rho=1.5, seed=seed,
    )  # fmt: skip


@pytest.fixture(scope="module", params=["gamma", "powerlaw"])
def degrees(request):
    return request.param


@pytest.fixture(scope="module")
def fits(degrees):
    """Networks and posteriors of all their links, four chains each."""
    made = [draw(degrees, seed) for seed in range(NETWORKS)]
    options = {"model": "popularity", "chains": 4, "sweeps": 500, "warm_up": 200, "eta": ETA, "held_out": 0}
    return [(m, bm.fit(m.graph, COMMUNITIES, seed=i, progress=False, **options)) for i, m in enumerate(made)]


def true_numbers(made, post):
    """Return the number of the true community that each one of the fit is."""
    mean = sp.csr_matrix((post.mean, post.community, post.offsets), shape=made.memberships.shape)
    return match_labels(sp.csr_matrix(made.memberships), mean)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_of_memberships_cover_the_truth(fits, level):
    held = []
    for made, post in fits:
        table = post.memberships(threshold=LEAST_MEAN, level=level)
        truth = made.memberships.toarray()[np.array(table.node), true_numbers(made, post)[table.community]]
        held.append((table.lower <= truth) & (truth <= table.upper))
    assert np.concatenate(held).mean() == pytest.approx(level, abs=WITHIN)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_of_popularities_cover_the_truth(fits, degrees, level):
    """About 1,000 popularities. The mean of 200 from a power law is far from one, where the prior puts their scale."""
    held = []
    for made, post in fits:
        table = post.popularity(level=level)
        held.append((table.lower <= made.popularity) & (made.popularity <= table.upper))
    within = WITHIN if degrees == "gamma" else OTHER_LAW
    assert np.concatenate(held).mean() == pytest.approx(level, abs=within)


def test_predicted_probabilities_are_within_a_tenth_of_the_true_ones_on_average(fits):
    predicted, true = [], []
    pairs = np.column_stack(np.triu_indices(NODES, 1)).astype(np.int64)
    for made, post in fits:
        p, r = made.memberships.toarray().astype(np.float64), made.popularity
        rates = -np.log1p(-np.append(made.strengths, made.background))
        rate = np.outer(r, r) * (rates[-1] + (p * rates[:-1]) @ p.T)
        predicted.append(post.node_link_probability(pairs))
        true.append(-np.expm1(-rate[pairs[:, 0], pairs[:, 1]]))
    predicted, true = np.concatenate(predicted), np.concatenate(true)
    place = np.digitize(predicted, [0.003, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8])
    for i in range(place.max() + 1):
        assert predicted[place == i].mean() == pytest.approx(true[place == i].mean(), rel=0.1, abs=0.003)
