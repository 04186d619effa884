"""The collapsed equations (C1) to (C4): they are what is left when memberships and strengths are integrated out."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import roots_jacobi

from blockmix.model.reference import pair_likelihood
from blockmix.samplers.cgs import reference as cgs
from blockmix.samplers.cgs.reference import Prior

ROUNDING = 1e-12
LEARNED = Prior(4, 3, 0.3, (1.5, 2.0), None, (1.0, 3.0))
FIXED = replace(LEARNED, background=0.07)


def random_state(seed, p):
    """Pairs of which one is not observed, links, indicators."""
    rng = np.random.default_rng(seed)
    pairs = np.array([(a, b) for a in range(p.nodes) for b in range(a + 1, p.nodes)])[1:]
    links = rng.random(len(pairs)) < 0.5
    return pairs, links, rng.integers(0, p.communities, (len(pairs), 2))


@pytest.mark.parametrize("p", [LEARNED, FIXED], ids=["learned", "fixed"])
@pytest.mark.parametrize("seed", range(4))
def test_the_weights_of_a_pair_are_ratios_of_the_collapsed_joint(seed, p):
    pairs, links, indicators = random_state(seed, p)
    at, k = 2, p.communities
    joint = np.empty((k, k))
    for choice in product(range(k), repeat=2):
        indicators[at] = choice
        joint[choice] = np.exp(cgs.log_collapsed(pairs, links, indicators, p))
    others = np.arange(len(pairs)) != at
    meetings, met = cgs.count(pairs[others], links[others], indicators[others], p)
    a, b = pairs[at]
    likelihood = cgs.predictive(int(links[at]), met, p)
    weights = cgs.joint_weights(meetings[a] + p.alpha, meetings[b] + p.alpha, likelihood)
    np.testing.assert_allclose(weights / weights.sum(), joint / joint.sum(), rtol=1e-10)
    # and not with a concentration that is off by 10%
    wrong = cgs.joint_weights(meetings[a] + 1.1 * p.alpha, meetings[b] + p.alpha, likelihood)
    assert np.abs(wrong / wrong.sum() - joint / joint.sum()).max() > 1e-4


@pytest.mark.parametrize("communities", [1, 2, 7])
def test_the_split_in_k_terms_is_the_sum_of_k_squared(communities):
    rng = np.random.default_rng(communities)
    u, v = rng.gamma(0.5, size=(2, communities))
    likelihood = rng.random(communities + 1)
    weights = cgs.joint_weights(u, v, likelihood)
    diagonal, rest = cgs.split_weights(u, v, likelihood)
    np.testing.assert_allclose(diagonal, np.diag(weights), rtol=ROUNDING)
    assert rest == pytest.approx(weights.sum() - np.trace(weights), abs=ROUNDING)


@pytest.mark.parametrize("background", [None, 0.05])
@pytest.mark.parametrize("link", [True, False])
def test_the_sum_over_indicators_is_the_marginal_likelihood(link, background):
    """Two nodes, K = 2: the integral of (M1) over memberships and strengths, by Gauss-Jacobi quadrature."""
    p = Prior(2, 2, 0.6, (1.5, 2.0), background, (1.0, 3.0))
    pairs, links = np.array([[0, 1]]), np.array([link])
    total = sum(
        np.exp(cgs.log_collapsed(pairs, links, np.array([z]), p)) for z in product(range(2), repeat=2)
    )

    def rule(one, zero):
        points, weights = roots_jacobi(4, zero - 1.0, one - 1.0)
        return list(zip((points + 1.0) / 2.0, weights / weights.sum(), strict=True))

    share, strength = rule(p.alpha, p.alpha), rule(*p.eta)
    delta = rule(*p.background_prior) if background is None else [(background, 1.0)]
    integral = 0.0
    for (x, w), (y, v), (b, f), (c, g), (d, h) in product(share, share, strength, strength, delta):
        z = pair_likelihood(int(link), np.array([x, 1 - x]), np.array([y, 1 - y]), np.array([b, c]), d)
        integral += w * v * f * g * h * z
    assert total == pytest.approx(integral, rel=1e-10)


def test_moments_given_the_indicators_are_those_of_dirichlet_and_beta():
    pairs, links, indicators = random_state(3, LEARNED)
    meetings, met = cgs.count(pairs, links, indicators, LEARNED)
    mean, second = cgs.membership_moments(meetings, LEARNED.alpha)
    for a in range(LEARNED.nodes):
        law = stats.dirichlet(meetings[a] + LEARNED.alpha)
        np.testing.assert_allclose(mean[a], law.mean(), rtol=ROUNDING)
        np.testing.assert_allclose(second[a], law.cov() + np.outer(law.mean(), law.mean()), rtol=1e-10)
    mean, second = cgs.strength_moments(met, LEARNED)
    for k in range(LEARNED.communities + 1):
        prior = LEARNED.eta if k < LEARNED.communities else LEARNED.background_prior
        law = stats.beta(prior[0] + met[k, 1], prior[1] + met[k, 0])
        assert (mean[k], second[k]) == pytest.approx((law.mean(), law.moment(2)), rel=1e-10)
    mean, second = cgs.strength_moments(met, FIXED)
    assert (mean[-1], second[-1]) == (0.07, 0.07**2)
