"""Credible intervals cover at their level and link probabilities are calibrated, on sparse networks of medium strength.

Memberships and strengths are drawn from the prior that the model is given, strengths around 0.4, where an exact
posterior covers at its nominal rate. The background is 0.01, which the model has to learn. Strengths near one, where
the default sampler is known to be biased, are in tests/calibration. Seeds are fixed; the false-alarm rate is that of an
exact posterior over all seeds.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

import blockmix as bm
from blockmix.posterior.merge import match_labels

NODES, COMMUNITIES, ETA, BACKGROUND = 200, 4, (4.0, 6.0), 0.01
NETWORKS = 6
# What the documentation promises: credible intervals cover within five points of their level.
WITHIN = 0.05
# Memberships are chosen by their posterior mean alone, which an exact posterior's coverage does not depend on.
LEAST_MEAN = 0.05

pytestmark = pytest.mark.slow


def draw(seed):
    return bm.simulate(
        NODES, COMMUNITIES, degree=None, alpha=0.3 / COMMUNITIES, eta=ETA, background=BACKGROUND, cut=0.0,
        seed=seed,
    )  # fmt: skip


def fit(made, seed, **options):
    return bm.fit(
        made.graph, COMMUNITIES, model="assortative", seed=seed, chains=4, sweeps=600, warm_up=200, eta=ETA,
        progress=False, **options,
    )  # fmt: skip


def true_numbers(made, post):
    """Return the number of the true community that each one of the fit is."""
    mean = sp.csr_matrix((post.mean, post.community, post.offsets), shape=made.memberships.shape)
    return match_labels(sp.csr_matrix(made.memberships), mean)


@pytest.fixture(scope="module")
def fits():
    """Networks and posteriors of all their links, four chains each."""
    made = [draw(seed) for seed in range(NETWORKS)]
    return [(m, fit(m, seed, held_out=0)) for seed, m in enumerate(made)]


@pytest.fixture(scope="module")
def predictions():
    """Networks and posteriors with a fifth of all pairs held out, links and non-links alike."""
    made = [draw(seed) for seed in range(NETWORKS, NETWORKS + 3)]
    return [(m, fit(m, 0, held_out=0.2, held_out_kind="proportional")) for m in made]


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_intervals_of_memberships_cover_the_truth_within_five_points_of_their_level(fits, level):
    # About 1500 memberships, correlated within a node: five points are more than four standard errors.
    held = []
    for made, post in fits:
        table = post.memberships(threshold=LEAST_MEAN, level=level)
        truth = made.memberships.toarray()[np.array(table.node), true_numbers(made, post)[table.community]]
        held.append((table.lower <= truth) & (truth <= table.upper))
    assert np.concatenate(held).mean() == pytest.approx(level, abs=WITHIN)


def standardised_strengths(fits):
    return np.concatenate(
        [(m.strengths[true_numbers(m, p)] - p.strength_mean) / p.strength_sd for m, p in fits]
    )


def test_medium_strengths_are_neither_biased_nor_overconfident(fits):
    # False alarms: 1 in 1000 each for the mean and for the spread.
    z = standardised_strengths(fits)
    assert abs(z.mean()) < stats.norm.isf(0.0005) / np.sqrt(len(z))
    assert (z**2).sum() < stats.chi2.isf(0.001, len(z))


def test_the_spread_of_medium_strengths_is_not_too_large(fits):
    # False alarm: 1 in 1000.
    z = standardised_strengths(fits)
    assert (z**2).sum() > stats.chi2.ppf(0.001, len(z))


def test_the_background_is_not_overconfident(fits):
    # False alarm: 1 in 1000 over all networks together.
    z = np.array([(m.background - p.background_mean) / p.background_sd for m, p in fits])
    assert (z**2).sum() < stats.chi2.isf(0.001, len(z))


def test_held_out_pairs_are_links_at_the_rate_predicted(predictions):
    # Each bin's interval is a 99% one, so of 30 bins of an exact posterior one lies outside on 1 in 4 sets of
    # seeds. More than `most` bins outside: 1 in 1000.
    bins, outside = 0, 0
    for _, post in predictions:
        table = post.calibration()
        large = table.n_links + table.n_non_links >= 50
        off = (table.predicted < table.lower) | (table.upper < table.predicted)
        bins, outside = bins + large.sum(), outside + (off & large).sum()
    most = stats.binom.isf(0.001, bins, 1 - table.confidence)
    assert bins >= 20
    assert outside <= most


def test_predicted_probabilities_are_within_a_tenth_of_the_true_ones_on_average(predictions):
    # Against the true probability, known here; bins of predictions over all pairs of all networks.
    predicted, true = [], []
    for made, post in predictions:
        pairs = np.column_stack(np.triu_indices(NODES, 1)).astype(np.int64)
        p = made.memberships.toarray().astype(np.float64)
        inside = p * (made.strengths - made.background)
        predicted.append(post.node_link_probability(pairs))
        true.append(made.background + (inside @ p.T)[pairs[:, 0], pairs[:, 1]])
    predicted, true = np.concatenate(predicted), np.concatenate(true)
    place = np.digitize(predicted, [0.03, 0.1, 0.2, 0.3, 0.4, 0.5])
    for i in range(place.max() + 1):
        # Strengths of 12 communities enter, each known to about 5%.
        assert predicted[place == i].mean() == pytest.approx(true[place == i].mean(), rel=0.1, abs=0.003)


@pytest.mark.parametrize("kind", ["balanced", "proportional"])
def test_holding_out_links_does_not_lower_predicted_probabilities(kind):
    # Balanced pairs take a fifth of the links and hardly any non-links away from training. Some 2100 links left
    # give the density to 2.2%: 7% is more than three standard errors.
    made = draw(0)
    post = fit(made, 0, held_out=0.2, held_out_kind=kind)
    pairs = np.column_stack(np.triu_indices(NODES, 1)).astype(np.int64)
    assert post.node_link_probability(pairs).mean() == pytest.approx(made.graph.density, rel=0.07)
