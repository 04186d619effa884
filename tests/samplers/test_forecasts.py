"""One pair has one answer: the forecast of a run, the link probability of its samples and the diagnostics agree.

For every sampler and model, also for pairs with one or two ends that are isolated in training.
"""

import numpy as np
import pytest

import blockmix as bm
from blockmix.graph.split import HeldOut, hold_out
from blockmix.model import Model
from blockmix.model.reference import general_pair_likelihood, pair_likelihood
from blockmix.numerics.workers import Workers
from blockmix.samplers import SAMPLERS, sampler_class, sampler_options
from blockmix.tables.packed import LEAST_WEIGHT

COMMUNITIES = 4
# At threshold 1 nothing is in the bulk of sgmc-m; with few slots what is beyond them is in the rest as well.
SETTINGS = {
    "sgmc-m": [{"threshold": 1.0}, {"threshold": 0.9}, {"threshold": 0.5}, {"threshold": 1.0, "slots": 2}],
}
EVERY = [
    (kind, name, settings)
    for kind, entries in SAMPLERS.items()
    for name in entries
    for settings in SETTINGS.get(name, [{}])
]
SAMPLING = [case for case in EVERY if sampler_class(case[1], case[0]).samples]
KEY = (3, 4)
# Weights of rows are float32, K of them at each end.
SINGLE_PRECISION = 2 * COMMUNITIES * 2.0**-24
# A packed row leaves out at most K - 1 weights below the least; what is rounded to 16 bits is far less.
PACKING = 2 * COMMUNITIES * LEAST_WEIGHT


@pytest.fixture(scope="module")
def network():
    """A network with five isolated nodes, and held-out pairs with no, one and two isolated ends."""
    made = bm.planted(60, COMMUNITIES, degree=9, seed=3)
    data = hold_out(bm.Graph.from_edges(made.graph.edges(), nodes=np.arange(65)), 0.1, seed=1)
    isolated = np.flatnonzero(data.training.degrees == 0)
    assert len(isolated) >= 5
    more = [(a, b) for a in isolated for b in [*range(0, 60, 12), *isolated] if b < a]
    return with_more_pairs(data, np.sort(np.array(more, dtype=np.int64), axis=1))


def with_more_pairs(data, more):
    """The split with these non-links held out too."""
    known = {tuple(pair) for pair in data.pairs.tolist()}
    pairs = np.concatenate([data.pairs, [pair for pair in more.tolist() if tuple(pair) not in known]])
    links = np.append(data.links, np.zeros(len(pairs) - len(data.pairs), dtype=bool))
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    offsets = np.searchsorted(both[:, 0], np.arange(data.training.n_nodes + 1)).astype(np.int64)
    hidden = both[:, 1].astype(data.hidden_neighbors.dtype)
    return HeldOut(
        data.training, pairs, links, data.kind, data.fraction, data.density, data.seed, offsets, hidden
    )


def for_samplers(chosen):
    ids = [
        "-".join([kind, name, *(f"{key}={value}" for key, value in more.items())])
        for kind, name, more in chosen
    ]
    return pytest.mark.parametrize(("kind", "name", "settings"), chosen, ids=ids)


def isolated_ends(data):
    return (data.training.degrees == 0)[data.pairs].sum(axis=1)


# The mean over isolated nodes is that of rows, and probabilities are linear in them; tests/samplers/scir/popularity
# compares the forecasts of the popularity model, which are not, with its own reference.
@for_samplers([case for case in EVERY if case[0] != "popularity"])
def test_a_forecast_is_the_mean_of_the_reference_over_isolated_nodes(
    kind, name, settings, network, pooled_probabilities
):
    with Workers(1) as workers:
        options = sampler_options(name, settings, kind)
        sampler = sampler_class(name, kind)(network, Model(COMMUNITIES, kind=kind), options, workers)
        state = sampler.init(KEY)
        for _ in range(6):
            sampler.step(state, KEY, True)
        found = np.ones(network.n_pairs)
        sampler.predict(state, network.pairs, 0.5, 2.0, found)
    rows, strengths = sampler.memberships(state), sampler.strengths(state)
    pi = np.zeros((sampler.nodes, COMMUNITIES))
    for a in range(sampler.nodes):
        for k, weight in zip(rows.words[a, ::2], rows.weights[a, 1::2], strict=True):
            if k < 0:
                break
            pi[a, k] = weight
    if settings and settings != {"threshold": 1.0}:
        assert sampler.even_rest
        others = pi == 0.0
        even = (1.0 - pi.sum(axis=1)) / np.maximum(others.sum(axis=1), 1)
        assert even.max() > 0.01, "the rest would not be noticed"
        pi += others * even[:, None]
    isolated = network.training.degrees == 0
    assert not np.allclose(pi[isolated], pi[isolated][0], atol=0.01), "pooling would not be noticed"

    def probability(pi_a, pi_b):
        if kind == "mmsb":
            return general_pair_likelihood(1, pi_a, pi_b, strengths)
        return pair_likelihood(1, pi_a, pi_b, strengths[:-1], strengths[-1])

    expected = pooled_probabilities(network.pairs, pi, isolated, probability)
    assert set(isolated_ends(network)) == {0, 1, 2}
    np.testing.assert_allclose(found, 0.5 + 2.0 * expected, atol=2.0 * SINGLE_PRECISION)


@for_samplers(SAMPLING)
def test_the_forecast_of_one_sample_is_the_link_probability_of_that_sample(
    kind, name, settings, network, tmp_path
):
    """An approximation forecasts with its means, and its samples are drawn from it: the two need not be equal."""
    full = bm.Graph.from_edges(
        np.concatenate([network.training.edges(), network.pairs[network.links]]), nodes=np.arange(65)
    )
    post = bm.fit(
        full, COMMUNITIES, model=kind, sampler=name, held_out=network, seed=2, sweeps=12, warm_up=11, chains=1,
        threads=1, **settings,
    )  # fmt: skip
    assert [len(chain) for chain in post.draws] == [1]
    np.testing.assert_array_equal(post.unlinked, network.training.degrees == 0)
    found = post.node_link_probability(post.held_out.pairs)
    np.testing.assert_allclose(found, post.held_out.probability, atol=PACKING)
    post.save(tmp_path / "saved")
    kept = bm.load(tmp_path / "saved").node_link_probability(post.held_out.pairs)
    np.testing.assert_array_equal(kept, found)
