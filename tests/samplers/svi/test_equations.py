"""The reference equations of variational inference: they raise the bound, and the bound is one."""

import numpy as np
import pytest
from scipy.special import polygamma

from blockmix.samplers.svi import reference as svi
from blockmix.samplers.svi.reference import Prior

# Sums of some hundred terms of size 10 in float64.
ROUNDING = 1e-10
# Central differences of a bound of size 100 with steps of 1e-5: rounding 1e-9, truncation 1e-9.
DIFFERENCE_STEP, GRADIENT_ERROR = 1e-5, 1e-6
LOCAL = {"joint": svi.joint_indicators, "factors": svi.coupled_indicators}
PRIORS = {
    "learned background": Prior(0.3, (1.5, 0.8)),
    "fixed background": Prior(0.3, (1.5, 0.8), background=0.07),
}


def network(seed, nodes=6, communities=3):
    """Return a random network with a few pairs held out, and random factors."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) < 0.4, 1)
    hidden = np.triu(rng.random((nodes, nodes)) < 0.2, 1)
    adjacency = (upper | upper.T).astype(float)
    observed = ~(hidden | hidden.T | np.eye(nodes, dtype=bool))
    gamma = rng.gamma(0.8, size=(nodes, communities)) * 3 + 0.05
    strengths = rng.gamma(1.0, size=(communities + 1, 2)) * 4 + 0.2
    return gamma, strengths, adjacency, observed


def ascend(local, prior, seed, weight, rounds=12, excess=1.0):
    """Return the bound after every coordinate step; `excess` multiplies the pairs' part of gamma in the last round."""
    gamma, strengths, adjacency, observed = network(seed)
    tables = svi.all_indicators(gamma, strengths, adjacency, observed, prior, LOCAL[local])
    bounds = []
    for i in range(rounds):
        target = svi.membership_targets(len(gamma), tables, adjacency, prior, weight)
        gamma = prior.alpha + (excess if i == rounds - 1 else 1.0) * (target - prior.alpha)
        bounds.append(svi.bound(gamma, strengths, tables, adjacency, prior, weight))
        strengths = svi.strength_targets(gamma.shape[1], tables, adjacency, prior, weight)
        bounds.append(svi.bound(gamma, strengths, tables, adjacency, prior, weight))
        logs = svi.expected_log_memberships(gamma)
        levels = svi.expected_log_strengths(strengths, prior.background)
        for (a, b), table in tables.items():
            begin = {"begin": table} if local == "factors" else {}
            tables[a, b] = LOCAL[local](int(adjacency[a, b]), logs[a], logs[b], levels, **begin)
            bounds.append(svi.bound(gamma, strengths, tables, adjacency, prior, weight))
    return np.array(bounds)


@pytest.mark.parametrize("weight", [1.0, 0.8])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("local", LOCAL)
def test_no_coordinate_step_lowers_the_bound(local, prior, weight):
    for seed in range(3):
        bounds = ascend(local, PRIORS[prior], seed, weight)
        assert np.diff(bounds).min() > -ROUNDING
        assert bounds[-1] - bounds[0] > 0.1


@pytest.mark.parametrize("local", LOCAL)
def test_counts_that_are_ten_percent_off_lower_the_bound(local):
    """The test above can fail: near the top a wrong step falls by far more than it forgives."""
    for excess in (0.9, 1.1):
        bounds = ascend(local, PRIORS["fixed background"], 0, 1.0, rounds=25, excess=excess)
        assert np.diff(bounds).min() < -1e-3


@pytest.mark.parametrize("prior", PRIORS)
def test_targets_less_factors_are_the_natural_gradient_of_the_bound(prior):
    """The gradient of the bound is the Fisher information of the factors times (target - factor)."""
    prior = PRIORS[prior]
    gamma, strengths, adjacency, observed = network(4)
    tables = svi.all_indicators(gamma, strengths, adjacency, observed, prior, svi.joint_indicators)

    def difference(array, place):
        moved = []
        for sign in (1.0, -1.0):
            factors = [gamma.copy(), strengths.copy()]
            factors[array][place] += sign * DIFFERENCE_STEP
            moved.append(svi.bound(*factors, tables, adjacency, prior))
        return (moved[0] - moved[1]) / (2 * DIFFERENCE_STEP)

    targets = (
        svi.membership_targets(len(gamma), tables, adjacency, prior),
        svi.strength_targets(gamma.shape[1], tables, adjacency, prior),
    )
    for array, (factor, target) in enumerate(zip((gamma, strengths), targets, strict=True)):
        rows = len(factor) - (array == 1 and prior.background is not None)
        for row in range(rows):
            fisher = np.diag(polygamma(1, factor[row])) - polygamma(1, factor[row].sum())
            numeric = [difference(array, (row, k)) for k in range(factor.shape[1])]
            np.testing.assert_allclose(numeric, fisher @ (target[row] - factor[row]), atol=GRADIENT_ERROR)


