"""The reference equations of the default sampler: right drift, right splits, right limits."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import exp1

from blockmix.model.reference import Globals, log_joint
from blockmix.samplers.scir.reference import diffusion as scir

# Central differences of a log joint of size 10 with steps of 1e-5: rounding 1e-10, truncation 1e-9.
DIFFERENCE_STEP, GRADIENT_ERROR = 1e-5, 1e-6
ROUNDING = 1e-12
SEEDS = range(5)


def network(seed, nodes=7, communities=3):
    """A random network with a few pairs held out, random memberships and strengths on both sides of delta."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) < 0.4, 1)
    hidden = np.triu(rng.random((nodes, nodes)) < 0.2, 1)
    adjacency = (upper | upper.T).astype(float)
    observed = ~(hidden | hidden.T | np.eye(nodes, dtype=bool))
    phi = rng.gamma(0.8, size=(nodes, communities)) * 3 + 0.05
    strengths = Globals(np.append(rng.uniform(0.3, 0.9, communities - 1), 0.02), 0.06, 0.4)
    return phi, adjacency, observed, strengths


def shares(phi):
    return phi / phi.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_drift_is_the_preconditioned_gradient_of_the_expanded_joint(seed):
    """Twice the drift of phi under metric diag(phi) is phi * d log p(phi) / d phi + 1.

    log p(phi) = log p(y | pi) + sum_k ((alpha - 1) log phi_k - phi_k) + degree * log s.
    """
    phi, adjacency, observed, g = network(seed)
    a = 2
    degree = len(scir.links_of(a, adjacency, observed))

    def log_density(row):
        moved = phi.copy()
        moved[a] = row
        flat = log_joint(adjacency, observed, shares(moved), g.beta, g.delta, 1.0, (1.0, 1.0))
        return flat + np.sum((g.alpha - 1) * np.log(row) - row) + degree * np.log(row.sum())

    gradient = np.empty(phi.shape[1])
    for k in range(phi.shape[1]):
        step = np.zeros(phi.shape[1])
        step[k] = DIFFERENCE_STEP
        gradient[k] = (log_density(phi[a] + step) - log_density(phi[a] - step)) / (2 * DIFFERENCE_STEP)
    drift = scir.local_drift(a, phi, adjacency, observed, g)
    np.testing.assert_allclose(drift, phi[a] * gradient + 1.0, atol=GRADIENT_ERROR)


