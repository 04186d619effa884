"""`svi`: unbiased natural gradients, planted communities found, and what mean field does to a posterior."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from blockmix.errors import InputError
from blockmix.evaluate.mutual_information import onmi
from blockmix.evaluate.pairs import auc
from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.minibatch import iteration_key
from blockmix.samplers.svi import reference
from blockmix.samplers.svi.kernels import (
    Batch,
    Frame,
    add_inside,
    add_pairs,
    new_batch,
    new_work,
    update_nodes,
)
from blockmix.samplers.svi.sampler import BACKGROUND_SHARE, Svi, SviOptions, batch_chances
from blockmix.tables.layout import Key

EXACT = 1e-12
KEY = (5, 6)


def fitted(data, communities, options=None, sweeps=40, *, threads=1, key=KEY, model=None):
    """Return the sampler and its state after some sweeps, the first half of them warm-up."""
    with Workers(threads) as workers:
        sampler = Svi(data, model or Model(communities), SviOptions(**(options or {})), workers)
        state = sampler.init(key)
        for sweep in range(sweeps):
            sampler.step(state, key, sweep < sweeps // 2)
    return sampler, state


def dense(data):
    """Return a network in the form of the reference: adjacency, and which pairs are observed."""
    n = data.training.n_nodes
    adjacency, observed = np.zeros((n, n)), ~np.eye(n, dtype=bool)
    for a, b in data.training.edges():
        adjacency[a, b] = adjacency[b, a] = 1.0
    for a, b in data.pairs:
        observed[a, b] = observed[b, a] = False
    return adjacency, observed


@pytest.fixture(scope="module")
def small():
    """Six nodes with two pairs held out, one of them a link."""
    graph = Graph.from_edges([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (1, 4)], nodes=range(6))
    return hold_out(graph, 0.2, seed=3)


def node_sums(data, sampler, state, neighbors, non_neighbors):
    """Average over all samples of partners of every node; returns target less alpha, and pairs inside."""
    adjacency, observed = dense(data)
    n, k = sampler.nodes, sampler.communities
    logs = sampler.expected_logs(state.strengths)
    level, tilt = np.exp(logs - logs.max(axis=0)), logs[:-1] - logs[-1]
    out = Batch(np.zeros((n, k)), np.zeros((n, k + 1, 2)), np.zeros((n, 2), dtype=np.int64))
    work, key = new_work(k, n), Key(np.uint32(0), np.uint32(0), np.uint32(0))
    frame = Frame(sampler.batches.network, state.factors, level, tilt, sampler.how, key)
    for a in range(n):
        for y, most in ((1, neighbors), (0, non_neighbors)):
            partners = np.flatnonzero(observed[a] & (adjacency[a] == y))
            size = min(len(partners), most)
            samples = list(combinations(partners, size))
            weight = (len(partners) / size if size else 0.0) * (1.0 if y else sampler.how.non_link_weight)
            for sample in samples:
                work.partners[:size] = sample
                add_pairs(a, size, y, weight / len(samples), frame, work, a, out)
    return out.gamma, out.inside


@pytest.mark.parametrize("pairs", ["joint", "factors"])
def test_mini_batches_give_the_full_natural_gradient_on_average(small, pairs):
    """All mini-batches and all samples of partners, enumerated: a node's gradient given that it is in the
    mini-batch, and that of the strengths, are the full ones."""
    batch_non_links = 2
    options = {"pairs": pairs, "batch_non_links": batch_non_links, "tolerance": 1e-14, "most_rounds": 10_000}
    sampler, state = fitted(small, 3, options, sweeps=3)
    adjacency, observed = dense(small)
    assert len(small.pairs) >= 2
    target, inside = node_sums(small, sampler, state, 1, 2)

    weight, prior = sampler.how.non_link_weight, reference.Prior(sampler.model.concentration)
    local = reference.joint_indicators if pairs == "joint" else reference.coupled_indicators
    tables = reference.all_indicators(state.factors.gamma, state.strengths, adjacency, observed, prior, local)
    exact = EXACT if pairs == "joint" else 1e-9
    wanted = reference.membership_targets(sampler.nodes, tables, adjacency, prior, weight)
    np.testing.assert_allclose(prior.alpha + target, wanted, rtol=exact, atol=exact)

    chances = batch_chances(small, batch_non_links)
    estimate, seen = np.zeros_like(state.strengths), np.zeros(sampler.nodes)
    for a in range(sampler.nodes):
        links = np.flatnonzero(observed[a] & (adjacency[a] == 1))
        free = np.flatnonzero(observed[a] & (adjacency[a] == 0))
        for batches in ([links], list(combinations(free, min(len(free), batch_non_links)))):
            for others in batches:
                chance = 0.5 / sampler.nodes / len(batches)
                for b in (a, *others):
                    seen[b] += chance
                    estimate += chance * 0.5 / chances[b] * inside[b]
    np.testing.assert_allclose(seen, chances, rtol=EXACT)
    np.testing.assert_allclose(chances, reference.chances(adjacency, observed, batch_non_links), rtol=EXACT)
    full = reference.strength_targets(3, tables, adjacency, prior, weight) - prior.strengths(3)
    np.testing.assert_allclose(estimate, full, rtol=exact, atol=exact)
    # the scale that counts every node alike is not the right one
    assert np.abs(estimate * chances.mean() * sampler.nodes - full).max() > 0.1


def test_nodes_are_in_real_mini_batches_with_the_chances_that_the_sampler_divides_by(small):
    """20,000 mini-batches as they are drawn: |z| < 5 for six nodes has a false-alarm rate of 4e-6."""
    draws, batch_non_links = 20_000, 2
    sampler, _ = fitted(small, 3, {"batch_non_links": batch_non_links}, sweeps=1)
    seen = np.zeros(sampler.nodes)
    for t in range(draws):
        seen[sampler.batches.draw(KEY, t).nodes] += 1
    chances = reference.chances(*dense(small), batch_non_links)
    z = (seen - draws * chances) / np.sqrt(draws * chances * (1.0 - chances))
    assert np.abs(z).max() < 5
    assert np.ptp(chances) > 0.1


def test_a_real_mini_batch_counts_every_node_over_its_chance(small):
    """(V8) The step of the strengths, from the pairs inside that the nodes of a mini-batch have found."""
    batch_non_links = 2
    sampler, state = fitted(small, 3, {"batch_non_links": batch_non_links}, sweeps=2)
    chances = reference.chances(*dense(small), batch_non_links)
    for t in range(8):
        batch = sampler.batches.draw(KEY, state.iteration + t).nodes
        before = state.strengths.copy()
        sampler._update_nodes(state, batch, iteration_key(KEY, state.iteration + t))
        add_inside(batch, sampler.chances, sampler.out, sampler.inside)
        rho = sampler._update_strengths(state)
        inside = sum(0.5 / chances[b] * sampler.out.inside[i] for i, b in enumerate(batch))
        np.testing.assert_allclose(
            state.strengths, (1 - rho) * before + rho * (sampler.prior + inside), rtol=1e-12
        )


def test_sampled_targets_average_to_the_full_one(small):
    """The kernel's own draws, 4,000 keys: |z| < 5 for 18 means has a false-alarm rate of 1e-5; 10% off is seen."""
    sampler, state = fitted(small, 3, sweeps=3)
    logs = sampler.expected_logs(state.strengths)
    level, tilt = np.exp(logs - logs.max(axis=0)), logs[:-1] - logs[-1]
    how = sampler.how._replace(neighbors=1, non_neighbors=2, step=1.0, delay=1.0, decay=0.0, most_rounds=1)
    assert how.joint
    nodes, out, work = np.arange(6), new_batch(6, 3), new_work(3, 6)
    draws = np.empty((4000, 6, 3))
    for i in range(len(draws)):
        key = Key(np.uint32(1), np.uint32(2), np.uint32(i))
        frame = Frame(sampler.batches.network, state.factors, level, tilt, how, key)
        update_nodes(0, 6, nodes, frame, work, out)
        draws[i] = out.gamma
    adjacency, observed = dense(small)
    prior = reference.Prior(sampler.model.concentration)
    tables = reference.all_indicators(
        state.factors.gamma, state.strengths, adjacency, observed, prior, reference.joint_indicators
    )
    full = reference.membership_targets(6, tables, adjacency, prior, how.non_link_weight)
    # one node has no links, and a concentration of its own
    full += how.alpha[:, None] - prior.alpha
    assert (how.alpha != prior.alpha).any()
    error = draws.std(axis=0) / np.sqrt(len(draws)) + EXACT
    assert (np.abs(draws.mean(axis=0) - full) < 5 * error).all()
    assert (np.abs(draws.mean(axis=0) - 1.1 * full) > 5 * error).any()


