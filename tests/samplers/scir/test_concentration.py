"""The concentration K alpha given the memberships, (Q1) to (Q3), against the Dirichlet law itself.

False alarms: |z| < 5 for a few means, at fixed seeds.
"""

import math

import numpy as np
import pytest

import blockmix as bm
from blockmix.graph.split import hold_out
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.concentration import (
    LEAST,
    MOST,
    SMALL_IN_WHOLE_ROWS,
    ConcentrationMove,
    small_components,
)
from blockmix.samplers.scir.reference.concentration import draw_concentration, log_row
from blockmix.tables.layout import Key, Rows


def rows_of(pi, slots):
    """Rows of these memberships, the largest components first."""
    words = np.full((len(pi), 2 * slots), -1, dtype=np.int32)
    weights = words.view(np.float32)
    for a, row in enumerate(pi):
        order = [k for k in np.argsort(-row, kind="stable")[:slots] if row[k] > 1e-30]
        words[a, : 2 * len(order) : 2] = order
        weights[a, 1 : 2 * len(order) : 2] = row[order]
    return Rows(words, weights, np.ones(len(pi), dtype=np.float32))


def key(sweep):
    return Key(np.uint32(1), np.uint32(2), np.uint32(sweep))


@pytest.mark.parametrize("total", [0.3, 2.0])
def test_a_row_with_small_components_has_the_density_of_the_dirichlet_law(total):
    """(Q2) Over all rows that a Dirichlet law draws, counts of small components have the mean that the density gives.

    With K = 2 a row has one component above the limit c, or two. The probability of one is found from the density of
    those with two, by quadrature.
    """
    c, communities = 0.001, 2
    x = (np.arange(100_000) + 0.5) / 100_000
    inside = x[(x >= c) & (x <= 1.0 - c)]
    both = (
        sum(math.exp(log_row({0: p, 1: 1.0 - p}, c, communities, total)) for p in inside[::50]) * 50 / 100_000
    )
    one = 2.0 * math.exp(log_row({0: 1.0}, c, communities, total))
    drawn = np.random.default_rng(1).beta(total / 2, total / 2, 200_000)
    assert both == pytest.approx(((drawn >= c) & (drawn <= 1.0 - c)).mean(), abs=0.01)
    assert both + one == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("total", "communities", "smallest"), [(0.2, 4, None), (1.5, 30, None), (0.6, 30, 0.005)]
)
def test_k_alpha_is_found_from_rows_of_a_dirichlet_law(total, communities, smallest):
    """600 nodes of 12 links each tell K alpha to some percent; rows that leave out what is small tell it too."""
    rng = np.random.default_rng(3)
    pi = rng.dirichlet(np.full(communities, total / communities), 600)
    slots = communities
    if smallest is not None:
        pi, slots = np.where(pi * 12 >= smallest, pi, 0.0), 16
        pi /= pi.sum(axis=1, keepdims=True)
    rows, degrees, found, value = rows_of(pi, slots), np.full(600, 12), [], 1.0
    with Workers(2) as workers:
        move = ConcentrationMove(degrees, communities, workers)
        for sweep in range(400):
            value = move.draw(value, smallest, rows, key(sweep))
            found.append(value)
    mean, sd = np.mean(found[20:]), np.std(found[20:])
    assert abs(mean - total) < 4.0 * sd
    assert sd < 0.15 * total


def test_without_information_the_draws_have_the_prior():
    """(Q1) With one community every row is the same, whatever alpha is."""
    rows, found, value = rows_of(np.ones((5, 1)), 1), [], 1.0
    with Workers(1) as workers:
        move = ConcentrationMove(np.full(5, 3), 1, workers)
        for sweep in range(20_000):
            value = move.draw(value, None, rows, key(sweep))
            found.append(value)
    blocks = np.array(found).reshape(50, -1)
    for power in (1, 2):
        means = (blocks**power).mean(axis=1)
        assert abs(means.mean() - math.factorial(power)) < 5 * means.std(ddof=1) / math.sqrt(50)
    assert LEAST <= min(found) < 0.01
    assert 6 < max(found) <= MOST


@pytest.mark.parametrize("smallest", [None, 0.005])
def test_the_draw_is_that_of_the_reference_on_any_number_of_threads(smallest):
    rng = np.random.default_rng(5)
    pi = rng.dirichlet(np.full(7, 0.1), 40)
    rows, degrees = rows_of(pi, 7), rng.integers(0, 9, 40)
    dictionaries = [
        {int(k): float(w) for k, w in zip(words[::2], weights[1::2], strict=True) if k >= 0}
        for words, weights in zip(rows.words, rows.weights, strict=True)
    ]
    for sweep in range(20):
        expected = draw_concentration(0.4, dictionaries, degrees, 7, smallest, key(sweep))
        drawn = set()
        for threads in (1, 2, 3):
            with Workers(threads) as workers:
                drawn.add(ConcentrationMove(degrees, 7, workers).draw(0.4, smallest, rows, key(sweep)))
        assert len(drawn) == 1
        assert drawn.pop() == pytest.approx(expected, rel=1e-6)


def test_nodes_have_limits_by_their_degree():
    limits = small_components(np.array([0, 1, 4, 1000]), 0.005)
    np.testing.assert_allclose(limits, [0.0, 0.02, 0.005, 2e-5])
    assert (small_components(np.array([0, 9]), None) == SMALL_IN_WHOLE_ROWS).all()
    np.testing.assert_allclose(small_components(np.array([1, 10]), 0.1), [0.0, 0.04])


@pytest.mark.parametrize("model", ["assortative", "popularity"])
def test_a_fit_learns_k_alpha_unless_it_is_given(model):
    """Hard communities and soft ones are told apart, and the result says what was found."""
    found = {}
    for kind, overlap in (("hard", (1, 1)), ("soft", (3, 4))):
        graph = bm.planted(120, 4, degree=14, overlap=overlap, seed=2).graph
        post = bm.fit(graph, 4, model=model, sweeps=300, chains=1, seed=1, held_out=0, progress=False)
        found[kind] = post.concentration
        assert post.provenance["model"]["alpha"] is None
        assert post.concentration.sd > 0.0
    assert found["hard"].mean < 0.5 * found["soft"].mean
    given = bm.fit(graph, 4, model=model, alpha=0.1, sweeps=30, chains=1, seed=1, held_out=0, progress=False)
    assert given.concentration is None
    assert given.provenance["model"]["alpha"] == 0.1


@pytest.mark.parametrize("model", ["assortative", "popularity"])
def test_a_learned_concentration_is_kept_by_a_checkpoint(model):
    from blockmix.model import Model
    from blockmix.samplers import sampler_class, sampler_options

    data = hold_out(bm.planted(60, 3, degree=8, seed=1).graph, 0.1, seed=1)
    with Workers(1) as workers:
        sampler = sampler_class("scir", model)(
            data, Model(3, kind=model), sampler_options("scir", {}, model), workers
        )
        states = [sampler.init((1, 2)) for _ in range(2)]
        for sweep in range(80):
            sampler.step(states[0], (1, 2), sweep < 60)
            states[1] = sampler.restore(sampler.arrays(states[1]))
            sampler.step(states[1], (1, 2), sweep < 60)
    assert states[0].concentration == states[1].concentration != 0.3
    np.testing.assert_array_equal(states[0].rows.words[:, 0], states[1].rows.words[:, 0])
