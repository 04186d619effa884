"""The Langevin equations (H1) to (H7): drifts are gradients, proposals are densities, ratios are antisymmetric."""

import numpy as np
import pytest
from scipy.integrate import quad

from blockmix.model.reference import Globals, pair_likelihood
from blockmix.samplers.lmc import reference as lmc

# Central differences of a log density of size 10 with steps of 1e-5: rounding 1e-10, truncation 1e-9.
DIFFERENCE_STEP, GRADIENT_ERROR = 1e-5, 1e-6
SEEDS = range(3)
EXPANSION = 3.0


def network(seed, nodes=6, communities=3):
    """Return a random network with a few pairs held out, memberships, and strengths on both sides of delta."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) < 0.4, 1)
    hidden = np.triu(rng.random((nodes, nodes)) < 0.2, 1)
    observed = ~(hidden | hidden.T | np.eye(nodes, dtype=bool))
    phi = rng.gamma(0.8, size=(nodes, communities)) * 3 + 0.05
    strengths = Globals(np.append(rng.uniform(0.3, 0.9, communities - 1), 0.02), 0.06, 0.4)
    return phi, (upper | upper.T).astype(float), observed, strengths


def gradient(function, x):
    """Return the gradient by central differences, one coordinate after the other."""
    steps = DIFFERENCE_STEP * np.eye(len(x))
    return np.array([function(x + step) - function(x - step) for step in steps]) / (2 * DIFFERENCE_STEP)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_drift_of_a_row_is_the_preconditioned_gradient_of_its_target(seed):
    phi, adjacency, observed, g = network(seed)

    def log_target(row):
        moved = phi.copy()
        moved[2] = row
        return lmc.row_log_target(2, moved, adjacency, observed, g, EXPANSION)

    expected = phi[2] * gradient(log_target, phi[2]) + 1.0
    drift = lmc.row_drift(2, phi, adjacency, observed, g, EXPANSION)
    np.testing.assert_allclose(drift, expected, atol=GRADIENT_ERROR)
    assert np.abs(1.1 * drift - expected).max() > 0.01


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [0, 2, 3])
def test_the_drift_of_a_strength_is_the_preconditioned_gradient_of_its_target(seed, k):
    """k = 3 is the background."""
    phi, adjacency, observed, g = network(seed)
    pi, eta = lmc.shares(phi), (1.5, 2.0)
    value = np.append(g.beta, g.delta)
    theta = 7.0 * np.array([value[k], 1.0 - value[k]])

    def log_target(theta):
        moved = value.copy()
        moved[k] = theta[0] / theta.sum()
        total = lmc.theta_log_prior(theta, eta, EXPANSION)
        for a, b in np.argwhere(np.triu(observed, 1)):
            total += np.log(pair_likelihood(int(adjacency[a, b]), pi[a], pi[b], moved[:-1], moved[-1]))
        return total

    drift = lmc.theta_drift(k, theta, pi, adjacency, observed, g, eta, EXPANSION)
    np.testing.assert_allclose(drift, theta * gradient(log_target, theta) + 1.0, atol=GRADIENT_ERROR)


@pytest.mark.parametrize("damping", [0.3, 1.0, 5.0])
def test_the_mean_of_the_proposal_is_the_langevin_drift_of_its_metric(damping):
    """x + h/2 (G d log p + G') with G = x w^2, where x d log p = D - 1."""
    x, drift, step = np.array([0.01, 0.4, 2.0, 30.0]), np.array([1.0, -2.0, 0.3, 5.0]), 0.2

    def metric(x):
        return x * (x / (x + damping)) ** 2

    slope = (metric(x + DIFFERENCE_STEP) - metric(x - DIFFERENCE_STEP)) / (2 * DIFFERENCE_STEP)
    mean, variance = lmc.proposal(x, drift, step, damping)
    np.testing.assert_allclose(mean, x + step / 2 * (metric(x) * (drift - 1) / x + slope), atol=1e-8)
    np.testing.assert_allclose(variance, step * metric(x))


def test_without_damping_it_is_the_corrected_update_of_the_paper():
    x, drift = np.array([0.3, 2.0]), np.array([-0.5, 1.5])
    mean, variance = lmc.proposal(x, drift, 0.4, 0.0)
    np.testing.assert_allclose(mean, x + 0.2 * drift)
    np.testing.assert_allclose(variance, 0.4 * x)


@pytest.mark.parametrize("mean", [-1.5, -0.2, 0.0, 0.1, 2.0])
def test_the_density_of_a_proposal_integrates_to_one_with_both_branches(mean):
    def density(x):
        return np.exp(lmc.log_folded(np.float64(x), np.float64(mean), np.float64(0.5)))

    assert quad(density, 0, 12)[0] == pytest.approx(1.0, abs=1e-8)

    def one_branch(x):
        return np.exp(-((x - mean) ** 2)) / np.sqrt(np.pi)

    if mean < 1:
        assert quad(one_branch, 0, 12)[0] < 0.99


@pytest.mark.parametrize("damping", [0.0, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_ratio_of_a_move_and_that_of_its_reverse_cancel(seed, damping):
    phi, adjacency, observed, g = network(seed)
    there = phi[1] * np.array([1.3, 0.6, 1.1])
    moved = phi.copy()
    moved[1] = there
    rest = (adjacency, observed, g, EXPANSION, (0.5, damping))
    forward = lmc.row_log_ratio(1, phi, there, *rest)
    assert forward == pytest.approx(-lmc.row_log_ratio(1, moved, phi[1], *rest), abs=1e-10)
    assert abs(forward) > 1e-6


@pytest.mark.parametrize("seed", SEEDS)
def test_refreshing_is_tested_by_the_target_without_the_prior_it_draws_from(seed):
    phi, adjacency, observed, g = network(seed)
    fresh, k = 0.03, 1
    moved = phi.copy()
    moved[0, k] = fresh
    rest = (adjacency, observed, g, EXPANSION)
    whole = lmc.row_log_target(0, moved, *rest) - lmc.row_log_target(0, phi, *rest)
    prior = (g.alpha - 1) * np.log(fresh / phi[0, k]) - fresh + phi[0, k]
    assert lmc.refresh_log_ratio(0, k, fresh, phi, *rest) == pytest.approx(whole - prior, abs=1e-10)
