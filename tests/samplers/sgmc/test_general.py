"""The general model finds patterns of links between groups that the assortative one cannot have."""

import numpy as np
import pytest

import blockmix as bm
from blockmix.evaluate import score
from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.sgmc.general import BlockSgmc
from blockmix.samplers.sgmc.sampler import SgmcOptions
from blockmix.samplers.starts.profiles import embedding, find_profiles

KEY = (3, 4)


def disassortative(groups, nodes=200, seed=1):
    """Return a network whose groups 2i and 2i + 1 link with each other and hardly elsewhere, and its probabilities."""
    rng, group = np.random.default_rng(seed), np.arange(nodes) % groups
    partners = (group[:, None] // 2 == group // 2) & (group[:, None] != group)
    probability = np.where(partners, 0.25, 0.01)
    links = np.argwhere(np.triu(rng.random((nodes, nodes)) < probability, 1))
    return Graph.from_edges(links, nodes=range(nodes)), group, probability


@pytest.mark.slow
@pytest.mark.parametrize("groups", [2, 4])
def test_a_disassortative_network_is_predicted_as_by_the_truth_and_not_by_the_assortative_model(groups):
    graph, _, probability = disassortative(groups)
    data = hold_out(graph, 0.1, seed=1)
    truth = score(probability[tuple(data.pairs.T)], data.links, data.density)
    run = {"communities": groups, "held_out": data, "sweeps": 600, "chains": 1, "seed": 2, "threads": 1}
    general = bm.fit(graph, model="mmsb", **run).scores
    assortative = bm.fit(graph, sampler="scir", **run).scores
    assert general.log_loss < truth.log_loss + 0.02
    assert general.auc > truth.auc - 0.05
    assert assortative.log_loss > general.log_loss + 0.025
    assert assortative.auc < general.auc - 0.08


def chain(data, communities, sweeps, *, threads=1, key=KEY, **options):
    with Workers(threads) as workers:
        sampler = BlockSgmc(data, Model(communities, kind="mmsb"), SgmcOptions(**options), workers)
        state, info = sampler.init(key), None
        for sweep in range(sweeps):
            info = sampler.step(state, key, sweep < sweeps // 2)
    return sampler, state, info


def test_the_strengths_are_a_symmetric_matrix_that_shows_the_pattern():
    graph, group, _ = disassortative(2)
    sampler, state, info = chain(no_hold_out(graph), 2, 200)
    blocks = sampler.strengths(state)
    assert blocks.shape == (2, 2)
    np.testing.assert_array_equal(blocks, blocks.T)
    assert blocks[0, 1] > 0.2
    assert max(blocks[0, 0], blocks[1, 1]) < 0.1
    assert info.background == blocks.min()
    home = sampler.memberships(state).weights[:, 1::2].argmax(axis=1)
    assert max((home == group).mean(), (home != group).mean()) > 0.95


def test_the_seed_alone_decides_whatever_the_number_of_threads():
    data = hold_out(disassortative(4, nodes=300)[0], 0.1, seed=1)
    one, three = (chain(data, 4, 4, threads=threads, batch_non_links=250)[1] for threads in (1, 3))
    other = chain(data, 4, 4, key=(3, 5), batch_non_links=250)[1]
    np.testing.assert_array_equal(one.dense.phi, three.dense.phi)
    np.testing.assert_array_equal(one.strengths.blocks, three.strengths.blocks)
    assert not np.array_equal(one.dense.phi, other.dense.phi)


def test_a_state_restored_from_its_arrays_goes_on_to_the_same_bits():
    sampler, state, _ = chain(hold_out(disassortative(4)[0], 0.1, seed=1), 4, 4)
    copy = sampler.restore({name: array.copy() for name, array in sampler.arrays(state).items()})
    for other in (state, copy):
        sampler.step(other, KEY, False)
    np.testing.assert_array_equal(state.dense.phi, copy.dense.phi)
    np.testing.assert_array_equal(sampler.strengths(state), sampler.strengths(copy))


@pytest.mark.parametrize("start", ["partition", "random"])
@pytest.mark.parametrize(
    ("graph", "communities"),
    [
        (Graph.from_edges([(0, 1)]), 2),
        (Graph.from_edges([(0, 1), (1, 2), (2, 3)]), 1),
        (Graph.from_edges([(0, 1), (1, 2)]), 20),
        (Graph.from_edges([(0, 1), (1, 2), (0, 2)], nodes=range(12)), 3),
        (Graph.from_edges([(a, b) for a in range(15) for b in range(a)]), 3),
        (Graph.from_edges([(0, leaf) for leaf in range(1, 301)]), 4),
    ],
    ids=["two nodes", "one community", "more communities than nodes", "isolated nodes", "clique", "star"],
)
def test_odd_networks_are_sampled(graph, communities, start):
    sampler, state, info = chain(no_hold_out(graph), communities, 60, start=start)
    weights = sampler.memberships(state).weights[:, 1::2]
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-5)
    blocks = sampler.strengths(state)
    assert ((blocks > 0) & (blocks < 1)).all()
    assert np.isfinite(state.strengths.theta).all()
    assert info.updates > 0


def test_the_start_groups_nodes_by_whom_they_link_to():
    graph, group, _ = disassortative(4)
    parts = find_profiles(graph, 4, np.random.default_rng(3))
    table = np.zeros((4, 4))
    np.add.at(table, (parts, group), 1)
    assert table.max(axis=1).sum() > 0.9 * graph.n_nodes
    small = disassortative(2, nodes=40)[0]
    few = embedding(small, 2, np.random.default_rng(3))
    values, vectors = np.linalg.eigh(small.to_scipy().toarray())
    leading = np.argsort(-np.abs(values))[:2]
    assert values[leading].min() < 0 < values[leading].max()
    np.testing.assert_allclose(np.abs(few), np.abs(vectors[:, leading]) * np.sqrt(np.abs(values[leading])))
