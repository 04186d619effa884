"""The kernels of variational inference are the reference equations, and draws have the moments they should."""

import numpy as np
import pytest
from scipy import special, stats

from blockmix.numerics.special import digamma
from blockmix.samplers.svi import reference as svi
from blockmix.samplers.svi.kernels import (
    Factors,
    Frame,
    Local,
    add_inside,
    commit_nodes,
    coupled_factors,
    draw_memberships,
    draw_strengths,
    geometric_weights,
    joint_factors,
    new_batch,
    new_work,
    schedule,
    update_nodes,
)
from blockmix.tables.layout import Key, Network, empty_rows

ROUNDING = 1e-12
KEY = Key(np.uint32(3), np.uint32(4), np.uint32(5))
SIZES = [1, 2, 3, 63]


def pair_state(rng, communities):
    """Return two nodes and strengths: gamma from far below one to hundreds."""
    gamma = np.exp(rng.uniform(-4, 5, (2, communities)))
    strengths = np.exp(rng.uniform(-2, 4, (communities + 1, 2)))
    logs = svi.expected_log_strengths(strengths, None)
    return gamma, strengths, logs


def test_digamma_over_its_range():
    x = np.concatenate([np.logspace(-6, 8, 2000), np.linspace(0.5, 12.0, 2000)])
    ours = np.array([digamma(value) for value in x])
    np.testing.assert_allclose(ours, special.digamma(x), rtol=1e-13, atol=1e-13)
    assert np.isnan(digamma(0.0))
    assert np.isnan(digamma(-1.5))


@pytest.mark.parametrize("communities", SIZES)
def test_factors_of_a_pair_are_the_reference(communities):
    rng = np.random.default_rng(communities)
    for _ in range(20):
        gamma, _, logs = pair_state(rng, communities)
        e = np.full_like(gamma, np.nan)
        for row in range(2):
            geometric_weights(gamma[row], e[row])
        expected = svi.expected_log_memberships(gamma)
        np.testing.assert_allclose(e, special.softmax(expected, axis=1), rtol=1e-11, atol=1e-300)
        work = new_work(communities, 1)
        for y in (0, 1):
            work.own[:], work.shared[:] = np.nan, np.nan
            joint_factors(e[0], e[1], np.exp(logs - logs.max(axis=0)), y, work.own, work.shared)
            table = svi.joint_indicators(y, expected[0], expected[1], logs)
            np.testing.assert_allclose(work.own, table.sum(axis=1), atol=ROUNDING)
            np.testing.assert_allclose(work.shared, np.diagonal(table), atol=ROUNDING)
            coupled_factors(e[0], e[1], logs[:-1] - logs[-1], y, 1e-13, 10_000, work)
            table = svi.coupled_indicators(y, expected[0], expected[1], logs, tolerance=1e-13)
            np.testing.assert_allclose(work.own, table.sum(axis=1), atol=1e-9)
            np.testing.assert_allclose(work.shared, np.diagonal(table), atol=1e-9)


def test_rounds_end_at_the_tolerance_or_at_the_most():
    rng = np.random.default_rng(0)
    gamma, _, logs = pair_state(rng, 4)
    e = special.softmax(svi.expected_log_memberships(gamma), axis=1)
    work, tilt = new_work(4, 1), logs[:-1] - logs[-1]
    rounds = [coupled_factors(e[0], e[1], tilt, 1, tolerance, 1000, work) for tolerance in (1.9, 1e-3, 1e-12)]
    assert rounds[0] == 1
    assert rounds == sorted(rounds)
    assert rounds[2] > rounds[0]
    assert coupled_factors(e[0], e[1], tilt, 1, 1e-300, 7, work) == 7


