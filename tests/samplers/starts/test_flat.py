"""The random start that samplers share: the same memberships and strengths in all of them, from the same key."""

import numpy as np
import pytest

from blockmix.generators.planted import planted
from blockmix.graph.split import hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers import sampler_class, sampler_options
from blockmix.samplers.starts.flat import flat_memberships, flat_rows, flat_strengths, most_background

KEY, NODES, COMMUNITIES = (3, 4), 40, 6
STARTS = {"sgmc": "random", "sgmc-m": "flat", "svi": "flat", "cgs": "flat", "lmc": "flat", "scir": "flat"}


@pytest.fixture(scope="module")
def data():
    return hold_out(planted(NODES, 4, degree=7, seed=2).graph, 0.1, seed=3)


def dense(rows):
    """Return memberships nodes x communities of rows, each scaled to one."""
    table = np.zeros((NODES, COMMUNITIES))
    ids, weights = rows.words[:, ::2], rows.weights[:, 1::2]
    for a in range(NODES):
        used = ids[a] >= 0
        table[a, ids[a][used]] = weights[a][used]
    return table


@pytest.mark.parametrize("name", STARTS)
def test_every_sampler_begins_at_the_same_draws(name, data):
    rng = np.random.default_rng(KEY)
    want = flat_memberships(NODES, COMMUNITIES, rng)
    model = Model(COMMUNITIES, alpha=1.0 / COMMUNITIES)
    strengths = flat_strengths(data.training, model, rng).value
    extra = {"threshold": 1.0} if name == "sgmc-m" else {}
    options = sampler_options(name, {"start": STARTS[name], **extra})
    with Workers(1) as workers:
        sampler = sampler_class(name)(data, model, options, workers)
        state = sampler.init(KEY)
        # lmc spreads a little of every membership, for no phi may begin at zero
        np.testing.assert_allclose(
            dense(sampler.memberships(state)), want, atol=0.05 if name == "lmc" else 1e-6
        )
        np.testing.assert_allclose(sampler.strengths(state)[:-1], strengths[:-1], rtol=1e-6)


def test_memberships_are_flat_and_look_at_no_link():
    """Under a flat Dirichlet a membership has the mean 1/K and the variance (K - 1)/(K^2 (K + 1))."""
    pi = flat_memberships(20_000, 4, np.random.default_rng(1))
    np.testing.assert_allclose(pi.sum(axis=1), 1.0)
    np.testing.assert_allclose(pi.mean(axis=0), 0.25, atol=0.005)
    np.testing.assert_allclose(pi.var(axis=0), 3 / (16 * 5), rtol=0.05)


def test_short_rows_have_the_largest_memberships(data):
    rows = flat_rows(data.training, Model(COMMUNITIES), 2, np.random.default_rng(5))
    pi = flat_memberships(NODES, COMMUNITIES, np.random.default_rng(5))
    for a in range(NODES):
        kept = np.argsort(-pi[a])[:2]
        assert rows.words[a, ::2].tolist() == kept.tolist()
        np.testing.assert_allclose(rows.weights[a, 1::2], pi[a, kept] / pi[a, kept].sum(), rtol=1e-6)


def test_the_background_is_low_unless_it_is_given(data):
    graph, rng = data.training, np.random.default_rng(1)
    assert flat_strengths(graph, Model(COMMUNITIES), rng).value[-1] <= most_background(graph)
    assert most_background(graph) == pytest.approx(0.1 * graph.density)
    assert flat_strengths(graph, Model(COMMUNITIES, background=0.3), rng).value[-1] == 0.3
