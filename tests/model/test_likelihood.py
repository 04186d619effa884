"""The reference likelihood is that of the generative story, checked by enumerating who meets as what."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockmix.model import reference as ref

# Sums of at most 64 float64 terms of size 1.
ROUNDING = 1e-12


def random_pair(seed, communities):
    rng = np.random.default_rng(seed)
    pi_a, pi_b = rng.dirichlet(np.full(communities, 0.4), size=2)
    return pi_a, pi_b, rng.uniform(0.01, 0.99, communities), rng.uniform(0.001, 0.5)


def enumerated(y, pi_a, pi_b, beta, delta):
    """p(z_ab = k, z_ba = l, y) for every k and l, straight from the generative story."""
    joint = np.empty((len(beta), len(beta)))
    for k, m in product(range(len(beta)), repeat=2):
        probability = beta[k] if k == m else delta
        joint[k, m] = pi_a[k] * pi_b[m] * (probability if y else 1 - probability)
    return joint


states = given(seed=st.integers(0, 2**32 - 1), communities=st.integers(1, 8))


@states
def test_a_pair_is_linked_or_not(seed, communities):
    pair = random_pair(seed, communities)
    assert ref.pair_likelihood(0, *pair) + ref.pair_likelihood(1, *pair) == pytest.approx(1, abs=ROUNDING)


@states
def test_the_closed_forms_equal_the_enumeration_over_all_meetings(seed, communities):
    pair = random_pair(seed, communities)
    for y in (0, 1):
        joint = enumerated(y, *pair)
        evidence = joint.sum()
        assert ref.pair_likelihood(y, *pair) == pytest.approx(evidence, abs=ROUNDING)
        np.testing.assert_allclose(ref.indicator_posterior(y, *pair), joint.sum(1) / evidence, atol=ROUNDING)
        np.testing.assert_allclose(ref.shared_posterior(y, *pair), np.diag(joint) / evidence, atol=ROUNDING)


@states
def test_indicators_sum_to_one_and_sharing_is_never_more_than_being_there(seed, communities):
    pair = random_pair(seed, communities)
    for y in (0, 1):
        indicator, shared = ref.indicator_posterior(y, *pair), ref.shared_posterior(y, *pair)
        assert indicator.sum() == pytest.approx(1, abs=ROUNDING)
        assert (shared <= indicator + ROUNDING).all()
        assert (shared >= 0).all()


@states
def test_the_general_model_with_one_background_is_the_assortative_one(seed, communities):
    pi_a, pi_b, beta, delta = random_pair(seed, communities)
    matrix = np.full((communities, communities), delta)
    np.fill_diagonal(matrix, beta)
    for y in (0, 1):
        pair = (y, pi_a, pi_b)
        both = ref.general_shared_posterior(*pair, matrix)
        assert ref.general_pair_likelihood(*pair, matrix) == pytest.approx(
            ref.pair_likelihood(*pair, beta, delta), abs=ROUNDING
        )
        np.testing.assert_allclose(
            ref.general_indicator_posterior(*pair, matrix),
            ref.indicator_posterior(*pair, beta, delta),
            atol=ROUNDING,
        )
        np.testing.assert_allclose(np.diag(both), ref.shared_posterior(*pair, beta, delta), atol=ROUNDING)
        assert both.sum() == pytest.approx(1, abs=ROUNDING)


def test_the_general_model_takes_a_matrix_that_is_not_symmetric():
    rng = np.random.default_rng(3)
    pi_a, pi_b = rng.dirichlet(np.ones(3), size=2)
    matrix = rng.uniform(0, 1, (3, 3))
    by_hand = sum(pi_a[k] * pi_b[m] * matrix[k, m] for k, m in product(range(3), repeat=2))
    assert ref.general_pair_likelihood(1, pi_a, pi_b, matrix) == pytest.approx(by_hand, abs=ROUNDING)
    np.testing.assert_allclose(
        ref.general_shared_posterior(1, pi_a, pi_b, matrix).sum(axis=1),
        ref.general_indicator_posterior(1, pi_a, pi_b, matrix),
        atol=ROUNDING,
    )


def test_the_joint_density_is_a_sum_of_logs_over_observed_pairs_and_priors():
    from scipy import stats

    rng = np.random.default_rng(8)
    alpha, eta, delta = 0.7, (2.0, 3.0), 0.05
    pi, beta = rng.dirichlet(np.full(3, alpha), size=4), rng.uniform(0.1, 0.9, 3)
    adjacency = np.zeros((4, 4))
    adjacency[0, 1] = adjacency[1, 0] = adjacency[2, 3] = adjacency[3, 2] = 1
    observed = ~np.eye(4, dtype=bool)
    observed[0, 3] = observed[3, 0] = False
    expected = stats.beta(*eta).logpdf(beta).sum()
    expected += sum(stats.dirichlet(np.full(3, alpha)).logpdf(row) for row in pi)
    for a, b in [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]:
        link = stats.bernoulli(delta + np.sum((beta - delta) * pi[a] * pi[b]))
        expected += link.logpmf(int(adjacency[a, b]))
    found = ref.log_joint(adjacency, observed, pi, beta, delta, alpha, eta)
    assert found == pytest.approx(expected, rel=1e-10)
