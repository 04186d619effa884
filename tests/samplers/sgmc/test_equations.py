"""The equations of stochastic gradient Langevin dynamics are gradients of the log joint."""

import numpy as np
import pytest

from blockmix.model.reference import Globals, general_pair_likelihood, pair_likelihood
from blockmix.samplers.sgmc.reference import (
    background_gradient,
    block_factored_gradient,
    block_membership_gradient,
    block_strength_gradient,
    factored_gradient,
    membership_gradient,
    preconditioned_step,
    printed_step,
    step_size,
    strength_gradient,
)

NODES, COMMUNITIES = 5, 3


@pytest.fixture(params=range(3))
def state(request):
    rng = np.random.default_rng(request.param)
    phi = rng.gamma(0.8, size=(NODES, COMMUNITIES))
    theta = rng.gamma(1.5, size=(COMMUNITIES, 2)) + 0.05
    square = rng.gamma(1.5, size=(COMMUNITIES, COMMUNITIES, 2)) + 0.05
    return rng, phi, theta, square + square.transpose(1, 0, 2)


def derivative(function, at, h=1e-6):
    """Central differences in every entry of an array."""
    grad = np.zeros_like(at)
    for index in np.ndindex(*at.shape):
        up, down = at.copy(), at.copy()
        up[index] += h
        down[index] -= h
        grad[index] = (function(up) - function(down)) / (2 * h)
    return grad


def rows(phi):
    return phi / phi.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("y", [0, 1])
def test_the_membership_gradient_is_that_of_the_log_likelihood_times_phi(state, y):
    _, phi, theta, square = state
    beta, blocks, partners = rows(theta)[:, 1], rows(square)[:, :, 1], np.array([1, 2, 4])

    def log_likelihood(phi_a):
        pi, own = rows(phi), rows(phi_a)
        return sum(np.log(pair_likelihood(y, own, pi[b], beta, 0.07)) for b in partners)

    def block_log_likelihood(phi_a):
        pi, own = rows(phi), rows(phi_a)
        return sum(np.log(general_pair_likelihood(y, own, pi[b], blocks)) for b in partners)

    got = membership_gradient(0, y, partners, rows(phi), Globals(beta, 0.07, 0.1))
    np.testing.assert_allclose(got, phi[0] * derivative(log_likelihood, phi[0]), atol=1e-7)
    got = block_membership_gradient(0, y, partners, rows(phi), blocks)
    np.testing.assert_allclose(got, phi[0] * derivative(block_log_likelihood, phi[0]), atol=1e-7)


@pytest.mark.parametrize("y", [0, 1])
def test_the_strength_gradients_are_those_of_the_log_likelihood_times_theta(state, y):
    rng, phi, theta, square = state
    pairs, pi, background = np.array([[0, 1], [0, 3], [2, 4]]), rows(phi), rng.gamma(1.0, size=2)
    delta, beta = rows(background)[1], rows(theta)[:, 1]

    def log_likelihood(theta, background):
        return sum(
            np.log(pair_likelihood(y, pi[a], pi[b], rows(theta)[:, 1], rows(background)[1])) for a, b in pairs
        )

    def block_log_likelihood(upper):
        # one number for B_kl and B_lk: the lower half follows the upper one
        full = np.where(np.tri(COMMUNITIES, k=-1)[:, :, None] == 1, upper.transpose(1, 0, 2), upper)
        return sum(np.log(general_pair_likelihood(y, pi[a], pi[b], rows(full)[:, :, 1])) for a, b in pairs)

    want = theta * derivative(lambda x: log_likelihood(x, background), theta)
    np.testing.assert_allclose(strength_gradient(y, pairs, pi, theta, delta), want, atol=1e-7)
    want = background * derivative(lambda x: log_likelihood(theta, x), background)
    np.testing.assert_allclose(background_gradient(y, pairs, pi, beta, background), want, atol=1e-7)
    want = square * derivative(block_log_likelihood, square)
    got = block_strength_gradient(y, pairs, pi, square)
    upper = np.triu_indices(COMMUNITIES)
    np.testing.assert_allclose(got[upper], want[upper], atol=1e-7)
    np.testing.assert_allclose(got, got.transpose(1, 0, 2), atol=1e-15)


@pytest.mark.parametrize("y", [0, 1])
def test_the_factored_forms_are_the_same_sums(state, y):
    _, phi, theta, square = state
    pi, partners = rows(phi), np.array([0, 2, 3])
    g, blocks = Globals(rows(theta)[:, 1], 0.2, 0.1), rows(square)[:, :, 1]
    np.testing.assert_allclose(
        factored_gradient(4, y, partners, pi, g), membership_gradient(4, y, partners, pi, g), atol=1e-14
    )
    np.testing.assert_allclose(
        block_factored_gradient(4, y, partners, pi, blocks),
        block_membership_gradient(4, y, partners, pi, blocks),
        atol=1e-14,
    )


def test_a_membership_gradient_leaves_the_total_alone(state):
    _, phi, theta, _ = state
    got = membership_gradient(1, 1, np.array([0, 3]), rows(phi), Globals(rows(theta)[:, 1], 0.1, 0.1))
    assert abs(got.sum()) < 1e-14


def test_the_printed_update_lacks_the_factor_phi(state):
    rng, phi, _, _ = state
    gradient, noise = rng.normal(size=COMMUNITIES), rng.normal(size=COMMUNITIES)
    right = preconditioned_step(phi[0], 0.1, gradient, 0.01, noise)
    printed = printed_step(phi[0], 0.1, gradient, 0.01, noise)
    assert np.abs(right - printed).max() > 1e-4
    np.testing.assert_array_equal(printed, preconditioned_step(phi[0], 0.1, gradient / phi[0], 0.01, noise))


def test_the_expansion_moves_the_total_and_not_the_memberships(state):
    """(S1) Its drift is along phi: it has no part in the direction of any change of pi."""
    _, phi, _, _ = state
    zero = np.zeros(COMMUNITIES)
    plain = preconditioned_step(phi[0], phi[0], zero, 0.01, zero)
    expanded = preconditioned_step(phi[0], phi[0], zero, 0.01, zero, expansion=7.0)
    np.testing.assert_allclose(rows(expanded), rows(plain), atol=1e-14)
    assert expanded.sum() > plain.sum()


def test_the_paper_s_schedule_is_one_of_ours():
    for t in (0, 10, 5000):
        assert step_size(t, 1024**-0.5, 1024, 0.5) == pytest.approx((1024 + t) ** -0.5, rel=1e-14)
    assert step_size(10**6, 0.01, 1024, 0.0) == 0.01