@pytest.fixture(scope="module")
def network():
    return planted(300, 5, degree=16, overlap=(1, 2), seed=2)


@pytest.fixture(scope="module")
def split(network):
    return hold_out(network.graph, 0.1, seed=1)


def found_cover(sampler, state):
    """Every node in the communities that it is in for more than a quarter."""
    weights = sampler.memberships(state).weights[:, 1::2]
    return [np.flatnonzero(column > 0.25) for column in weights.T]


@pytest.mark.parametrize(("pairs", "least"), [("joint", 0.7), ("factors", 0.5)])
def test_planted_communities_are_found(network, pairs, least):
    sampler, state = fitted(no_hold_out(network.graph), 5, {"pairs": pairs}, sweeps=100)
    found = found_cover(sampler, state)
    assert onmi(found, network.covers, 300) > least
    shuffled = [np.random.default_rng(1).permutation(300)[: len(group)] for group in found]
    assert onmi(shuffled, network.covers, 300) < 0.1


def test_separate_communities_are_found_from_a_random_start():
    clear = planted(200, 4, degree=20, overlap=(1, 1), seed=4)
    sampler, state = fitted(no_hold_out(clear.graph), 4, {"start": "random"}, sweeps=100)
    assert onmi(found_cover(sampler, state), clear.covers, 200) > 0.8


