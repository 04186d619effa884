"""On directed and bipartite networks the sampler is that of the reference and has the posterior of (DC15).

The places of three nodes of a directed network and the pairs between them are a ring: out 0, in 1, out 2, in 0, out 1,
in 2. So its exact moments are traces of products of six matrices over a grid of (pi, r). With everything learned, means
of a chain are compared with draws of the prior that are weighted by the likelihood. False-alarm rate 1e-3 for the
file.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

from blockmix.graph.edges import from_edges
from blockmix.graph.split import HeldOut, hidden_rows, hold_out, no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.popularity.options import PopularityOptions
from blockmix.samplers.scir.popularity.problem import sums_of
from blockmix.samplers.scir.popularity.sampler import PopularityScir

sys.path.insert(0, str(Path(__file__).parent))
from test_exactness import ALPHA, BACKGROUND, RATES, SMALLEST, agree, agrees, held, node_grid
from test_reference import KEY, OTHER_DRAWS, SWEEPS, compare_sweeps, pair_of_samplers

RHO = (0.8, 3.0)
# Out of node 0 to 1, of 1 to 2, of 0 to 2; the other three directions are non-links.
ARCS = [(0, 1), (1, 2), (0, 2)]
RING = [0, 4, 2, 3, 1, 5]
LINKED = {(0, 4), (1, 5), (0, 5)}


def random_links(nodes, links, seed):
    """Pairs of nodes with unequal numbers of links, some of them of a node with itself."""
    rng = np.random.default_rng(seed)
    return (rng.random((links, 2)) ** 1.5 * nodes).astype(int)


def network(kind, weights=None):
    """A held-out split; some places have no link, and two nodes of a directed one none at all."""
    edges = random_links(40, 170, 5)
    values = None if weights is None else 1.0 + np.random.default_rng(2).poisson(2.0, len(edges))
    if weights == "amounts":
        values = values * 0.37
    nodes = range(42) if kind == "directed" else None
    return hold_out(from_edges(edges, nodes=nodes, weights=values, kind=kind), 0.15, seed=1)


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
@pytest.mark.parametrize(
    ("communities", "options", "weights"),
    [
        (5, {}, None),
        (60, {"slots": 3, "batches": 2}, None),
        (4, {"batches": 3}, "counts"),
        (4, {}, "amounts"),
    ],
)
def test_every_sweep_is_that_of_the_reference(kind, communities, options, weights):
    data = network(kind, weights)
    different = compare_sweeps(data, Model(communities, kind="popularity", weights=weights), options)
    assert different <= OTHER_DRAWS * SWEEPS * data.training.n_nodes


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_predictions_are_those_of_the_reference(kind):
    """Also of places without links, which are averaged over those of their own side."""
    data = network(kind)
    first, nodes = data.training.sides.first, data.training.n_nodes
    pairs = np.array([(a, b) for a in range(first) for b in range(first, nodes)], dtype=np.int64)
    assert (data.training.degrees[pairs] == 0).any()
    with Workers(2) as workers:
        samplers, states = pair_of_samplers(data, Model(6, kind="popularity"), {}, workers)
        samplers[0].step(states[0], KEY, True)
        states[1] = samplers[1].restore(samplers[0].arrays(states[0]))
        out = [np.full(len(pairs), 0.25) for _ in samplers]
        for sampler, state, values in zip(samplers, states, out, strict=True):
            sampler.predict(state, pairs, 0.3, 0.7, values)
    np.testing.assert_allclose(out[0], out[1], rtol=1e-6)


def test_sums_over_sides_are_kept_up_to_date():
    data = network("directed")
    with Workers(2) as workers:
        sampler = PopularityScir(data, Model(5, kind="popularity"), PopularityOptions(), workers)
        state = sampler.init(KEY)
        for _ in range(4):
            sampler.step(state, KEY, False)
    np.testing.assert_array_equal(state.sums, sums_of(state.rows, 5, data.training.sides.first))


def ring_moments(rho):
    """E[pi_a1], E[pi_a1^2], E[r_a] of the six places, by the ring of the pairs that there can be."""
    grids = [node_grid(ALPHA, shape) for shape in rho]

    def pair(a, b):
        (pi, r, _), (other, s, weight) = (grids[int(place >= 3)] for place in (a, b))
        shared = RATES[0] * np.outer(pi, other) + RATES[1] * np.outer(1 - pi, 1 - other)
        rate = np.outer(r, s) * (BACKGROUND + shared)
        likelihood = -np.expm1(-rate) if tuple(sorted((a, b))) in LINKED else np.exp(-rate)
        return likelihood * weight

    found = np.zeros((3, 6))
    steps = [pair(RING[i], RING[(i + 1) % 6]) for i in range(6)]
    for i, place in enumerate(RING):
        around = np.linalg.multi_dot([steps[(i + j) % 6] for j in range(6)])
        law, (pi, r, _) = np.diag(around), grids[int(place >= 3)]
        found[:, place] = law @ pi / law.sum(), law @ pi**2 / law.sum(), law @ r / law.sum()
    return found


def ring_copies(copies):
    """Disjoint copies of the three nodes, with all pairs between copies held out."""
    ends = (np.array(ARCS)[None] + 3 * np.arange(copies)[:, None, None]).reshape(-1, 2)
    graph = from_edges(ends, nodes=np.arange(3 * copies), kind="directed")
    size = 3 * copies
    out, into = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    apart = out // 3 != into // 3
    pairs = np.column_stack((out[apart], into[apart] + size))
    nothing = np.empty((0, 2), dtype=np.int64)
    return HeldOut(
        graph, nothing, np.empty(0, dtype=bool), "none", 0.0, graph.density, 0, *hidden_rows(pairs, graph)
    )


def test_both_roles_have_the_moments_of_the_posterior(tiny):
    """With a shape of popularities for each side, and rates held."""
    copies, sweeps = 60, 1500
    with Workers(1) as workers:
        options = PopularityOptions(slots=2, smallest=SMALLEST)
        model = Model(2, alpha=ALPHA, kind="popularity")
        sampler = PopularityScir(ring_copies(copies), model, options, workers)
        held(sampler)
        rows = tiny.even_rows(6 * copies, 2, 2, 1.0)
        state = sampler.start_at(rows, 1.0, np.append(RATES, BACKGROUND))
        state.rho[:] = RHO
        sums = np.zeros((3, 6 * copies))
        for sweep in range(100 + sweeps):
            sampler.step(state, (7, 8), False)
            if sweep >= 100:
                x = tiny.first_memberships(state.rows)
                sums += x, x * x, state.rows.total
    found = sums.reshape(3, 2, copies, 3).transpose(0, 2, 1, 3).reshape(3, copies, 6) / sweeps
    assert agrees(found, ring_moments(RHO))
    assert not agrees(found, ring_moments(RHO[::-1]))
    # As if directions were not there: of each pair of nodes the one direction is the other.
    assert not agrees(found, ring_moments(RHO)[:, [3, 4, 5, 0, 1, 2]])


def weighted_means(first, links, directed, eta=1.0, size=60_000, repeats=40):
    """Posterior means from draws of the prior, weighted by the likelihood of a network of four or six places."""
    nodes = first + (first if directed else links.max() + 1 - first)
    rng = np.random.default_rng(1)
    pairs = np.array(
        [(a, b) for a in range(first) for b in range(first, nodes) if not (directed and b == a + first)]
    )
    linked = np.array([tuple(pair) in set(map(tuple, links)) for pair in pairs])
    found = []
    for _ in range(repeats):
        rho = 1.0 / rng.random((size, 2)) - 1.0
        shapes = np.repeat(rho, [first, nodes - first], axis=1)
        r, pi = rng.gamma(shapes, 1.0 / shapes), rng.beta(ALPHA, ALPHA, (size, nodes))
        rates = np.column_stack([rng.gamma(eta, 1.0, (size, 2)), rng.gamma(1.0, 1.0 / nodes, size)])
        p = probabilities(r, pi, rates, pairs)
        weight = np.where(linked, p, 1.0 - p).prod(axis=1)
        found.append(weight @ functions(r, pi, rates, rho, p) / weight.sum())
    return np.array(found), pairs


def probabilities(r, pi, rates, pairs):
    """P(link) of pairs under every draw."""
    a, b = pairs.T
    shared = rates[:, :1] * pi[:, a] * pi[:, b] + rates[:, 1:2] * (1 - pi[:, a]) * (1 - pi[:, b])
    return -np.expm1(-r[:, a] * r[:, b] * (rates[:, 2:] + shared))


def functions(r, pi, rates, rho, p):
    """What is compared: none of it depends on how the two communities are numbered."""
    w = np.sort(rates[:, :2], axis=1)
    together = pi[:, 0] * pi[:, -1] + (1 - pi[:, 0]) * (1 - pi[:, -1])
    return np.column_stack(
        [np.log(w), np.log(rates[:, 2]), np.log(rho), r[:, 0], r[:, -1], together, p[:, 0], p[:, -1]]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "edges"), [("directed", ARCS), ("bipartite", [(0, 5), (0, 6), (1, 5), (2, 7)])]
)
def test_rates_and_the_spread_of_each_side_are_learned_with_the_rest(kind, edges):
    """One chain of 40,000 sweeps in 40 batches; the draws of the prior have errors of their own."""
    graph = from_edges(edges, kind=kind)
    exact, pairs = weighted_means(graph.sides.first, graph.edges(), graph.directed)
    options = PopularityOptions(slots=2, smallest=SMALLEST, start="random")
    with Workers(1) as workers:
        sampler = PopularityScir(
            no_hold_out(graph), Model(2, alpha=ALPHA, kind="popularity"), options, workers
        )
        state, values = sampler.init((3, 4)), []
        for sweep in range(40_500):
            sampler.step(state, (3, 4), False)
            if sweep >= 500:
                ids, weights = state.rows.words[:, ::2], state.rows.weights[:, 1::2]
                first = np.where(ids == 0, weights, 0.0).sum(axis=1, where=np.cumprod(ids >= 0, axis=1) > 0)
                values.append(
                    (
                        state.rows.total.astype(float),
                        first.astype(float),
                        state.rates.copy(),
                        state.rho.copy(),
                    )
                )
    draws = [np.array(part) for part in zip(*values, strict=True)]
    found = functions(*draws, probabilities(*draws[:3], pairs)).reshape(40, -1, exact.shape[1]).mean(axis=1)
    assert agree(found, exact)
    assert not agree(found, weighted_means(graph.sides.first, graph.edges(), graph.directed, eta=1.6)[0])
