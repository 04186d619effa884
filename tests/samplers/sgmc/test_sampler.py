"""`sgmc` samples the posterior in its preconditioned form, and does not in the form that the paper prints."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta

from blockmix.errors import InputError
from blockmix.evaluate import score
from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.model import Model
from blockmix.model.reference import Globals
from blockmix.numerics.workers import Workers
from blockmix.samplers.langevin.options import BACKGROUND_SWEEPS
from blockmix.samplers.sgmc.reference import preconditioned_step
from blockmix.samplers.sgmc.sampler import Sgmc, SgmcOptions
from blockmix.samplers.starts.flat import BACKGROUND_SHARE

KEY = (3, 4)
# Two nodes and one link, and a triangle away from the corners, where the reflected step has little bias.
PAIR = SimpleNamespace(edges=[(0, 1)], nodes=2, alpha=0.7, beta=(0.9, 0.4), delta=0.05)
PATH = SimpleNamespace(edges=[(0, 1), (1, 2)], nodes=3, alpha=1.5, beta=(0.95, 0.05), delta=0.02)
TRIANGLE = SimpleNamespace(edges=[(0, 1), (0, 2), (1, 2)], nodes=3, alpha=1.5, beta=(0.95, 0.05), delta=0.02)
# False alarms: four standard errors, 6e-5 a comparison. To that comes the bias of a small but finite step, at most:
STANDARD_ERRORS, STEP_BIAS = 4.0, 0.003


class FixedStrengths(Sgmc):
    """The sampler with fixed strengths."""

    def _schedule(self, warm_up):
        return super()._schedule(warm_up)._replace(strength_step=0.0, adapt=0.0)


def sampled_means(tiny, case, copies, sweeps, burn_in, **options):
    """Time averages of pi_a1 in every copy of a tiny network: an array of (copies, nodes)."""
    data = tiny.copies_of(case.edges, case.nodes, copies)
    with Workers(1) as workers:
        model = Model(2, alpha=case.alpha, background=case.delta)
        sampler = FixedStrengths(data, model, SgmcOptions(schedule="constant", **options), workers)
        strengths = sampler.strengths_at(np.array([*case.beta, case.delta]), np.ones(3))
        start = np.tile(exact_means(tiny, case), copies)
        state = sampler.start_at(np.stack([start, 1.0 - start], axis=1), strengths)
        total = np.zeros(case.nodes * copies)
        for sweep in range(burn_in + sweeps):
            sampler.step(state, KEY, False)
            if sweep >= burn_in:
                total += state.dense.phi[:, 0] / state.dense.total
        np.testing.assert_allclose(sampler.strengths(state), [*case.beta, case.delta], rtol=1e-9)
    return total.reshape(copies, case.nodes) / sweeps


def exact_means(tiny, case):
    return tiny.posterior_moments(case.edges, case.nodes, case.alpha, case.beta, case.delta)[0]


def tolerance(means):
    """Return how much a mean over copies may differ."""
    return STANDARD_ERRORS * means.std(axis=0, ddof=1) / np.sqrt(len(means)) + STEP_BIAS


@pytest.mark.slow
@pytest.mark.parametrize("totals", ["degree", "prior"])
def test_two_nodes_match_quadrature_as_the_step_goes_to_zero(tiny, totals):
    """E[pi_11] = 0.5744 by quadrature. At alpha = 0.7 memberships reach the corners, where the reflected step has
    a bias of the order of its square root: a quarter of the step halves it, and twice the one less the other has
    none of it.
    """
    exact = exact_means(tiny, PAIR)
    assert exact[0] == pytest.approx(0.5744, abs=1e-4)
    large = sampled_means(tiny, PAIR, 400, 1000, 50, totals=totals, step=0.2)
    small = sampled_means(tiny, PAIR, 400, 2500, 200, totals=totals, step=0.05)
    extrapolated = 2.0 * small - large
    assert (np.abs(extrapolated.mean(axis=0) - exact) < tolerance(extrapolated)).all()
    assert (np.abs(small.mean(axis=0) - exact) < np.abs(large.mean(axis=0) - exact)).all()


@pytest.mark.slow
def test_the_printed_update_does_not_match_quadrature(tiny):
    """(E2) It is off by more than 0.15, and no smaller step makes it better."""
    exact = exact_means(tiny, PAIR)
    for step in (0.05, 0.0125):
        printed = sampled_means(tiny, PAIR, 200, 1500, 1000, preconditioned=False, step=step)
        assert (printed.mean(axis=0) - exact > 0.15 + tolerance(printed)).all()


@pytest.mark.slow
def test_three_nodes_with_a_non_link_match_quadrature(tiny):
    means = sampled_means(tiny, PATH, 300, 1500, 200, step=0.04)
    assert (np.abs(means.mean(axis=0) - exact_means(tiny, PATH)) < tolerance(means)).all()


@pytest.mark.slow
def test_a_triangle_matches_quadrature_sharply_enough_to_see_a_gradient_off_by_a_tenth(tiny):
    """All three nodes have one mean. The reference chain passes the same test, and fails it with its gradient
    multiplied by 1.1, which moves the mean by 0.0123; the sampler is tested as closely."""
    exact = exact_means(tiny, TRIANGLE)[0]
    means = sampled_means(tiny, TRIANGLE, 400, 2500, 200, step=0.06).mean(axis=1)
    assert tolerance(means) < 0.0095
    assert abs(means.mean() - exact) < tolerance(means)
    right, wrong = (reference_chain(TRIANGLE, exact, factor, 0.06, 2000, 800, 200) for factor in (1.0, 1.1))
    assert abs(right.mean() - exact) < tolerance(right)
    assert abs(wrong.mean() - exact) > tolerance(wrong)


def reference_chain(case, start, factor, eps, copies, sweeps, burn_in):
    """Move copies of a complete network by (L5), full gradients times `factor`; returns the mean of pi_1 of each."""
    rng = np.random.default_rng(1)
    g = Globals(np.array(case.beta), case.delta, case.alpha)
    degree = case.nodes - 1
    phi = np.empty((case.nodes, copies, 2))
    phi[:] = (2 * case.alpha + degree) * np.array([start, 1.0 - start])
    total = np.zeros(copies)
    for sweep in range(burn_in + sweeps):
        for a in range(case.nodes):
            pi = phi / phi.sum(axis=2, keepdims=True)
            gradient = np.zeros((copies, 2))
            for b in range(case.nodes):
                if b != a:
                    weight = pi[a] * (g.beta * pi[b] + g.delta * (1.0 - pi[b]))
                    gradient += weight / weight.sum(axis=1, keepdims=True) - pi[a]
            noise = rng.standard_normal((copies, 2))
            # the reference takes one row: the expansion is written out, for the total is that of each copy
            pull = degree * pi[a]
            phi[a] = preconditioned_step(phi[a], g.alpha, factor * gradient + pull, eps, noise)
        if sweep >= burn_in:
            total += (phi / phi.sum(axis=2, keepdims=True))[:, :, 0].mean(axis=0)
    return total / sweeps


@pytest.mark.slow
def test_a_strength_matches_its_posterior_sharply_enough_to_see_a_gradient_off_by_a_tenth():
    """One community with every pair inside it: its strength is Beta(eta + counts), whatever the memberships.

    Counts are 8 links and 7 non-links. A gradient that is a tenth too small would count them for nine tenths.
    """
    links = [(0, 1), (0, 2), (0, 3), (1, 2), (3, 4), (4, 5), (1, 5), (2, 4)]
    data, chains, sweeps, burn_in = no_hold_out(Graph.from_edges(links)), 40, 4000, 300
    values = np.zeros((chains, sweeps))
    with Workers(1) as workers:
        model = Model(1, eta=(10.0, 1.0), background=0.01)
        sampler = Sgmc(data, model, SgmcOptions(schedule="constant", strength_step=0.03), workers)
        for chain in range(chains):
            state = sampler.init((chain, 1))
            for sweep in range(sweeps):
                sampler.step(state, (chain, 1), sweep < burn_in)
                values[chain, sweep] = state.strengths.value[0]
    means = values[:, burn_in:].mean(axis=1)
    exact, mutated = beta(18, 8), beta(10 + 7.2, 1 + 6.3)
    assert abs(means.mean() - exact.mean()) < tolerance(means) < abs(mutated.mean() - exact.mean())
    assert np.mean((values[:, burn_in:] - exact.mean()) ** 2) == pytest.approx(exact.var(), rel=0.2)


@pytest.fixture(scope="module")
def network():
    return hold_out(planted(300, 5, degree=12, seed=2).graph, 0.1, seed=1)


def chain(data, options, sweeps, *, communities=5, threads=1, key=KEY, warm_up=None, **model):
    with Workers(threads) as workers:
        sampler = Sgmc(data, Model(communities, **model), SgmcOptions(**options), workers)
        state, info = sampler.init(key), None
        for sweep in range(sweeps):
            info = sampler.step(state, key, sweep < (sweeps // 2 if warm_up is None else warm_up))
    return sampler, state, info


@pytest.mark.parametrize("options", [{}, {"preconditioned": False}, {"totals": "prior"}])
def test_the_seed_alone_decides_whatever_the_number_of_threads(network, options):
    """Mini-batches of 250 nodes go over three threads, smaller ones through the compiled loop."""
    options = options | {"batch_non_links": 250}
    one, two, three = (chain(network, options, 8, threads=threads)[1] for threads in (1, 2, 3))
    other = chain(network, options, 8, key=(3, 5))[1]
    for state in (two, three):
        np.testing.assert_array_equal(one.dense.phi, state.dense.phi)
        np.testing.assert_array_equal(one.strengths.theta, state.strengths.theta)
    assert not np.array_equal(one.dense.phi, other.dense.phi)


def test_a_state_restored_from_its_arrays_goes_on_to_the_same_bits(network):
    sampler, state, _ = chain(network, {}, 6)
    copy = sampler.restore({name: array.copy() for name, array in sampler.arrays(state).items()})
    assert sampler.sweeps_done(copy) == 6
    for other in (state, copy):
        sampler.step(other, KEY, False)
    np.testing.assert_array_equal(state.dense.phi, copy.dense.phi)
    np.testing.assert_array_equal(state.strengths.value, copy.strengths.value)
    assert state.iteration == copy.iteration


def test_a_sweep_reports_its_updates_and_its_step(network):
    sampler, state, info = chain(network, {}, 4)
    assert info.iterations == sampler.batches.per_sweep
    assert state.iteration == 4 * info.iterations
    assert 0.3 * 300 < info.updates < 3 * 300
    assert info.measures["step"] == pytest.approx(0.3 * (1 + 4 / 100) ** -0.5)
    _, _, constant = chain(network, {"schedule": "constant", "step": 0.02}, 4)
    assert constant.measures["step"] == 0.02
    _, _, paper = chain(network, {"preconditioned": False}, 4)
    assert paper.measures["step"] == pytest.approx((1024 + state.iteration) ** -0.5)


def test_memberships_are_shown_once_a_sweep_and_predictions_agree_with_them(network):
    sampler, state, _ = chain(network, {}, 3)
    rows = sampler.memberships(state)
    assert sampler.memberships(state) is rows
    weights = rows.weights[:, 1::2].copy()
    np.testing.assert_array_equal(rows.words[:, ::2], np.broadcast_to(np.arange(5), (300, 5)))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-5)
    value, (a, b) = sampler.strengths(state), network.pairs.T
    want = value[-1] + ((value[:-1] - value[-1]) * weights[a] * weights[b]).sum(axis=1)
    out = np.full(len(a), 2.0)
    sampler.predict(state, network.pairs, 0.5, 3.0, out)
    np.testing.assert_allclose(out, 1.0 + 3.0 * want, rtol=1e-5)
    sampler.step(state, KEY, False)
    assert not np.array_equal(sampler.memberships(state).weights[:, 1::2], weights)


@pytest.mark.parametrize("start", ["partition", "random"])
def test_communities_that_were_planted_are_found(start):
    """Held-out AUC comes within 0.05 of that of the probabilities the network was drawn from."""
    rng, groups = np.random.default_rng(7), np.arange(200) % 4
    probability = np.where(groups[:, None] == groups, 0.3, 0.01)
    graph = Graph.from_edges(np.argwhere(np.triu(rng.random((200, 200)) < probability, 1)), nodes=range(200))
    data = hold_out(graph, 0.1, seed=1)
    with Workers(1) as workers:
        sampler = Sgmc(data, Model(4), SgmcOptions(start=start), workers)
        state, forecast = sampler.init(KEY), np.zeros(data.n_pairs)
        for sweep in range(400):
            sampler.step(state, KEY, sweep < 200)
            if sweep >= 200:
                sampler.predict(state, data.pairs, 1.0, 1 / 200, forecast)
    truth = score(probability[tuple(data.pairs.T)], data.links, data.density).auc
    assert truth > 0.8
    assert score(forecast, data.links, data.density).auc > truth - 0.05


def test_a_fixed_background_stays_and_a_learned_one_is_limited_at_first(network):
    assert chain(network, {}, 5, background=0.003)[2].background == 0.003
    limit = BACKGROUND_SHARE * network.training.density
    held = chain(network, {"start": "random"}, 5, warm_up=5)[2].background
    assert held <= limit
    assert chain(network, {"preconditioned": False, "start": "random"}, 5)[2].background == pytest.approx(
        limit
    )
    assert chain(network, {}, BACKGROUND_SWEEPS + 50)[2].background != pytest.approx(limit, rel=1e-9)


def test_only_a_subset_of_the_strengths_moves_with_a_mini_batch(network):
    sampler, state, _ = chain(network, {"strength_share": 0.4}, 1)
    before, per_sweep = state.strengths.value[:-1].copy(), sampler.batches.per_sweep
    assert sampler.how.subset == 2
    sampler.batches.__class__ = type("One", (type(sampler.batches),), {"per_sweep": 1})
    sampler.step(state, KEY, False)
    assert (state.strengths.value[:-1] != before).sum() == 2
    assert per_sweep > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"neighbors": 0}, "neighbors must be a whole number from 1"),
        ({"non_neighbors": 2.5}, "non_neighbors must be a whole number"),
        ({"batch_non_links": True}, "batch_non_links must be a whole number"),
        ({"step": -1.0}, "step must be a positive number of at most 1, not -1.0"),
        ({"step": 2}, "step must be a positive number of at most 1, not 2"),
        ({"strength_step": float("nan")}, "strength_step must be a positive number"),
        ({"delay": float("inf")}, "delay must be a positive number"),
        ({"decay": 1.5}, "decay must be a positive number of at most 1, not 1.5"),
        ({"strength_share": 0}, "strength_share must be a positive number of at most 1"),
        ({"schedule": "cosine"}, "schedule must be one of annealed, constant, not 'cosine'"),
        ({"start": "truth"}, "start must be one of partition, random"),
        ({"totals": "huge"}, "totals must be one of auto, degree, prior"),
        ({"preconditioned": 1}, "preconditioned must be True or False"),
        ({"form": "printed"}, "form must be one of corrected, paper"),
        ({"non_links_of": "graph"}, "non_links_of must be one of node, network"),
        ({"scales": 1}, "scales must be one of exact, printed"),
        ({"preconditioned": False, "totals": "degree"}, "printed update"),
    ],
)
def test_settings_out_of_range_are_named(options, message):
    with pytest.raises(InputError, match=message):
        SgmcOptions(**options)