@pytest.mark.parametrize("y", [0, 1])
def test_the_bound_lies_below_the_evidence_and_joint_indicators_come_closer(y):
    """Of a single pair p(y = 1) = E[delta] + (E[beta] - E[delta])/K, all under the prior."""
    prior = Prior(0.7, (1.0, 2.0), background=0.1)
    link = 0.1 + (2.0 / 3.0 - 0.1) / 2
    adjacency, observed = np.array([[0.0, y], [y, 0.0]]), ~np.eye(2, dtype=bool)
    best = {}
    for name, local in LOCAL.items():
        gamma, strengths = np.array([[1.0, 0.9], [1.1, 0.8]]), prior.strengths(2)
        for _ in range(300):
            tables = svi.all_indicators(gamma, strengths, adjacency, observed, prior, local)
            gamma = svi.membership_targets(2, tables, adjacency, prior)
            strengths = svi.strength_targets(2, tables, adjacency, prior)
        best[name] = svi.bound(gamma, strengths, tables, adjacency, prior)
    assert best["factors"] < best["joint"] < np.log(link if y else 1.0 - link)


def test_no_other_table_of_a_pair_has_a_higher_bound():
    rng = np.random.default_rng(1)
    prior = PRIORS["learned background"]
    gamma, strengths, adjacency, observed = network(2)
    tables = svi.all_indicators(gamma, strengths, adjacency, observed, prior, svi.joint_indicators)
    best = svi.bound(gamma, strengths, tables, adjacency, prior)
    for pair, table in tables.items():
        other = table * rng.uniform(0.8, 1.2, table.shape)
        worse = svi.bound(gamma, strengths, {**tables, pair: other / other.sum()}, adjacency, prior)
        assert worse < best


def test_held_out_pairs_have_no_indicators():
    gamma, strengths, adjacency, observed = network(0)
    prior = PRIORS["learned background"]
    tables = svi.all_indicators(gamma, strengths, adjacency, observed, prior, svi.joint_indicators)
    assert set(tables) == {(a, b) for a in range(6) for b in range(a + 1, 6) if observed[a, b]}
    assert len(tables) < 15
    totals = svi.membership_targets(6, tables, adjacency, prior).sum(axis=1)
    np.testing.assert_allclose(totals, 3 * prior.alpha + observed.sum(axis=1), rtol=1e-12)


def test_steps_begin_at_the_first_and_fall_as_published():
    assert svi.step_size(0, 0.5, 10.0, 0.7) == 0.5
    published = [(64.0 + t) ** -0.6 for t in (0, 1, 100)]
    ours = [svi.step_size(t, 64.0**-0.6, 64.0, 0.6) for t in (0, 1, 100)]
    np.testing.assert_allclose(ours, published, rtol=1e-12)
    np.testing.assert_array_equal(svi.natural_step(np.ones(2), np.full(2, 3.0), 0.25), [1.5, 1.5])


def test_moments_are_those_of_dirichlet_and_beta_laws():
    mean, variance = svi.membership_moments(np.array([[1.0, 2.0, 3.0]]))
    np.testing.assert_allclose(mean, [[1 / 6, 1 / 3, 1 / 2]])
    np.testing.assert_allclose(variance, [[5 / 252, 8 / 252, 9 / 252]])
    mean, variance = svi.strength_moments(np.array([[3.0, 1.0], [1.0, 1.0]]), None)
    np.testing.assert_allclose((mean, variance), ([0.25, 0.5], [0.0375, 1 / 12]))
    mean, variance = svi.strength_moments(np.array([[3.0, 1.0], [1.0, 1.0]]), 0.02)
    assert (mean[1], variance[1]) == (0.02, 0.0)