@pytest.fixture(scope="module")
def dense_network():
    """Return seven nodes, one isolated, some pairs held out, in the form of the kernels and of the reference."""
    rng = np.random.default_rng(7)
    n = 7
    upper = np.triu(rng.random((n, n)) < 0.5, 1)
    upper[:, -1] = False
    hidden = np.triu(rng.random((n, n)) < 0.2, 1) & ~upper
    adjacency, away = upper | upper.T, hidden | hidden.T
    rows = [np.flatnonzero(row).astype(np.int32) for row in adjacency]
    hidden_rows = [np.flatnonzero(row).astype(np.int32) for row in away]
    network = Network(
        np.concatenate([[0], np.cumsum([len(row) for row in rows])]),
        np.concatenate(rows),
        np.concatenate([[0], np.cumsum([len(row) for row in hidden_rows])]),
        np.concatenate(hidden_rows),
    )
    assert away.any()
    return network, adjacency.astype(float), ~(away | np.eye(n, dtype=bool))


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("communities", SIZES)
def test_a_batch_of_all_nodes_with_all_partners_is_the_full_step(dense_network, communities, joint):
    network, adjacency, observed = dense_network
    rng = np.random.default_rng(communities)
    n, weight = len(adjacency), 0.8
    gamma = np.exp(rng.uniform(-3, 3, (n, communities)))
    strengths = np.exp(rng.uniform(-1, 3, (communities + 1, 2)))
    prior = svi.Prior(0.2)
    factors = Factors(gamma.copy(), np.full_like(gamma, np.nan), np.arange(n))
    for a in range(n):
        geometric_weights(gamma[a], factors.weights[a])
    logs = svi.expected_log_strengths(strengths, None)
    level, tilt = np.exp(logs - logs.max(axis=0)), logs[:-1] - logs[-1]
    alpha = rng.uniform(0.1, 2.0, n)
    how = Local(n, n, alpha, weight, 0.9, 10.0, 0.6, joint, 1e-13, 10_000)
    out, nodes = new_batch(n, communities), np.arange(n)[::-1].copy()
    out.gamma[:], out.inside[:] = np.nan, np.nan
    frame = Frame(network, factors, level, tilt, how, KEY)
    update_nodes(0, n, nodes, frame, new_work(communities, n), out)
    np.testing.assert_array_equal(factors.gamma, gamma)

    local = svi.joint_indicators if joint else svi.coupled_indicators
    tables = svi.all_indicators(gamma, strengths, adjacency, observed, prior, local)
    target = svi.membership_targets(n, tables, adjacency, prior, weight)
    target += alpha[:, None] - prior.alpha
    exact = ROUNDING if joint else 1e-8
    for i, a in enumerate(nodes):
        expected = svi.natural_step(gamma[a], target[a], svi.step_size(a, 0.9, 10.0, 0.6))
        np.testing.assert_allclose(out.gamma[i], expected, rtol=exact, atol=exact)
    inside = np.full((communities + 1, 2), np.nan)
    add_inside(nodes, np.ones(n), out, inside)
    wanted = svi.strength_targets(communities, tables, adjacency, prior, weight) - prior.strengths(
        communities
    )
    np.testing.assert_allclose(inside, wanted, atol=10 * exact)
    assert out.effort[:, 0].sum() == observed.sum()

    commit_nodes(0, n, nodes, out, factors)
    np.testing.assert_array_equal(factors.gamma[nodes], out.gamma)
    np.testing.assert_array_equal(factors.updates, np.arange(n) + 1)
    softmax = special.softmax(svi.expected_log_memberships(factors.gamma), axis=1)
    np.testing.assert_allclose(factors.weights, softmax, rtol=1e-11)


def test_the_schedule_is_the_reference():
    for t in (0.0, 1.0, 33.0, 1e6):
        assert schedule(t, 0.7, 20.0, 0.6) == pytest.approx(svi.step_size(t, 0.7, 20.0, 0.6), rel=1e-14)


def test_draws_have_the_moments_of_their_factors():
    """2,000 draws of 6 means and 6 variances: |z| < 5 has a false-alarm rate of 7e-6 in all; 10% off is seen."""
    draws = 2000
    gamma = np.tile([0.05, 0.6, 4.0], (draws, 1))
    rows = empty_rows(draws, 3)
    draw_memberships(0, draws, gamma, KEY, rows)
    pi = rows.weights[:, 1::2].astype(np.float64)
    np.testing.assert_allclose(pi.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(rows.words[:, ::2], np.tile(np.arange(3), (draws, 1)))
    mean, variance = (moment[0] for moment in svi.membership_moments(gamma[:1]))
    strengths = np.tile([40.0, 9.0], (draws, 1))
    beta = np.empty(draws)
    draw_strengths(strengths, KEY, beta)
    # the marginals of a Dirichlet law are Beta laws: their fourth moments give the error of a variance
    laws = [stats.beta(g, 4.65 - g) for g in gamma[0]] + [stats.beta(9.0, 40.0)]
    for law, sample in zip(laws, [*pi.T, beta], strict=True):
        sigma = law.std()
        kurtosis = float(law.stats("k")) + 3.0
        assert abs(sample.mean() - law.mean()) < 5 * sigma / np.sqrt(draws)
        error = sigma**2 * np.sqrt((kurtosis - 1.0) / draws)
        assert abs(sample.var() - sigma**2) < 5 * error
    np.testing.assert_allclose([law.mean() for law in laws[:3]], mean, rtol=1e-12)
    np.testing.assert_allclose([law.var() for law in laws[:3]], variance, rtol=1e-9)
    assert abs(pi[:, 2].mean() - 0.9 * mean[2]) > 5 * laws[2].std() / np.sqrt(draws)