def test_held_out_links_are_predicted_about_as_well_as_by_the_truth(network, split):
    """AUC within .03 of that of the parameters the network was drawn from."""
    sampler, state = fitted(split, 5, sweeps=200)
    probability = np.full(split.n_pairs, 7.0)
    sampler.predict(state, split.pairs, 0.0, 1.0, probability)
    truth = network.memberships.toarray()
    value = np.append(network.strengths, network.background)
    best = auc(
        [reference.expected_probability(truth[a], truth[b], value) for a, b in split.pairs], split.links
    )
    assert auc(probability, split.links) > best - 0.03
    mean, value = sampler.moments(state).rows.weights[:, 1::2], sampler.strengths(state)
    for i, (a, b) in enumerate(split.pairs[:20]):
        expected = reference.expected_probability(mean[a], mean[b], value)
        assert probability[i] == pytest.approx(expected, rel=1e-5)


def test_whether_held_out_pairs_are_links_changes_no_bit(split):
    """Held-out pairs are never used: with links and non-links exchanged among them the factors are the same."""
    turned = replace(split, links=~split.links)
    one, other = (fitted(data, 5, sweeps=5)[1] for data in (split, turned))
    np.testing.assert_array_equal(one.factors.gamma, other.factors.gamma)


def test_moments_are_those_of_the_factors_and_of_the_draws(split):
    """400 draws of 300 x 5 means: of 1,500 z-scores the mean square is 1 within 0.2 (5 standard errors, the
    communities of a node counted as one); variances 10% off are seen."""
    sampler, state = fitted(split, 5, sweeps=20)
    moments = sampler.moments(state)
    mean, variance = reference.membership_moments(state.factors.gamma)
    np.testing.assert_allclose(moments.rows.weights[:, 1::2], mean, rtol=1e-6)
    np.testing.assert_allclose(moments.variance, variance, rtol=1e-6)
    np.testing.assert_allclose(
        (moments.strength_mean, moments.strength_variance), reference.strength_moments(state.strengths, None)
    )
    draws = [sampler.draw(state, (9, i)) for i in range(400)]
    pi = np.stack([rows.weights[:, 1::2] for rows, _ in draws]).astype(np.float64)
    wide = variance > 1e-6
    z = (pi.mean(axis=0) - mean)[wide] / np.sqrt(variance[wide] / 400)
    assert abs(np.mean(z**2) - 1.0) < 0.2
    assert abs(np.mean(pi.var(axis=0)[wide] / variance[wide]) - 1.0) < 0.05
    strengths = np.stack([value for _, value in draws])
    z = (strengths.mean(axis=0) - moments.strength_mean) / np.sqrt(moments.strength_variance / 400)
    assert np.abs(z).max() < 5
    again = sampler.draw(state, (9, 0))
    np.testing.assert_array_equal(again[0].words, draws[0][0].words)