def test_links_and_non_links_leave_out_what_is_held_out_and_the_node_itself():
    _, adjacency, observed, _ = network(0)
    for a in range(len(adjacency)):
        links, others = scir.links_of(a, adjacency, observed), scir.non_links_of(a, adjacency, observed)
        together = np.sort(np.concatenate([links, others]))
        np.testing.assert_array_equal(together, np.flatnonzero(observed[a]))
        assert a not in together
        assert adjacency[a, links].all()
        assert not adjacency[a, others].any()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_factored_link_count_is_the_link_count(seed):
    phi, adjacency, observed, g = network(seed)
    for a in range(len(phi)):
        arguments = (a, shares(phi), adjacency, observed, g)
        count = scir.link_count(*arguments)
        np.testing.assert_allclose(scir.link_shape(*arguments), count, atol=ROUNDING)
        assert count.sum() == pytest.approx(len(scir.links_of(a, adjacency, observed)), abs=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_order_of_non_links_is_exact_to_second_order_in_the_strengths(seed):
    phi, adjacency, observed, g = network(seed)
    errors = []
    for scale in (1e-2, 1e-3, 1e-4):
        weak = Globals(g.beta * scale, g.delta * scale, g.alpha)
        arguments = (2, shares(phi), adjacency, observed, weak)
        errors.append(np.abs(scir.non_link_first_order(*arguments) - scir.non_link_exact(*arguments)).max())
    assert errors[0] < 1e-3
    assert errors[1] < errors[0] / 50
    assert errors[2] < errors[1] / 50


@pytest.mark.parametrize("seed", SEEDS)
def test_the_resummed_non_links_are_exact_for_hard_clusters(seed):
    phi, adjacency, observed, g = network(seed)
    pi = np.eye(3)[np.random.default_rng(seed).integers(0, 3, len(phi))]
    pi[2] = shares(phi)[2]
    arguments = (2, pi, adjacency, observed, g)
    np.testing.assert_allclose(
        scir.non_link_resummed(*arguments), scir.non_link_exact(*arguments), atol=ROUNDING
    )


def test_the_resummed_non_links_are_never_singular():
    g = Globals(np.array([1 - 1e-9, 0.5]), 1e-6, 0.5)
    x = scir.resummed_exposure(np.array([3.0, 0.0]), np.array([3.0, 0.0]), np.array([0.999, 0.001]), g)
    assert np.isfinite(x).all()
    assert x[1] == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_split_drift_is_the_drift_with_signs_that_keep_phi_positive(seed):
    phi, adjacency, observed, g = network(seed)
    pi = shares(phi)
    for a in range(len(phi)):
        rows = pi[scir.non_links_of(a, adjacency, observed)]
        x = scir.resummed_exposure(rows.sum(axis=0), (rows**2).sum(axis=0), pi[a], g)
        link = scir.link_shape(a, pi, adjacency, observed, g)
        shape, rate = scir.split_drift(phi[a], link, x, g.alpha)
        whole = g.alpha + link + scir.non_link_resummed(a, pi, adjacency, observed, g) - phi[a]
        np.testing.assert_allclose(shape - rate * phi[a], whole, atol=1e-10)
        assert (shape >= g.alpha).all()
        assert (rate >= 1.0).all()


def test_the_moments_of_a_step_are_those_of_the_noncentral_chi_square_law():
    phi, shape, rate, step = (
        np.array([0.01, 1.0, 30.0]),
        np.array([0.3, 2.0, 25.0]),
        np.array([1.0, 4.0, 1.3]),
        0.7,
    )
    mean, variance = scir.cir_moments(phi, shape, rate, step)
    decay = np.exp(-rate * step / 2)
    scale = rate / (1 - decay)
    law = stats.ncx2(df=2 * shape, nc=2 * scale * phi * decay, scale=1 / (2 * scale))
    np.testing.assert_allclose(mean, law.mean(), rtol=1e-10)
    np.testing.assert_allclose(variance, law.var(), rtol=1e-10)


def test_a_long_step_forgets_where_it_began():
    mean, variance = scir.cir_moments(np.array([1e-6, 50.0]), np.full(2, 3.0), np.full(2, 2.0), 100.0)
    np.testing.assert_allclose(mean, 1.5)
    np.testing.assert_allclose(variance, 0.75)


def test_births_above_a_size_are_what_a_gamma_of_vanishing_shape_leaves():
    """Many components of shape alpha -> 0 at zero: each exceeds eps with probability alpha E1(eps c)."""
    bulk, alpha, scale, eps = 10_000, 1e-6, 3.0, 0.01
    expected = bulk * stats.gamma(alpha, scale=1 / scale).sf(eps)
    assert scir.birth_rate(bulk, alpha, scale, eps) == pytest.approx(expected, rel=1e-4)
    assert scir.birth_rate(1, 1.0, 1.0, 0.5) == pytest.approx(exp1(0.5))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_observed_pair_is_counted_inside_a_community_or_outside_all(seed):
    phi, adjacency, observed, g = network(seed)
    counts = scir.pair_counts(shares(phi), adjacency, observed, g)
    upper = np.triu(observed, 1)
    assert counts.links.sum() + counts.background_links == pytest.approx((adjacency * upper).sum())
    assert counts.non_links.sum() + counts.background_non_links == pytest.approx(
        ((1 - adjacency) * upper).sum()
    )


def test_non_links_inside_hard_clusters_are_counted_exactly_from_the_exposures():
    _, adjacency, observed, g = network(1, nodes=12)
    pi = np.eye(3)[np.arange(12) % 3]
    rest = [pi[scir.non_links_of(a, adjacency, observed)].sum(axis=0) for a in range(12)]
    exposure = np.array([scir.resummed_exposure(rest[a], rest[a], pi[a], g) for a in range(12)])
    found = scir.non_link_pairs_resummed(pi, exposure, g)
    np.testing.assert_allclose(found, scir.pair_counts(pi, adjacency, observed, g).non_links, atol=ROUNDING)
