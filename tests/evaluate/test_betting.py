"""Odds for predictions: fair under the null model, large where predictions are right, bounded for a single pair."""

import itertools

import numpy as np
import pytest

from blockmix.evaluate.betting import ENOUGH_ODDS, log_odds
from blockmix.evaluate.null_models import compare_with_null


def test_the_odds_are_those_of_the_definition():
    p, q, links = np.array([0.9, 0.2, 0.6]), np.array([0.5, 0.3, 0.4]), np.array([True, False, True])
    # Two links for one non-link are held out of a network of density 0.25: odds are multiplied by 2 * 3.
    share = 2 / 0.25 * 0.75 / 1
    first, second = (share * x / (1 - x) / (1 + share * x / (1 - x)) for x in (p, q))
    ratio = [first[0] / second[0], (1 - first[1]) / (1 - second[1]), first[2] / second[2]]
    assert log_odds(p, q, links, 0.25) == pytest.approx(np.log((1 + np.array(ratio)) / 2).sum())


def test_the_odds_are_one_on_average_if_the_null_model_is_true():
    """All outcomes of four pairs, each with the probability that the null model gives it: the mean is one."""
    rng = np.random.default_rng(1)
    p, q = rng.uniform(0.05, 0.95, 4), rng.uniform(0.05, 0.95, 4)
    density, total = 0.5, 0.0
    for outcome in itertools.product([True, False], repeat=4):
        links = np.array(outcome)
        if links.sum() != 2:
            continue
        chance = np.prod(np.where(links, q, 1 - q))
        total += chance * np.exp(log_odds(p, q, links, density))
    # Only outcomes with as many links as non-links have the shares of the held-out pairs: the sum is below one.
    assert 0.0 < total < 1.0
    everything = sum(
        np.prod(np.where(o, q, 1 - q)) * np.prod(0.5 * (1 + np.where(o, p / q, (1 - p) / (1 - q))))
        for o in (np.array(x) for x in itertools.product([True, False], repeat=4))
    )
    assert everything == pytest.approx(1.0)


def test_a_single_pair_loses_at_most_log_two():
    links = np.array([True, False])
    assert log_odds(np.array([1e-15, 0.5]), np.full(2, 0.5), links, 0.5) == pytest.approx(
        -np.log(2.0), abs=1e-6
    )


@pytest.mark.parametrize(("pairs", "sure"), [(9, False), (10, True)])
def test_a_comparison_is_sure_by_enough_odds_and_enough_pairs(pairs, sure):
    links = np.arange(2 * pairs) < pairs
    right, nodes = np.where(links, 0.99, 0.01), np.column_stack(np.triu_indices(20, 1))[: 2 * pairs]
    found = compare_with_null(right, nodes, links, np.full(20, 9), 0.5)
    assert found.log_odds == pytest.approx(2 * pairs * np.log((1 + 0.99 / 0.5) / 2), rel=0.01)
    assert (found.log_odds > np.log(ENOUGH_ODDS)) == (2 * pairs * 0.4 > 6.9)
    assert found.sure == sure


def test_odds_against_the_stronger_of_the_null_models_count():
    """Degrees explain which pairs are links: the density alone is beaten, and the degrees are not."""
    degrees = np.concatenate([np.full(10, 60), np.full(90, 3)])
    hubs = [(a, b) for a in range(10) for b in range(a)]
    others = [(a, b) for a in range(50, 70) for b in range(70, 73)]
    links, pairs = np.arange(len(hubs) + len(others)) < len(hubs), np.array(hubs + others)
    from blockmix.evaluate.null_models import degree_probability

    found = compare_with_null(degree_probability(degrees, 0.08, pairs), pairs, links, degrees, 0.08)
    assert found.log_odds == pytest.approx(0.0, abs=1e-9)
    assert not found.sure