@pytest.mark.parametrize("pairs", ["joint", "factors"])
def test_the_key_alone_decides_whatever_the_number_of_threads(split, pairs):
    """A mini-batch of 257 nodes is enough for two threads to take part."""
    one, two = (fitted(split, 5, {"pairs": pairs}, sweeps=4, threads=threads)[1] for threads in (1, 2))
    np.testing.assert_array_equal(one.factors.gamma, two.factors.gamma)
    np.testing.assert_array_equal(one.strengths, two.strengths)
    other = fitted(split, 5, {"pairs": pairs}, sweeps=4, key=(5, 7))[1]
    assert not np.array_equal(one.factors.gamma, other.factors.gamma)


def test_a_restored_state_goes_on_to_the_same_bits(split):
    sampler, state = fitted(split, 5, sweeps=3)
    copy = sampler.restore({name: array.copy() for name, array in sampler.arrays(state).items()})
    for chain in (state, copy):
        for _ in range(3):
            sampler.step(chain, KEY, False)
    for name, array in sampler.arrays(state).items():
        np.testing.assert_array_equal(array, sampler.arrays(copy)[name])
    assert sampler.sweeps_done(copy) == 6


def test_a_sweep_updates_about_as_many_nodes_as_there_are(split):
    sampler, state = fitted(split, 5, sweeps=0)
    infos = [sampler.step(state, KEY, True) for _ in range(50)]
    assert abs(np.mean([info.updates for info in infos]) / 300 - 1.0) < 0.25
    assert state.factors.updates.sum() == sum(info.updates for info in infos)
    assert state.iteration == sum(info.iterations for info in infos)
    assert (state.factors.updates > 0).all()


NETWORKS = {
    "two nodes": (Graph.from_edges([(0, 1)]), 2),
    "one community": (Graph.from_edges([(0, 1), (1, 2), (2, 3)]), 1),
    "more communities than nodes": (Graph.from_edges([(0, 1), (1, 2)]), 20),
    "isolated nodes": (Graph.from_edges([(0, 1), (1, 2), (0, 2)], nodes=range(12)), 3),
    "no links": (Graph.from_edges([], nodes=range(5)), 2),
    "clique": (Graph.from_edges([(a, b) for a in range(15) for b in range(a)]), 3),
    "star": (Graph.from_edges([(0, leaf) for leaf in range(1, 121)]), 4),
}


@pytest.mark.parametrize("pairs", ["joint", "factors"])
@pytest.mark.parametrize("network", NETWORKS)
def test_odd_networks_have_finite_factors(network, pairs):
    graph, communities = NETWORKS[network]
    model = Model(communities, alpha=1e-4, eta=(1e-3, 5.0))
    for start in ("partition", "random"):
        options = {"pairs": pairs, "start": start}
        sampler, state = fitted(no_hold_out(graph), communities, options, sweeps=100, model=model)
        assert np.isfinite(state.factors.gamma).all()
        assert (state.factors.gamma > 0).all()
        assert np.isfinite(state.factors.weights).all()
        assert ((sampler.strengths(state) >= 0) & (sampler.strengths(state) <= 1)).all()
        # gamma of a node adds up to its prior and its pairs, whatever was sampled
        np.testing.assert_allclose(state.factors.gamma.sum(axis=1), sampler.totals, rtol=0.2)
        rows, strengths = sampler.draw(state, KEY)
        assert np.isfinite(rows.weights[:, 1::2]).all()
        assert np.isfinite(strengths).all()


