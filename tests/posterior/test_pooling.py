"""The weights of chains: equal unless the held-out pairs say otherwise, zero for a chain worse than the density."""

import numpy as np
import pytest
from scipy.optimize import minimize

from blockmix.evaluate import log_loss
from blockmix.evaluate.null_models import mean_gain
from blockmix.posterior.pooling import FOLDS, _stacking_weights, pool_chains, pooled_forecast

DENSITY = 0.05


def forecasts(seed, chains=4, pairs=400, noise=0.3):
    """Predictions of pairs whose true probabilities are known, each chain with errors of its own."""
    rng = np.random.default_rng(seed)
    links = np.arange(pairs) < pairs // 2
    odds = np.exp(rng.normal(-3, 1, pairs) + 3 * links)
    made = odds * np.exp(noise * rng.normal(size=(chains, pairs)))
    return made / (1 + made), links


def test_chains_that_predict_alike_count_the_same():
    p, links = forecasts(1)
    pool = pool_chains(p, links, DENSITY)
    assert pool.weights.tolist() == [0.25] * 4
    assert not pool.stacked
    assert not pool.worse.any()


def test_chains_that_differ_by_chance_alone_rarely_get_weights():
    """Of 12 sets of equally good chains at most 2 may: at 2.5% each, more than 2 have a chance of 0.3%."""
    sets = (forecasts(seed, pairs=200) for seed in range(12))
    assert sum(pool_chains(p, links, DENSITY).stacked for p, links in sets) <= 2


def test_a_gain_that_is_sure_but_small_changes_nothing():
    """The second chain is better by a thousandth at every pair: its gain has hardly any error, and is of no use."""
    p, links = forecasts(1, chains=1)
    p = np.concatenate([p, np.where(links, 1.001 * p, p / 1.001)])
    assert pool_chains(p, links, DENSITY).weights.tolist() == [0.5, 0.5]


def test_a_gain_that_may_be_chance_changes_nothing():
    """Of two chains one is right about 90 links, the other about 60: stacking gains three nats, give or take two."""
    links = np.arange(300) < 150
    right = np.random.default_rng(1).permutation(150) < 90
    p = np.full((2, 300), DENSITY)
    p[0, :150], p[1, :150] = np.where(right, 0.9, 0.1), np.where(right, 0.1, 0.9)
    assert pool_chains(p, links, DENSITY).weights.tolist() == [0.5, 0.5]


def test_a_gain_on_the_pairs_that_weights_were_found_on_changes_nothing():
    """The second chain is far better at the links of one fold and worse at all others: no fold's weights suit it."""
    links, fold = np.arange(300) < 150, np.arange(150) % FOLDS
    p = np.full((2, 300), DENSITY)
    p[0, :150], p[1, :150] = np.where(fold == 0, 0.3, 0.5), np.where(fold == 0, 0.9, 0.45)
    found = _stacking_weights(p, links, DENSITY)
    gain, error = mean_gain(found @ p, p.mean(axis=0), links, DENSITY)
    assert gain > 2 * error
    assert pool_chains(p, links, DENSITY).weights.tolist() == [0.5, 0.5]


def test_a_chain_worse_than_the_density_is_named_and_does_not_count():
    p, links = forecasts(2)
    p[2] = np.where(links, 1e-4, 0.2)
    pool = pool_chains(p, links, DENSITY)
    assert pool.worse.tolist() == [False, False, True, False]
    assert pool.weights[2] == 0.0
    assert pool.weights.sum() == pytest.approx(1.0)
    assert pool.facts()["worse_than_density"] == [2]


def test_a_chain_that_is_worse_than_the_density_by_chance_still_counts():
    """The second chain knows nothing: its loss is above that of the density, by less than two standard errors."""
    p, links = forecasts(2, chains=2)
    p[1] = DENSITY * np.exp(np.random.default_rng(0).normal(0, 0.3, p[1].shape))
    assert log_loss(p[1], links, DENSITY) > log_loss(np.full(len(links), DENSITY), links, DENSITY)
    assert not pool_chains(p, links, DENSITY).worse.any()


def test_where_all_are_worse_than_the_density_all_count():
    links = np.arange(60) < 30
    p = np.tile(np.where(links, 1e-4, 0.2), (3, 1))
    pool = pool_chains(p, links, DENSITY)
    assert pool.worse.all()
    assert pool.weights == pytest.approx(np.full(3, 1 / 3))


def test_a_chain_that_predicts_much_better_gets_most_of_the_weight():
    p, links = forecasts(3, noise=0.1)
    p[1:] = DENSITY * np.exp(np.random.default_rng(0).normal(0, 0.1, p[1:].shape))
    pool = pool_chains(p, links, DENSITY)
    assert pool.stacked
    assert pool.weights[0] > 0.9


def test_the_weights_maximise_the_log_score_with_its_prior():
    """A plain optimiser on the first two weights of three finds the same, to the rounding of the weights."""
    p, links = forecasts(4, chains=3, noise=0.8)
    factor = (1 - DENSITY) / DENSITY

    def cost(free):
        w = np.array([*free, 1 - sum(free)])
        if (w <= 0).any():
            return np.inf
        mixed = w @ p
        return -(np.log(mixed[links]).sum() + factor * np.log1p(-mixed[~links]).sum() + np.log(w).sum())

    best = minimize(cost, [0.3, 0.3], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9}).x
    assert _stacking_weights(p, links, DENSITY)[:2] == pytest.approx(best, abs=2e-3)


def test_no_pair_helps_to_choose_the_weights_that_it_is_scored_with():
    """A chain knows the answer of the links of one fold, and is worthless elsewhere: they must not earn it weight."""
    p, links = forecasts(5, chains=2, pairs=200)
    p[1] = DENSITY
    alone = pooled_forecast(p, links, DENSITY)
    known = p.copy()
    fold = np.flatnonzero(links)[::FOLDS]
    known[1, fold] = 0.999
    pooled = pooled_forecast(known, links, DENSITY)
    weight = (pooled[fold] - p[0, fold]) / (known[1, fold] - p[0, fold])
    before = (alone[fold] - p[0, fold]) / (DENSITY - p[0, fold])
    assert weight == pytest.approx(before)


def test_few_held_out_pairs_decide_nothing():
    links = np.arange(16) < 8
    p = np.array([np.where(links, 0.9, 0.1), np.where(links, 0.1, 0.9)])
    assert pool_chains(p, links, 0.5).weights.tolist() == [0.5, 0.5]


def test_pooled_predictions_are_scored_no_worse_than_those_of_the_worst_chain():
    p, links = forecasts(6, noise=1.5)
    losses = [log_loss(chain, links, DENSITY) for chain in p]
    assert log_loss(pooled_forecast(p, links, DENSITY), links, DENSITY) < max(losses)
