"""Every sweep of the compiled kernels is that of the plain reference, node by node, from the same random numbers."""

import numpy as np
import pytest

import blockmix as bm
from blockmix.engines.choose import make_engine
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.popularity.options import PopularityOptions
from blockmix.samplers.scir.popularity.reference.kernels import theta_of
from blockmix.samplers.scir.popularity.sampler import PopularityScir

KEY = (5, 6)
SWEEPS = 6
# Memberships and popularities are float32, and sums over nodes are kept in units of 2^-30.
TOLERANCE, RATE_TOLERANCE = 2e-5, 1e-6
# Share of the nodes for which rounding may decide a draw.
OTHER_DRAWS = 0.01


def overlapping():
    """A planted network with four isolated nodes; two more lose their only link to the hold-out."""
    edges = [tuple(edge) for edge in bm.planted(50, 4, degree=8, seed=3).graph.edges()]
    graph = bm.Graph.from_edges([*edges, (0, 54), (1, 55)], nodes=range(56))
    return hold_out(graph, 0.15, seed=1)


NETWORKS = {
    "overlapping": overlapping,
    "two nodes": lambda: no_hold_out(bm.Graph.from_edges([(0, 1)])),
    "isolated nodes": lambda: no_hold_out(bm.Graph.from_edges([(0, 1), (1, 2), (0, 2)], nodes=range(9))),
    "clique": lambda: no_hold_out(bm.Graph.from_edges([(a, b) for a in range(10) for b in range(a)])),
    "star": lambda: no_hold_out(bm.Graph.from_edges([(0, leaf) for leaf in range(1, 40)])),
}
SETTINGS = {
    "defaults": (Model(6, kind="popularity"), {}),
    "more communities than nodes, few slots": (Model(80, kind="popularity"), {"slots": 3, "batches": 2}),
    "dense memberships": (Model(5, alpha=0.8, kind="popularity"), {"batches": 1}),
    "background given": (Model(4, background=0.02, kind="popularity"), {"start": "random"}),
    "one community": (Model(1, kind="popularity"), {}),
    "hardly any births": (Model(20, alpha=1e-5, kind="popularity"), {"slots": 3, "batches": 2}),
    "prior of rates given": (Model(4, eta=(0.3, 6.0), kind="popularity"), {"batches": 3}),
}


def pair_of_samplers(data, model, options, workers):
    """The sampler on the kernels and on the reference, and one state for each with the same bits."""
    samplers = [
        PopularityScir(data, model, PopularityOptions(**options), workers, make_engine(name, workers))
        for name in ("cpu", "reference")
    ]
    start = samplers[0].arrays(samplers[0].init(KEY))
    return samplers, [sampler.restore(start) for sampler in samplers]


def other_nodes(model, states):
    """How many nodes have another row or popularity, beyond rounding."""
    first, second = (theta_of(state, model.communities) for state in states)
    scale = np.maximum(first[:, -1:], 1e-3)
    return int((np.abs(first - second) > TOLERANCE * scale).any(axis=1).sum())


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("settings", SETTINGS)
def test_every_sweep_is_that_of_the_reference(network, settings):
    """Warm-up and sampling; after each sweep the states are set equal, so that differences do not add up."""
    (model, options), data = SETTINGS[settings], NETWORKS[network]()
    different = compare_sweeps(data, model, options)
    assert different <= OTHER_DRAWS * SWEEPS * data.training.n_nodes


def with_weights(law):
    """The same network with counts from 1 to 12, or amounts from .05 to 20."""
    data, rng = overlapping(), np.random.default_rng(3)
    edges = np.concatenate((data.training.edges(), data.pairs[data.links]))
    counts = 1 + rng.poisson(4.0, len(edges)) * (rng.random(len(edges)) < 0.5)
    weights = counts if law == "counts" else np.exp(rng.normal(0.0, 1.2, len(edges)))
    return hold_out(bm.Graph.from_edges(edges, nodes=range(56), weights=weights), 0.15, seed=1)


@pytest.mark.parametrize("law", ["counts", "amounts"])
@pytest.mark.parametrize("options", [{}, {"slots": 3, "batches": 2}])
def test_every_sweep_with_weights_is_that_of_the_reference(law, options):
    data = with_weights(law)
    different = compare_sweeps(data, Model(6, kind="popularity", weights=law), options)
    assert different <= OTHER_DRAWS * SWEEPS * data.training.n_nodes


def compare_sweeps(data, model, options):
    """How many nodes come out otherwise in some sweeps of the kernels and of the reference."""
    with Workers(2) as workers:
        samplers, states = pair_of_samplers(data, model, options, workers)
        different = 0
        for sweep in range(SWEEPS):
            infos = [s.step(state, KEY, sweep < 3) for s, state in zip(samplers, states, strict=True)]
            different += other_nodes(model, states)
            if not different:
                np.testing.assert_allclose(states[0].rates, states[1].rates, rtol=RATE_TOLERANCE)
                assert states[0].rho == pytest.approx(states[1].rho, rel=1e-5)
                np.testing.assert_allclose(states[0].unit, states[1].unit, rtol=1e-4)
                for name, value in infos[1].measures.items():
                    assert infos[0].measures[name] == pytest.approx(value, abs=1e-5), name
            states[1] = samplers[1].restore(samplers[0].arrays(states[0]))
    return different


def test_predictions_are_those_of_the_reference():
    data = overlapping()
    nodes = data.training.n_nodes
    pairs = np.array([(a, b) for a in range(nodes) for b in range(a)], dtype=np.int64)
    with Workers(2) as workers:
        samplers, states = pair_of_samplers(data, Model(6, kind="popularity"), {}, workers)
        samplers[0].step(states[0], KEY, True)
        states[1] = samplers[1].restore(samplers[0].arrays(states[0]))
        out = [np.full(len(pairs), 0.25) for _ in samplers]
        for sampler, state, values in zip(samplers, states, out, strict=True):
            sampler.predict(state, pairs, 0.3, 0.7, values)
    np.testing.assert_allclose(out[0], out[1], rtol=1e-6)
