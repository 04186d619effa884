"""The equations of `sgmc-m`: sums with a bulk are sums over all communities, and its total moves as it should."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockmix.model.reference import Globals, pair_likelihood
from blockmix.samplers.sgmc_m import reference as ref

EXACT = 1e-12


def random_split(rng, communities, listed=None):
    count = int(rng.integers(1, communities + 1)) if listed is None else listed
    ids = rng.choice(communities, count, replace=False)
    return ref.Split(ids, rng.gamma(0.7, size=count) + 1e-3, float(rng.gamma(0.5) + 1e-3), communities)


def random_globals(rng, communities):
    return Globals(rng.uniform(0.01, 0.95, communities), 0.05, 0.3 / communities)


def random_met(rng, communities):
    return [
        ref.Met(random_split(rng, communities), int(y), float(c))
        for y, c in zip(rng.integers(0, 2, 6), rng.uniform(0.5, 9.0, 6), strict=True)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_sums_with_a_bulk_are_the_sums_over_all_communities(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 12))
    a, b, g = random_split(rng, k), random_split(rng, k), random_globals(rng, k)
    d = g.beta - g.delta
    assert ref.mean_excess(a, g.beta, g.delta) == pytest.approx(d @ a.memberships(), abs=EXACT)
    expected = np.sum(d * a.memberships() * b.memberships())
    assert ref.shared_excess(a, b, g.beta, g.delta) == pytest.approx(expected, abs=EXACT)
    link = pair_likelihood(1, a.memberships(), b.memberships(), g.beta, g.delta)
    assert g.delta + expected == pytest.approx(link, abs=EXACT)


@pytest.mark.parametrize("seed", range(4))
def test_the_drift_of_the_bulk_is_the_gradient_in_its_total(seed):
    """T d/dT of the log likelihood as all of the bulk grows in proportion, by central differences."""
    rng = np.random.default_rng(seed)
    a, g, met = random_split(rng, 9, 3), random_globals(rng, 9), random_met(rng, 9)

    def log_likelihood(total):
        row = ref.Split(a.listed, a.phi, total / a.bulk_size, a.communities)
        pi = row.memberships()
        return sum(
            b.scale * np.log(pair_likelihood(b.y, pi, b.row.memberships(), g.beta, g.delta)) for b in met
        )

    t, h = a.bulk_total, 1e-5
    slope = (log_likelihood(t + h) - log_likelihood(t - h)) / (2 * h)
    expected = a.bulk_size * g.alpha - t + t * slope
    assert ref.bulk_drift(a, met, g) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_drifts_of_listed_and_bulk_add_up_to_that_of_the_total():
    """Data do not move the total of a row: what is left is K alpha - s."""
    rng = np.random.default_rng(3)
    a, g = random_split(rng, 7, 4), random_globals(rng, 7)
    met = random_met(rng, 7)
    total = ref.listed_drift(a, met, g).sum() + ref.bulk_drift(a, met, g)
    assert total == pytest.approx(7 * g.alpha - a.written_out().sum(), abs=1e-10)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_mini_batch_of_the_bulk_is_unbiased(size):
    """Over all mini-batches of that size, to rounding; and single ones do differ."""
    rng = np.random.default_rng(11)
    a, g, met = random_split(rng, 8, 3), random_globals(rng, 8), random_met(rng, 8)
    bulk = np.flatnonzero(a.in_bulk())
    found = [ref.bulk_drift_from_sample(a, met, np.array(sample), g) for sample in combinations(bulk, size)]
    exact = ref.bulk_drift(a, met, g)
    assert np.mean(found) == pytest.approx(exact, rel=1e-12)
    assert np.std(found) > 1e-3 * abs(exact)


def test_the_bulk_moves_as_one_gamma_variable_and_not_as_many_copies_of_one():
    """Without data the total has mean and variance |B| alpha. With one noise for every member, as printed, the
    variance is |B| times that. 4000 chains: a standard error of 2 percent, six of them allowed beside the step.
    """
    rng = np.random.default_rng(5)
    size, alpha, step, chains = 20, 0.15, 0.05, 4000
    total = np.full(chains, size * alpha)
    value = np.full(chains, alpha)
    for _ in range(400):
        noise = rng.standard_normal(chains)
        total = ref.langevin_step(total, size * alpha - total, step, noise)
        value = ref.langevin_step(value, alpha - value, step, noise)
    assert total.mean() == pytest.approx(size * alpha, rel=0.06)
    assert total.var() == pytest.approx(size * alpha, rel=0.15)
    assert (size * value).var() > 5 * size * alpha


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12), st.floats(0.01, 1.0))
def test_the_active_set_has_the_largest_and_reaches_the_threshold(weights, threshold):
    pi = np.array(weights) / np.sum(weights)
    active = ref.active_set(pi, threshold)
    assert active[0] == np.argmax(pi)
    if threshold == 1.0:
        assert len(active) == len(pi)
    assert pi[active].sum() >= threshold - 1e-9
    assert pi[active[:-1]].sum() < threshold


def test_the_active_set_as_printed_would_be_empty():
    """(E6) F < tau leaves nothing where the first community holds more than tau."""
    pi = np.array([0.95, 0.05])
    assert len(pi[np.cumsum(pi) < 0.9]) == 0
    assert ref.active_set(pi, 0.9).tolist() == [0]
    assert ref.active_set(pi, 0.9, printed=True).tolist() == []
    assert ref.active_set(pi, 0.96, printed=True).tolist() == [0]


def test_candidates_are_active_in_a_neighbour_and_not_here():
    near = [np.array([1, 2]), np.array([2, 5])]
    assert ref.candidate_set(np.array([2, 7]), near).tolist() == [1, 5]
    assert ref.candidate_set(np.array([2, 7]), []).tolist() == []


@given(st.floats(0.0, 2.0), st.floats(0.0, 0.5), st.integers(0, 20))
def test_promotion_never_asks_for_more_than_the_bulk_has(missing, bulk, size):
    count = ref.promotion_count(missing, bulk, size)
    assert 0 <= count <= size
    assert count == size or count * bulk >= missing - 1e-12


def test_the_expected_share_of_a_promoted_community_is_that_of_a_size_biased_draw():
    """(A8) E[sum_k w_k^2] of Dirichlet(alpha) weights is the mean of the Beta law: 10^5 draws, 5 standard errors."""
    rng = np.random.default_rng(9)
    alpha, size = 0.2, 6
    squares = (rng.dirichlet(np.full(size, alpha), 100_000) ** 2).sum(axis=1)
    one, two = ref.promoted_share(alpha, size)
    assert abs(squares.mean() - one / (one + two)) < 5 * squares.std() / np.sqrt(len(squares))


@pytest.mark.parametrize("seed", range(4))
def test_demotion_keeps_the_total_and_the_memberships_of_what_stays(seed):
    rng = np.random.default_rng(seed)
    row = random_split(rng, 8, 5)
    less = ref.demote(row, row.listed[:2])
    assert less.written_out().sum() == pytest.approx(row.written_out().sum(), rel=1e-12)
    assert np.array_equal(less.phi, row.phi[:2])
    assert less.bulk_size == row.bulk_size + 3


def test_pairs_inside_communities_count_the_bulk_too():
    rng = np.random.default_rng(2)
    g = random_globals(rng, 6)
    pairs = [(random_split(rng, 6), random_split(rng, 6)) for _ in range(3)]
    for y in (0, 1):
        counts = ref.pair_counts(y, pairs, g)
        assert (counts > 0).all()
        assert counts.sum() < len(pairs)


def test_the_memory_ratio_counts_listed_communities_and_one_for_the_bulk():
    rows = [ref.Split(np.arange(n), np.ones(n), 0.1, 10) for n in (1, 4)]
    assert ref.memory_ratio(rows) == pytest.approx((2 + 5) / 20)