def test_a_fixed_background_stays_where_it_was_put(split):
    sampler, state = fitted(split, 5, sweeps=5, model=Model(5, background=0.003))
    assert sampler.strengths(state)[-1] == sampler.draw(state, KEY)[1][-1] == 0.003
    assert sampler.moments(state).strength_variance[-1] == 0.0


def test_a_learned_background_is_constant_in_warm_up_and_then_learned(split):
    """A tenth of the planted links come from the background: after 200 sweeps it is right within a factor of two."""
    sampler, state = fitted(split, 5, sweeps=0)
    for _ in range(100):
        info = sampler.step(state, KEY, True)
    assert info.background == pytest.approx(BACKGROUND_SHARE * split.training.density, rel=1e-9)
    for _ in range(100):
        info = sampler.step(state, KEY, False)
    assert info.background == sampler.strengths(state)[-1]
    assert 0.05 < info.background / split.density < 0.2


class FixedStrengths(Svi):
    """The approximation with fixed strengths."""

    def _update_strengths(self, state):
        return 0.0


def test_the_error_of_the_mean_field(tiny):
    """Two linked nodes, strengths known: the posterior has E[pi_11] = .574 and a standard deviation of .314, the
    factors have .688 and .251. They put the link in the stronger community, too surely. That is the family's fault and
    not the ascent's: full coordinate steps of the reference end at the same point."""
    alpha, beta, delta = 0.7, (0.9, 0.4), 0.05
    first, second = tiny.posterior_moments([(0, 1)], 2, alpha, beta, delta)
    data = no_hold_out(Graph.from_edges([(0, 1)]))
    with Workers(1) as workers:
        model = Model(2, alpha=alpha, background=delta)
        sampler = FixedStrengths(data, model, SviOptions(decay=0.0), workers)
        known = 1e9 * np.array([[0.1, 0.9], [0.6, 0.4], [1 - delta, delta]])
        state = sampler.start_at(np.array([[1.2, 1.0], [1.1, 1.0]]), known)
        for _ in range(300):
            sampler.step(state, KEY, False)
    mean, variance = reference.membership_moments(state.factors.gamma)

    prior, gamma = reference.Prior(alpha, background=delta), np.array([[1.2, 1.0], [1.1, 1.0]])
    adjacency, observed = dense(data)
    for _ in range(300):
        tables = reference.all_indicators(
            gamma, known, adjacency, observed, prior, reference.joint_indicators
        )
        gamma = reference.membership_targets(2, tables, adjacency, prior)
    np.testing.assert_allclose(state.factors.gamma, gamma, rtol=1e-6)
    assert first[0] == pytest.approx(0.5744, abs=1e-4)
    assert np.sqrt(second - first**2)[0] == pytest.approx(0.3141, abs=1e-4)
    assert mean[0, 0] == pytest.approx(0.6882, abs=1e-4)
    assert np.sqrt(variance[0, 0]) == pytest.approx(0.2512, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": "both"}, "pairs must be one of joint, factors"),
        ({"start": "cold"}, "start must be one of partition, random"),
        ({"neighbors": 0}, "neighbors must be a whole number"),
        ({"non_neighbors": 2.5}, "non_neighbors must be a whole number"),
        ({"step": 1.5}, "step must be above 0 and at most 1"),
        ({"decay": -0.1}, "decay must lie between 0 and 1"),
        ({"delay": 0.0}, "delay must be a positive number"),
        ({"tolerance": float("inf")}, "tolerance must be a positive number"),
        ({"most_rounds": True}, "most_rounds must be a whole number"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        SviOptions(**options)
