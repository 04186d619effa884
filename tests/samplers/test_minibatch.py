"""Mini-batches are unbiased: shown by going through every one that can be drawn, on networks of up to six nodes."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy.stats import chi2

from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.model.reference import Globals
from blockmix.numerics.purposes import DRAW_NON_PARTNERS
from blockmix.samplers.minibatch import MiniBatches, iteration_key
from blockmix.samplers.sgmc.reference import (
    background_gradient,
    block_membership_gradient,
    block_strength_gradient,
    membership_gradient,
    network_pair_scale,
    pair_scale,
    partner_weight,
    partners_of,
    printed_pair_scale,
    printed_partner_weight,
    strength_gradient,
)
from blockmix.tables.minibatch import (
    non_neighbors,
    nth_non_neighbor,
    sample_neighbors,
    sample_non_neighbors,
    sample_partners,
)

EXACT = 1e-12
# Links and hidden pairs of small networks: hidden links have left the links already.
NETWORKS = {
    "path with hidden pairs": (6, [(0, 1), (1, 2), (2, 3), (3, 4)], [(4, 5), (0, 2), (1, 5)]),
    "a node without links": (5, [(0, 1), (1, 2), (0, 2)], [(3, 0)]),
    "a node with no non-links": (5, [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2)], []),
    "a node hidden from all others": (4, [(0, 1), (1, 2)], [(3, 0), (3, 1), (3, 2)]),
    "a clique": (4, [(a, b) for a in range(4) for b in range(a)], []),
    "two nodes": (2, [(0, 1)], []),
}


@pytest.fixture(params=NETWORKS)
def network(request):
    """Nodes, adjacency, which pairs are observed, and the same as a sampler gets it."""
    nodes, links, hidden = NETWORKS[request.param]
    adjacency, observed = np.zeros((nodes, nodes)), ~np.eye(nodes, dtype=bool)
    for a, b in links:
        adjacency[a, b] = adjacency[b, a] = 1
    for a, b in hidden:
        observed[a, b] = observed[b, a] = False
    graph = Graph.from_edges(links, nodes=range(nodes))
    offsets = np.append(0, np.cumsum((~observed).sum(axis=1) - 1))
    entries = np.concatenate([np.setdiff1d(np.flatnonzero(~observed[a]), a) for a in range(nodes)])
    pairs = np.array(sorted(tuple(sorted(p)) for p in hidden), dtype=np.int64).reshape(-1, 2)
    data = HeldOut(
        graph, pairs, np.zeros(len(pairs), dtype=bool), "balanced", 0.1, graph.density, 0,
        offsets.astype(np.int64), entries.astype(graph.neighbors.dtype),
    )  # fmt: skip
    return nodes, adjacency, observed, data


@pytest.fixture
def state():
    rng = np.random.default_rng(4)
    pi = rng.dirichlet(np.full(3, 0.6), size=6)
    theta = rng.gamma(1.5, size=(3, 2)) + 0.05
    square = rng.gamma(1.5, size=(3, 3, 2)) + 0.05
    return pi, theta, square + square.transpose(1, 0, 2)


def pair_batches(nodes, adjacency, observed, non_links):
    """Every mini-batch of pairs that can be drawn, (L1): probability, node, y, others, scale."""
    for a in range(nodes):
        for y in (0, 1):
            population = partners_of(a, y, adjacency, observed)
            size = len(population) if y else min(non_links, len(population))
            scale = pair_scale(a, y, size, adjacency, observed)
            for others in combinations(population, size):
                yield 0.5 / nodes / comb(len(population), size), a, y, np.array(others, dtype=int), scale


def network_batches(nodes, adjacency, observed, non_links):
    """Every mini-batch whose non-links come from the whole network, (L11): probability, y, pairs, scale."""
    free = [p for p in combinations(range(nodes), 2) if observed[p] and not adjacency[p]]
    size = min(non_links, len(free))
    scale = network_pair_scale(size, adjacency, observed)
    for pairs in combinations(free, size):
        yield 0.5 / comb(len(free), size), 0, np.array(pairs, dtype=int).reshape(-1, 2), scale
    for probability, a, y, others, scale in pair_batches(nodes, adjacency, observed, non_links):
        if y:
            yield probability, 1, np.stack([np.full(len(others), a), others], axis=1), scale


def pair_sum(nodes, adjacency, observed, term):
    """The sum over all training pairs."""
    pairs = [(a, b) for a in range(nodes) for b in range(a + 1, nodes) if observed[a, b]]
    return sum(term(int(adjacency[a, b]), np.array([[a, b]])) for a, b in pairs)


@pytest.mark.parametrize("non_links", [1, 2, 3, 100])
def test_gradients_of_strengths_are_unbiased_over_all_mini_batches(network, state, non_links):
    nodes, adjacency, observed, _ = network
    pi, theta, square = state
    beta, background = theta[:, 1] / theta.sum(axis=1), np.array([1.3, 0.2])
    delta = background[1] / background.sum()
    for term in (
        lambda y, pairs: strength_gradient(y, pairs, pi, theta, delta),
        lambda y, pairs: background_gradient(y, pairs, pi, beta, background),
        lambda y, pairs: block_strength_gradient(y, pairs, pi, square),
    ):
        mean, total_probability = 0.0, 0.0
        for probability, a, y, others, scale in pair_batches(nodes, adjacency, observed, non_links):
            pairs = np.stack([np.full(len(others), a), others], axis=1)
            mean = mean + probability * scale * term(y, pairs)
            total_probability += probability
        assert total_probability == pytest.approx(1.0, abs=EXACT)
        np.testing.assert_allclose(mean, pair_sum(nodes, adjacency, observed, term), atol=EXACT)
        mean = 0.0
        for probability, y, pairs, scale in network_batches(nodes, adjacency, observed, non_links):
            mean = mean + probability * scale * term(y, pairs)
        np.testing.assert_allclose(mean, pair_sum(nodes, adjacency, observed, term), atol=EXACT)


@pytest.mark.parametrize(("n_1", "n_0"), [(1, 1), (2, 1), (1, 2), (10, 10)])
def test_gradients_of_memberships_are_unbiased_over_all_samples_of_partners(network, state, n_1, n_0):
    nodes, adjacency, observed, _ = network
    pi, theta, square = state
    g, blocks = Globals(theta[:, 1] / theta.sum(axis=1), 0.1, 0.2), square[:, :, 1] / square.sum(axis=2)
    for a in range(nodes):
        for term in (
            lambda y, partners, a=a: membership_gradient(a, y, partners, pi, g),
            lambda y, partners, a=a: block_membership_gradient(a, y, partners, pi, blocks),
        ):
            mean, full = 0.0, 0.0
            for y, most in ((1, n_1), (0, n_0)):
                population = partners_of(a, y, adjacency, observed)
                size = min(most, len(population))
                weight = partner_weight(a, y, size, adjacency, observed)
                samples = list(combinations(population, size))
                for partners in samples:
                    mean = mean + weight * term(y, np.array(partners, dtype=int)) / len(samples)
                full = full + term(y, population)
            np.testing.assert_allclose(mean, full, atol=EXACT)


def test_the_printed_scales_are_biased(state):
    """(E3), (E4) With h = mN for non-links, or a itself among its non-neighbours, the sums come out wrong."""
    nodes, links, _ = NETWORKS["path with hidden pairs"]
    adjacency, observed = np.zeros((nodes, nodes)), ~np.eye(nodes, dtype=bool)
    for a, b in links:
        adjacency[a, b] = adjacency[b, a] = 1
    pi, theta, _ = state

    def term(y, pairs):
        return strength_gradient(y, pairs, pi, theta, 0.1)

    mean = 0.0
    for probability, a, y, others, scale in pair_batches(nodes, adjacency, observed, 2):
        printed = scale if y else nodes / 2 * nodes
        pairs = np.stack([np.full(len(others), a), others], axis=1)
        mean = mean + probability * printed * term(y, pairs)
    assert np.abs(mean - pair_sum(nodes, adjacency, observed, term)).max() > 1e-2
    # one non-neighbour too many, a itself: the sum over the others comes out too large by as much as one of them
    g, far = Globals(theta[:, 1] / theta.sum(axis=1), 0.1, 0.2), partners_of(0, 0, adjacency, observed)
    full = membership_gradient(0, 0, far, pi, g)
    samples = [membership_gradient(0, 0, np.array(two), pi, g) for two in combinations(far, 2)]
    right = partner_weight(0, 0, 2, adjacency, observed)
    printed = (nodes - len(partners_of(0, 1, adjacency, observed))) / 2
    np.testing.assert_allclose(right * np.mean(samples, axis=0), full, atol=EXACT)
    assert np.abs(printed * np.mean(samples, axis=0) - full).max() > 1e-2


@pytest.mark.parametrize("non_links", [1, 2, 100])
def test_the_kernel_draws_exactly_these_mini_batches_with_these_scales(network, non_links):
    """Every mini-batch that can be drawn is drawn, as often as it should: chi-square, false alarm 1e-5 a case."""
    nodes, adjacency, observed, data = network
    batches, draws = MiniBatches(data, non_links), 6000
    known = {
        (a, y, tuple(others)): (probability, scale)
        for probability, a, y, others, scale in pair_batches(nodes, adjacency, observed, non_links)
    }
    counts = dict.fromkeys(known, 0)
    for t in range(draws):
        batch = batches.draw((3, 4), t)
        assert (batch.first == batch.nodes[0]).all()
        np.testing.assert_array_equal(batch.nodes[1:], batch.second)
        name = (int(batch.nodes[0]), batch.y, tuple(sorted(batch.second.tolist())))
        counts[name] += 1
        assert len(batch.second) == 0 or batch.scale == pytest.approx(known[name][1], rel=1e-15)
    expected = np.array([known[name][0] for name in known]) * draws
    statistic = float(np.sum((np.array([counts[name] for name in known]) - expected) ** 2 / expected))
    assert statistic < chi2.ppf(1 - 1e-5, max(len(known) - 1, 1))


@pytest.mark.parametrize("non_links", [1, 2, 100])
@pytest.mark.parametrize("printed", [False, True])
def test_the_kernel_draws_non_links_of_the_network_all_alike(network, non_links, printed):
    """(L11), (L12) As often as it should, each node once: chi-square, false alarm 1e-5 a case."""
    nodes, adjacency, observed, data = network
    batches, draws = MiniBatches(data, non_links, network=True, printed=printed), 6000
    known, counts = {}, {}
    for probability, y, pairs, scale in network_batches(nodes, adjacency, observed, non_links):
        name = (y, tuple(sorted(map(tuple, pairs.tolist()))))
        known[name] = known.get(name, 0.0) + probability
        counts[name, "scale"] = scale
    seen = dict.fromkeys(known, 0)
    for t in range(draws):
        batch = batches.draw((3, 4), t)
        pairs = np.stack([batch.first, batch.second], axis=1).tolist()
        name = (batch.y, tuple(sorted(map(tuple, pairs))))
        seen[name] += 1
        assert sorted(batch.nodes.tolist()) == sorted(set(batch.nodes.tolist()))
        assert {end for pair in pairs for end in pair} <= set(batch.nodes.tolist())
        if pairs:
            exact = counts[name, "scale"]
            want = printed_pair_scale(nodes, batch.y, len(pairs)) if printed else exact
            assert batch.scale == pytest.approx(want, rel=1e-15)
    expected = np.array(list(known.values())) * draws
    statistic = float(np.sum((np.array(list(seen.values())) - expected) ** 2 / expected))
    assert statistic < chi2.ppf(1 - 1e-5, max(len(known) - 1, 1))


def test_the_printed_scale_of_one_nodes_non_links_is_that_of_the_paper(network):
    """(L12) m N = N^2/n, whatever the node."""
    nodes, _, _, data = network
    batches = MiniBatches(data, 2, printed=True)
    drawn = [batch for t in range(200) if not (batch := batches.draw((3, 4), t)).y and len(batch.second)]
    for batch in drawn:
        assert batch.scale == pytest.approx(printed_pair_scale(nodes, 0, len(batch.second)), rel=1e-15)


def test_partners_come_with_their_exact_weights(network):
    nodes, adjacency, observed, data = network
    batches, out = MiniBatches(data, 5), np.zeros(6, dtype=np.int64)
    for a in range(nodes):
        near, far = (partners_of(a, y, adjacency, observed) for y in (1, 0))
        assert non_neighbors(a, batches.network) == len(far)
        assert [nth_non_neighbor(rank, a, batches.network) for rank in range(len(far))] == far.tolist()
        for most in (1, 2, 6):
            key = iteration_key((1, 2), most)
            count, weight = sample_neighbors(a, most, batches.network, key, out)
            assert count == min(most, len(near))
            assert set(out[:count]) <= set(near)
            assert len(set(out[:count])) == count
            assert count * weight == pytest.approx(len(near), abs=EXACT)
            count, weight = sample_non_neighbors(a, most, DRAW_NON_PARTNERS, batches.network, key, out)
            assert set(out[:count]) <= set(far)
            assert len(set(out[:count])) == count == min(most, len(far))
            assert count * weight == pytest.approx(len(far), abs=EXACT)
            drawn = out[:count].tolist()
            for printed in (False, True):
                again, c_0 = sample_partners(a, most, printed, batches.network, key, out)
                assert out[:again].tolist() == drawn
                scale = printed_partner_weight if printed else partner_weight
                assert not again or c_0 == pytest.approx(scale(a, 0, again, adjacency, observed), rel=1e-15)


def test_a_sweep_updates_about_every_node_once():
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 400, (1500, 2)), nodes=range(400))
    empty = np.empty((0, 2), dtype=np.int64)
    data = HeldOut(
        graph, empty, np.empty(0, dtype=bool), "none", 0.0, graph.density, 0, np.zeros(401, dtype=np.int64),
        np.empty(0, dtype=graph.neighbors.dtype),
    )  # fmt: skip
    for source in (False, True):
        batches = MiniBatches(data, 20, network=source)
        drawn = [len(batches.draw((1, 2), t).nodes) for t in range(50 * batches.per_sweep)]
        assert sum(drawn) / 50 == pytest.approx(400, rel=0.05)
    batches = MiniBatches(data, 20)
    drawn = [len(batches.draw((1, 2), t).nodes) for t in range(50 * batches.per_sweep)]
    assert sum(drawn) / 50 == pytest.approx(400, rel=0.05)
    nodes = batches.draw((1, 2), 7).nodes
    assert len(set(nodes.tolist())) == len(nodes)
