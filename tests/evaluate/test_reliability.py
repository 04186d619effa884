"""Calibration is that of the network although held-out pairs are balanced, with intervals that cover."""

import numpy as np
import pytest
from scipy import stats

from blockmix.errors import InputError
from blockmix.evaluate import calibration

N_PAIRS = 200_000


def network(rng):
    """True link probabilities of pairs, spread over orders of magnitude as in a sparse network, and links."""
    p = 10 ** rng.uniform(-4, -0.05, N_PAIRS) * (rng.random(N_PAIRS) < 0.3) + 1e-4 * rng.random(N_PAIRS)
    return p, rng.random(N_PAIRS) < p


def hold_out(rng, p, y, n_links, n_others):
    chosen = np.concatenate(
        [
            rng.choice(np.flatnonzero(y), n_links, replace=False),
            rng.choice(np.flatnonzero(~y), n_others, replace=False),
        ]
    )
    return p[chosen], y[chosen]


@pytest.mark.parametrize(("n_links", "n_others"), [(600, 600), (300, 1500)])
def test_a_calibrated_model_lies_in_its_intervals(n_links, n_others):
    """1000 intervals, each missing with at most 1%: more than 28 misses have a chance below 1e-6.

    (Binomial(1000, 0.01), intervals of one run taken as independent; Clopper-Pearson misses less than 1%.)
    """
    rng = np.random.default_rng(11)
    misses = bins = 0
    for _ in range(100):
        p, y = network(rng)
        table = calibration(*hold_out(rng, p, y, n_links, n_others), density=y.mean())
        misses += int((~table.covered).sum())
        bins += len(table)
    assert 900 <= bins <= 1000
    assert misses <= stats.binom.isf(1e-6, bins, 0.01)


@pytest.mark.parametrize("change", [lambda p: np.minimum(4 * p, 1), lambda p: p / 4, lambda p: p**0.6])
def test_a_miscalibrated_model_is_caught(change):
    rng = np.random.default_rng(12)
    p, y = network(rng)
    held_p, held_y = hold_out(rng, p, y, 3000, 3000)
    assert (~calibration(change(held_p), held_y, y.mean()).covered).sum() >= 3


def test_observed_and_predicted_are_frequencies_in_the_network():
    """With every pair held out, balanced or not plays no part: both equal plain means per bin."""
    rng = np.random.default_rng(13)
    p, y = network(rng)
    edges = [0.0, 0.001, 0.1, 0.5, 1.0]
    table = calibration(p, y, y.mean(), bins=edges)
    place = np.digitize(p, edges) - 1
    for b in range(4):
        assert table.observed[b] == pytest.approx(y[place == b].mean())
        assert table.predicted[b] == pytest.approx(p[place == b].mean())
    assert table.n_links.sum() == y.sum()


def test_reweighting_counts_a_link_rho_over_n1_and_a_non_link_the_rest():
    p, y = np.array([0.2] * 10), np.array([True] * 4 + [False] * 6)
    table = calibration(p, y, density=0.01, bins=1)
    assert table.observed[0] == pytest.approx(0.01)
    assert table.predicted[0] == pytest.approx(0.2)
    two = calibration([0.2, 0.2, 0.2, 0.9], [1, 0, 0, 1], density=0.3, bins=[0, 0.5, 1])
    assert two.observed[0] == pytest.approx(0.15 / (0.15 + 0.7))


def test_the_predicted_mean_weighs_pairs_as_the_network_would():
    """Balanced pairs of a sparse network: of pairs with a high p the links are kept and the non-links are rare.

    Enumerated: of 1,000 pairs with p = .1 and 1,000 with p = .5, 600 are links. Held out are all links and as many
    non-links, in proportion from both groups; the mean of p in the network is .3, among these pairs it is .338.
    """
    p = np.repeat([0.1, 0.1, 0.5, 0.5], [100, 900 * 600 // 1400, 500, 500 * 600 // 1400])
    y = np.repeat([True, False, True, False], [100, 900 * 600 // 1400, 500, 500 * 600 // 1400])
    table = calibration(p, y, density=0.3, bins=1)
    assert table.predicted[0] == pytest.approx(0.3, abs=1e-3)
    assert p.mean() > 0.335


def test_the_interval_is_clopper_pearson_when_no_reweighting_is_needed():
    y = np.array([True] * 7 + [False] * 13)
    table = calibration(np.full(20, 0.3), y, density=0.35, bins=1)
    exact = stats.binomtest(7, 20).proportion_ci(0.99, method="exact")
    assert (table.lower[0], table.upper[0]) == pytest.approx((exact.low, exact.high))


def test_bins_hold_about_equally_many_pairs_and_ties_stay_together():
    rng = np.random.default_rng(14)
    p = rng.random(1000) ** 4
    table = calibration(p, rng.random(1000) < 0.5, 0.1)
    assert (table.n_links + table.n_non_links == 100).all()
    tied = calibration([0.5] * 8, [True, False] * 4, 0.1)
    assert (tied.n_links + tied.n_non_links).max() == 8


def test_a_bin_without_pairs_says_nothing():
    table = calibration([0.1, 0.9], [False, True], 0.2, bins=[0, 0.5, 0.8, 1])
    assert np.isnan(table.observed[1])
    assert (table.lower[1], table.upper[1]) == (0.0, 1.0)
    assert table.covered[1]


def test_certain_predictions_are_allowed():
    table = calibration([0.0, 0.0, 1.0, 1.0], [False, False, True, True], 0.2, bins=2)
    assert table.predicted.tolist() == [0.0, 1.0]
    assert table.observed.tolist() == [0.0, 1.0]
    assert table.covered.all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"density": 0.0}, "density"),
        ({"density": 0.1, "bins": 0}, "bins"),
        ({"density": 0.1, "bins": [0.5, 0.1]}, "increasing"),
        ({"density": 0.1, "confidence": 1.0}, "confidence"),
    ],
)
def test_unusable_settings_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        calibration([0.2, 0.4], [True, False], **arguments)


def test_links_and_non_links_are_both_needed():
    with pytest.raises(InputError, match="links and non-links"):
        calibration([0.2, 0.4], [True, True], 0.1)
