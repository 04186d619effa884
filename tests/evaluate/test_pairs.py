"""Scores on held-out pairs equal their definitions, ties included."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockmix.errors import InputError
from blockmix.evaluate.pairs import SMALLEST_PROBABILITY, auc, average_precision, log_loss, perplexity, score

# few distinct values, so that ties are the rule
PAIRS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=30
)


def arrays(pairs):
    return np.array([p for p, _ in pairs]), np.array([y for _, y in pairs])


def auc_by_definition(p, y):
    wins = [(a > b) + 0.5 * (a == b) for a in p[y] for b in p[~y]]
    return sum(wins) / len(wins) if wins else math.nan


def average_precision_by_definition(p, y):
    if not y.any():
        return math.nan
    total, recall_before = 0.0, 0.0
    for threshold in sorted(set(p.tolist()), reverse=True):
        chosen = p >= threshold
        recall = y[chosen].sum() / y.sum()
        total += (recall - recall_before) * y[chosen].mean()
        recall_before = recall
    return total


@given(PAIRS)
def test_auc_and_average_precision_equal_their_definitions(pairs):
    p, y = arrays(pairs)
    assert auc(p, y) == pytest.approx(auc_by_definition(p, y), abs=1e-12, nan_ok=True)
    assert average_precision(p, y) == pytest.approx(
        average_precision_by_definition(p, y), abs=1e-12, nan_ok=True
    )


@given(PAIRS, st.randoms(use_true_random=False))
def test_scores_do_not_depend_on_the_order_of_pairs(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    before, after = score(*arrays(pairs), density=0.1), score(*arrays(shuffled), density=0.1)
    assert before.auc == pytest.approx(after.auc, nan_ok=True)
    assert before.log_loss == pytest.approx(after.log_loss, nan_ok=True)
    assert before.perplexity == pytest.approx(after.perplexity)
    assert before.n_links + before.n_non_links == len(pairs)


@given(PAIRS)
def test_auc_keeps_its_value_under_increasing_maps(pairs):
    p, y = arrays(pairs)
    assert auc(p, y) == pytest.approx(auc(p**3 / 2, y), nan_ok=True)


def test_perplexity_is_exp_of_the_mean_negative_log_probability():
    p, y = np.array([0.8, 0.3, 0.4]), np.array([True, False, True])
    assert perplexity(p, y) == pytest.approx((0.8 * 0.7 * 0.4) ** (-1 / 3), rel=1e-14)


def test_log_loss_weighs_links_by_the_density():
    p, y = np.array([0.8, 0.4, 0.3]), np.array([True, True, False])
    expected = -(0.01 * np.mean(np.log([0.8, 0.4])) + 0.99 * np.log(0.7))
    assert log_loss(p, y, density=0.01) == pytest.approx(expected, rel=1e-14)


def test_log_loss_prefers_the_truth_where_balanced_perplexity_prefers_inflation():
    """The reason both exist, in expectation: 1% of pairs have p=0.5, the others p=0.0051."""
    truth, share = np.array([0.5, 0.0051]), np.array([0.01, 0.99])
    density = float(truth @ share)
    links, others = share * truth / density, share * (1 - truth) / (1 - density)
    inflated = np.array([0.99, 0.34])

    def balanced(p):
        return -(links @ np.log(p) + others @ np.log1p(-p)) / 2

    def weighted(p):
        return -(density * links @ np.log(p) + (1 - density) * others @ np.log1p(-p))

    assert balanced(inflated) < balanced(truth)
    assert weighted(truth) < weighted(inflated)
    # the implementation weighs pairs as the formula does: 1,000,000 pairs in these shares
    counts = np.round(1e6 * np.concatenate([links, others])).astype(int)
    y = np.repeat([True, True, False, False], counts)
    for p in (truth, inflated):
        assert log_loss(np.repeat(np.tile(p, 2), counts), y, density) == pytest.approx(weighted(p), rel=1e-4)


def test_certain_mistakes_cost_a_finite_amount():
    worst = -math.log(SMALLEST_PROBABILITY)
    assert perplexity([0.0], [True]) == pytest.approx(math.exp(worst))
    assert log_loss([0.0, 1.0], [True, False], density=0.5) == pytest.approx(worst, rel=1e-3)
    assert perplexity([1.0, 0.0], [True, False]) == pytest.approx(1.0)


def test_tiny_probabilities_of_sparse_networks_are_not_cut():
    assert perplexity([1e-11], [True]) == pytest.approx(1e11)


def test_what_is_undefined_is_nan_and_the_rest_stays():
    only_links = score([0.5, 0.7], [True, True], density=0.1)
    assert math.isnan(only_links.auc)
    assert math.isnan(only_links.log_loss)
    assert only_links.average_precision == 1.0
    only_others = score([0.5, 0.7], [False, False], density=0.0)
    assert math.isnan(only_others.average_precision)
    assert only_others.log_loss == pytest.approx(-np.mean(np.log([0.5, 0.3])))
    assert math.isfinite(only_links.perplexity)


def test_rounding_past_one_is_forgiven_and_integers_are_links():
    p = np.array([1.0 + 1e-7, 0.0 - 1e-8], dtype=np.float32)
    assert auc(p, [1, 0]) == 1.0


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        ([0.5, math.nan], [True, False], r"probability\[1\] is nan"),
        ([0.5, 1.5], [True, False], r"probability\[1\] is 1.5"),
        ([-0.2], [True], r"probability\[0\] is -0.2"),
        ([0.5], [True, False], "equally long"),
        ([[0.5]], [[True]], "one-dimensional"),
        ([], [], "no held-out pairs"),
        ([0.5], [2], "only True and False"),
    ],
)
def test_unusable_input_is_named(p, y, message):
    with pytest.raises(InputError, match=message):
        auc(p, y)


@pytest.mark.parametrize("density", [-0.1, 1.1, math.nan])
def test_a_density_is_a_share(density):
    with pytest.raises(InputError, match="density"):
        log_loss([0.5, 0.5], [True, False], density)


def test_a_million_pairs_rank_exactly():
    rng = np.random.default_rng(4)
    p, y = rng.integers(0, 1000, 1_000_000) / 1000, rng.random(1_000_000) < 0.5
    links, others = (
        np.bincount((p[y] * 1000).round().astype(int), minlength=1000),
        np.bincount((p[~y] * 1000).round().astype(int), minlength=1000),
    )
    wins = sum(int(links[v]) * (2 * int(others[:v].sum()) + int(others[v])) for v in range(1000))
    assert auc(p, y) == wins / (2 * int(y.sum()) * int((~y).sum()))


def test_matched_non_links_have_an_auc_of_their_own():
    p, y = np.array([0.9, 0.4, 0.2, 0.1]), np.array([True, True, False, False])
    found = score(p, y, 0.1, matched=[0.5, 0.3])
    assert found.auc == 1.0
    # of four comparisons 0.9 wins two and 0.4 wins one
    assert found.auc_matched == 0.75
    assert math.isnan(score(p, y, 0.1).auc_matched)
    assert math.isnan(score(p, y, 0.1, matched=[]).auc_matched)
