"""What every move and form owes: finite memberships of the right shape that only the seed decides."""

import numpy as np
import pytest

from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.problem import warm_up_step
from blockmix.samplers.scir.sampler import Scir
from blockmix.tables.layout import FIXED_POINT

MOVES = {
    "indicators": {"moves": "indicators"},
    "sparse": {"moves": "cir", "form": "sparse"},
    "dense": {"moves": "cir", "form": "dense"},
    "sparse corrected": {"moves": "cir", "form": "sparse", "non_links": 5},
    "dense corrected": {"moves": "cir", "form": "dense", "non_links": 5},
}
# Weights are float32 and add up to one within a few of its units.
SINGLE_PRECISION = 1e-5


def chain(data, communities, options, sweeps, *, threads=1, seed=5, warm_up=None, alpha=None):
    """The state after some sweeps, the first half of them warm-up, and what the last sweep said."""
    with Workers(threads) as workers:
        sampler = Scir(data, Model(communities, alpha=alpha), ScirOptions(**options), workers)
        state = sampler.init((seed, 6))
        info = None
        for sweep in range(sweeps):
            info = sampler.step(state, (seed, 6), sweep < (sweeps // 2 if warm_up is None else warm_up))
    return sampler, state, info


def check(sampler, state, info):
    """Everything a state must be."""
    rows, k = state.rows, sampler.communities
    assert rows.words.shape == (sampler.nodes, 2 * sampler.slots)
    ids = rows.words[:, ::2]
    used = np.cumprod(ids >= 0, axis=1).astype(bool)
    assert used[:, 0].all()
    assert ids[used].max() < k
    weights = np.where(used, rows.weights[:, 1::2], 0.0).astype(np.float64)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=SINGLE_PRECISION)
    assert np.isfinite(rows.total).all()
    assert (rows.total > 0).all()
    for row, use in zip(ids, used, strict=True):
        assert len(np.unique(row[use])) == use.sum()
    assert ((state.strengths.value > 0) & (state.strengths.value < 1)).all()
    assert np.isfinite(state.strengths.total).all()
    # the running sums are the sums, in fixed point: at most one unit a node off
    sums = np.zeros((k, 2))
    np.add.at(sums[:, 0], ids[used], weights[used])
    np.add.at(sums[:, 1], ids[used], weights[used] ** 2)
    sampler_sums = state.sums / FIXED_POINT
    np.testing.assert_allclose(sampler_sums, sums, atol=2 * sampler.nodes / FIXED_POINT)
    assert 0 <= info.measures["dropped"] <= 1
    assert 0 <= info.measures["accepted"] <= 1
    assert 0 <= info.measures["links_inside"] <= sampler.problem.links + 1e-6
    assert 0 < info.background < 1


NETWORKS = {
    "two nodes": (Graph.from_edges([(0, 1)]), 2),
    "one community": (Graph.from_edges([(0, 1), (1, 2), (2, 3)]), 1),
    "more communities than nodes": (Graph.from_edges([(0, 1), (1, 2)]), 20),
    "isolated nodes": (Graph.from_edges([(0, 1), (1, 2), (0, 2)], nodes=range(12)), 3),
    "clique": (Graph.from_edges([(a, b) for a in range(15) for b in range(a)]), 3),
    "star": (Graph.from_edges([(0, leaf) for leaf in range(1, 501)]), 4),
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("network", NETWORKS)
def test_odd_networks_are_sampled(network, move):
    graph, communities = NETWORKS[network]
    for start in ("partition", "random"):
        check(*chain(no_hold_out(graph), communities, MOVES[move] | {"start": start}, 60))


@pytest.mark.parametrize("move", MOVES)
def test_more_batches_than_nodes_and_one_batch(move):
    graph = NETWORKS["isolated nodes"][0]
    for batches in (1, 12, 1000):
        sampler, state, info = chain(no_hold_out(graph), 3, MOVES[move] | {"batches": batches}, 20)
        assert sampler.problem.batches == min(batches, 12)
        check(sampler, state, info)


@pytest.fixture(scope="module")
def network():
    return hold_out(planted(300, 5, degree=12, seed=2).graph, 0.1, seed=1)


@pytest.mark.parametrize("move", MOVES)
def test_the_seed_alone_decides_whatever_the_number_of_threads(network, move):
    """A batch of 300 nodes is enough for three threads to take part."""
    options = MOVES[move] | {"batches": 1}
    one, two, three = (chain(network, 5, options, 12, threads=threads)[1] for threads in (1, 2, 3))
    other = chain(network, 5, options, 12, seed=8)[1]
    for state in (two, three):
        np.testing.assert_array_equal(one.rows.words, state.rows.words)
        np.testing.assert_array_equal(one.rows.total, state.rows.total)
        np.testing.assert_array_equal(one.strengths.value, state.strengths.value)
        np.testing.assert_array_equal(one.sums, state.sums)
    assert not np.array_equal(one.rows.total, other.rows.total)


@pytest.mark.parametrize("move", MOVES)
def test_two_thousand_sweeps_stay_finite(move):
    graph = planted(40, 3, degree=6, seed=3).graph
    check(*chain(hold_out(graph, 0.1, seed=2), 4, MOVES[move], 2000))


@pytest.mark.parametrize("move", ["indicators", "sparse"])
@pytest.mark.parametrize("slots", [1, 2])
def test_few_slots_are_enough_to_go_on(network, move, slots):
    sampler, state, info = chain(network, 5, MOVES[move] | {"slots": slots}, 40)
    check(sampler, state, info)
    assert info.measures["dropped"] > 0


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("alpha", [1e-4, 1.0])
def test_tiny_and_large_concentrations_are_sampled(network, move, alpha):
    check(*chain(network, 5, MOVES[move], 30, alpha=alpha))


@pytest.mark.parametrize("move", MOVES)
def test_kernels_compile_ahead_of_the_first_step(network, move):
    with Workers(1) as workers:
        Scir(network, Model(5), ScirOptions(**MOVES[move]), workers).compile()


def test_a_fixed_background_stays_where_it_was_put(network):
    with Workers(1) as workers:
        sampler = Scir(network, Model(5, background=0.003), ScirOptions(), workers)
        state = sampler.init((1, 2))
        for _ in range(5):
            info = sampler.step(state, (1, 2), True)
    assert info.background == state.strengths.value[-1] == 0.003


def test_the_step_of_the_warm_up_falls_from_two():
    steps = [warm_up_step(sweep) for sweep in (0, 50, 500, 5000)]
    assert steps[0] == 2.0
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] > 0.1


@pytest.mark.parametrize(
    ("warm_up", "step"), [(False, 0.5), (True, 2.0)], ids=["sampling", "first of warm-up"]
)
def test_strengths_move_by_the_default_step(warm_up, step):
    """(S2) Without pairs inside, E[theta] = eta + (theta - eta) e^(-h/2); h = 1/2 by default, and 2 as warm-up begins.

    20,000 communities, nearly all empty: |z| < 5 for two means has a false-alarm rate of 1e-6; another h is seen.
    """
    communities, start, value = 20_000, 30.0, 0.4
    model = Model(communities, eta=(2.0, 3.0), background=0.01)
    data = no_hold_out(planted(40, 3, degree=6, seed=1).graph)
    with Workers(1) as workers:
        sampler = Scir(data, model, ScirOptions(exact=False), workers)
        state = sampler.init((3, 4))
        state.strengths.total[:] = start
        state.strengths.value[:-1] = value
        state.strengths.expansion[:] = 0.0
        before = np.unique(state.rows.words[:, ::2])
        sampler.step(state, (3, 4), warm_up)
    empty = np.setdiff1d(np.arange(communities), np.concatenate([before, state.rows.words[:, ::2].ravel()]))
    assert len(empty) > 0.9 * communities
    total, share = state.strengths.total[empty], state.strengths.value[empty]
    for theta, old, eta in (
        (total * share, start * value, 2.0),
        (total * (1 - share), start * (1 - value), 3.0),
    ):
        z = {
            h: (theta.mean() - eta - (old - eta) * np.exp(-h / 2)) / (theta.std() / np.sqrt(len(theta)))
            for h in (step, 0.9 * step, 4.0 * step, 0.25 * step)
        }
        assert abs(z.pop(step)) < 5
        assert min(abs(other) for other in z.values()) > 5
