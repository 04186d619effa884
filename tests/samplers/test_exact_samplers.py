"""`cgs` and `lmc` sample the posterior of the training pairs and nothing else: against exact moments, and each other.

On networks of two and three nodes all moments are known, by quadrature where strengths are fixed and by the sum
over all indicators where they are sampled too. Means are compared with a Student quantile of their own standard
error (from independent copies, or from batch means), at a false-alarm rate of 1e-3 for the exact moments
and 1e-3 for the agreement. Seeds are fixed, and every comparison shows that it can fail.
"""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from blockmix.errors import InputError
from blockmix.evaluate.pairs import log_loss, perplexity
from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.graph.reading.read import read_graph
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers import sampler_class
from blockmix.samplers.cgs import reference as equations
from blockmix.samplers.cgs.sampler import Cgs, CgsOptions
from blockmix.samplers.lmc.options import BEST_ACCEPTANCE, LmcOptions
from blockmix.samplers.lmc.sampler import Lmc
from blockmix.tables.layout import Strengths

PAIR, PATH = [(0, 1)], [(0, 1), (1, 2)]
BETA, DELTA, ETA = (0.9, 0.4), 0.05, (2.0, 1.0)
# Off by 10%, one down and one up.
WRONG_BETA = (0.81, 0.44)
COMPARISONS = 5 * 6 + 10 * 13
FALSE_ALARM = 1e-3 / COMPARISONS
SWEEPS, BATCHES = 12_000, 40


def agrees(samples, exact):
    """Whether the mean over rows is the exact value, within the quantile of its standard error."""
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    limit = stats.t.isf(FALSE_ALARM / 2, len(samples) - 1)
    return bool((np.abs(samples.mean(axis=0) - exact) <= limit * error).all())


def dense(sampler, state):
    return sampler.memberships(state).weights[:, 1::2].astype(np.float64)


# --- memberships, strengths fixed -------------------------------------------------------------------------


class FixedStrengths(Lmc):
    """The sampler with fixed strengths."""

    def _update_strengths(self, state, frame):
        return 0


def moments_of_copies(tiny, edges, nodes, alpha, options, sweeps=2500, copies=50, warm_up=300):
    """Means over time of pi_a1 and pi_a1^2 in every copy: an array of (copies, 2 nodes)."""
    data, size = tiny.copies_of(edges, nodes, copies), nodes * copies
    with Workers(1) as workers:
        sampler = FixedStrengths(
            data, Model(2, alpha=alpha, background=DELTA), LmcOptions(**options), workers
        )
        value = np.append(BETA, DELTA)
        state = sampler.start_at(np.full((size, 2), 0.5), Strengths(value, 9 * value, 9 * value))
        sums = np.zeros((2, size))
        for sweep in range(warm_up + sweeps):
            sampler.step(state, (5, 6), sweep < warm_up)
            if sweep >= warm_up:
                x = state.shares[:, 0]
                sums += x, x * x
    return np.concatenate([total.reshape(copies, nodes) for total in sums / sweeps], axis=1)


@pytest.mark.parametrize(
    ("edges", "nodes", "alpha", "options"),
    [
        (PAIR, 2, 0.7, {}),
        (PATH, 3, 0.7, {}),
        (PATH, 3, 0.05, {}),
        # the metric of the paper, Langevin moves alone; below alpha = 1.5 it sticks next to zero
        (PATH, 3, 1.5, {"damping": 0.0, "refresh": 0}),
        # the same with totals of the prior: all that form="paper" stands for
        (PATH, 3, 1.5, {"form": "paper"}),
        # and refreshing all but alone
        (PATH, 3, 0.7, {"damping": 1e6, "refresh": 6}),
    ],
)
def test_lmc_samples_the_posterior_of_the_memberships(tiny, edges, nodes, alpha, options):
    found = moments_of_copies(tiny, edges, nodes, alpha, options)
    assert agrees(found, np.concatenate(tiny.posterior_moments(edges, nodes, alpha, BETA, DELTA)))
    if alpha > 0.05:
        wrong = np.concatenate(tiny.posterior_moments(edges, nodes, alpha, WRONG_BETA, DELTA))
        assert not agrees(found, wrong)


# --- memberships, strengths and background ----------------------------------------------------------------


def exact_moments(edges, p):
    """Moments that do not depend on the labels, summed over all indicators with the weights of (C1).

    For every node E[sum_k pi_k^2]; for every pair E[sum_k pi_ak pi_bk] and the link probability E[Z_ab(1)]; the sum
    of the strengths and of their squares, the background and its square.
    """
    pairs = np.array([(a, b) for a in range(p.nodes) for b in range(a + 1, p.nodes)])
    links = np.array([tuple(pair) in edges for pair in pairs])
    total, sums = 0.0, 0.0
    for choice in product(range(p.communities), repeat=2 * len(pairs)):
        indicators = np.array(choice).reshape(-1, 2)
        mass = np.exp(equations.log_collapsed(pairs, links, indicators, p))
        meetings, met = equations.count(pairs, links, indicators, p)
        pi, pi_squared = equations.membership_moments(meetings, p.alpha)
        beta, beta_squared = equations.strength_moments(met, p)
        squares = np.trace(pi_squared, axis1=1, axis2=2)
        sums += mass * summary(pairs, pi, squares, beta, beta_squared)
        total += mass
    return pairs, sums / total


def summary(pairs, pi, squares, beta, beta_squared):
    both = pi[pairs[:, 0]] * pi[pairs[:, 1]]
    probability = beta[-1] + both @ (beta[:-1] - beta[-1])
    ends = [beta[:-1].sum(), beta_squared[:-1].sum(), beta[-1], beta_squared[-1]]
    return np.concatenate([squares, both.sum(axis=1), probability, ends])


def batch_means(name, edges, nodes, alpha, pairs, eta=ETA):
    """Means of batches of sweeps; the chain forgets within a few dozen of the 300 in a batch."""
    data = no_hold_out(Graph.from_edges(edges, nodes=range(nodes)))
    make = sampler_class(name)
    with Workers(1) as workers:
        sampler = make(data, Model(2, alpha=alpha, eta=eta), make.Options(start="random"), workers)
        state = sampler.init((3, 4))
        draws = []
        for sweep in range(1000 + SWEEPS):
            sampler.step(state, (3, 4), sweep < 1000)
            if sweep >= 1000:
                pi, beta = dense(sampler, state), sampler.strengths(state)
                draws.append(summary(pairs, pi, (pi**2).sum(axis=1), beta, beta**2))
    return np.array(draws).reshape(BATCHES, -1, len(draws[0])).mean(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.7, 0.05])
@pytest.mark.parametrize(("edges", "nodes"), [(PAIR, 2), (PATH, 3)])
@pytest.mark.parametrize("name", ["cgs", "lmc"])
def test_memberships_and_strengths_have_their_exact_moments(name, edges, nodes, alpha):
    pairs, exact = exact_moments(edges, equations.Prior(nodes, 2, alpha, ETA, None, (1.0, nodes)))
    assert agrees(batch_means(name, edges, nodes, alpha, pairs), exact)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cgs", "lmc"])
def test_by_default_a_node_without_links_has_a_concentration_of_its_own(name):
    alpha = np.array([[0.15], [0.15], [1.5]])
    pairs, exact = exact_moments(PAIR, equations.Prior(3, 2, alpha, ETA, None, (1.0, 3.0)))
    found = batch_means(name, PAIR, 3, None, pairs)
    assert agrees(found, exact)
    assert not agrees(found, exact_moments(PAIR, equations.Prior(3, 2, 0.15, ETA, None, (1.0, 3.0)))[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cgs", "lmc"])
def test_a_prior_count_off_by_a_tenth_is_noticed(name):
    """The conditional of the strengths with eta_1 = 2.2 in place of 2."""
    pairs, exact = exact_moments(PATH, equations.Prior(3, 2, 0.7, ETA, None, (1.0, 3.0)))
    assert not agrees(batch_means(name, PATH, 3, 0.7, pairs, eta=(1.1 * ETA[0], ETA[1])), exact)


# --- agreement on a real-sized posterior ------------------------------------------------------------------

CHAINS, COMMUNITIES, ALPHA = 5, 4, 0.25
# What the step of scir's diffusion (h = 0.1) may add to Monte Carlo error, in a strength, a probability or a score
# (measured: 0.002).
STEP_ALLOWANCE = 0.003
AGREEMENT = {
    "cgs": ({}, 300, 2000),
    "lmc": ({}, 500, 2000),
    "scir": (
        {
            "moves": "cir", "form": "dense", "step": 0.1, "neighbors": 1000, "non_links": 1000, "smallest": 1e-4,
            "cut": 0.0, "batches": 15,
        }, 300, 1000,
    ),
}  # fmt: skip


def chain_summary(name, data, seed, alpha=ALPHA):
    """Mean strengths from weak to strong, background, mean held-out probabilities, log loss, perplexity."""
    options, warm_up, sweeps = AGREEMENT[name]
    make = sampler_class(name)
    with Workers(1) as workers:
        sampler = make(data, Model(COMMUNITIES, alpha=alpha), make.Options(**options), workers)
        state = sampler.init((seed, 1))
        strengths, probability = np.zeros(COMMUNITIES + 1), np.zeros(data.n_pairs)
        for sweep in range(warm_up + sweeps):
            sampler.step(state, (seed, 1), sweep < warm_up // 2)
            if sweep >= warm_up:
                value = sampler.strengths(state)
                strengths += np.append(np.sort(value[:-1]), value[-1])
                sampler.predict(state, data.pairs, 1.0, 1.0, probability)
    p = probability / sweeps
    scores = log_loss(p, data.links, data.density), perplexity(p, data.links)
    return np.array([*strengths / sweeps, p[data.links].mean(), p[~data.links].mean(), *scores])


@pytest.fixture(scope="module")
def agreement(shared_data):
    """Pairs of both kinds held out in proportion: scir then weighs a non-link like the exact samplers, as one."""
    graph = read_graph(shared_data / "synthetic-75" / "edges.txt.gz")
    data = hold_out(graph, 0.1, kind="proportional", seed=1)
    found = {
        name: np.array([chain_summary(name, data, seed) for seed in range(CHAINS)]) for name in AGREEMENT
    }
    found["wrong"] = np.array([chain_summary("cgs", data, seed, alpha=1.1 * ALPHA) for seed in range(CHAINS)])
    return found


def gap_and_noise(first, second):
    gap = np.abs(first.mean(axis=0) - second.mean(axis=0))
    error = np.sqrt((first.var(axis=0, ddof=1) + second.var(axis=0, ddof=1)) / CHAINS)
    return gap, error * stats.t.isf(1e-3 / (2 * 3 * len(gap)), 2 * CHAINS - 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other", "allowance"),
    [("cgs", "lmc", 0.0), ("cgs", "scir", STEP_ALLOWANCE), ("lmc", "scir", STEP_ALLOWANCE)],
)
def test_three_samplers_agree_on_a_network_of_75_nodes(agreement, one, other, allowance):
    gap, noise = gap_and_noise(agreement[one], agreement[other])
    assert (gap <= noise + allowance).all()
    assert (noise < 0.02).all()


@pytest.mark.slow
def test_a_concentration_off_by_a_tenth_is_noticed_on_it(agreement):
    gap, noise = gap_and_noise(agreement["wrong"], agreement["lmc"])
    assert (gap > noise).any()


# --- sizes, settings, states ------------------------------------------------------------------------------


def refusal(name, data, communities, **options):
    make = sampler_class(name)
    with Workers(1) as workers, pytest.raises(InputError) as caught:
        make(data, Model(communities), make.Options(**options), workers)
    return str(caught.value)


@pytest.mark.parametrize("name", ["cgs", "lmc"])
def test_networks_that_are_too_large_are_refused_with_an_estimate(name):
    """200,000 nodes have 2e10 pairs: known before anything of that size is made."""
    data = no_hold_out(Graph.from_edges([(0, 1)], nodes=range(200_000)))
    message = refusal(name, data, 50)
    assert "19,999,900,000 pairs at 50 communities" in message
    assert "GB of memory" in message
    assert "seconds a sweep" in message
    assert "sampler='scir'" in message
    assert "most_seconds=60" in message


@pytest.mark.parametrize("name", ["cgs", "lmc"])
@pytest.mark.parametrize("limit", ["most_gigabytes", "most_seconds"])
def test_either_limit_refuses_and_both_can_be_raised(name, limit):
    data = no_hold_out(planted(60, 3, degree=6, seed=1).graph)
    assert f"{limit}=1e-09" in refusal(name, data, 3, **{limit: 1e-9})
    with Workers(1) as workers:
        sampler_class(name)(data, Model(3), sampler_class(name).Options(most_seconds=1e9), workers)


@pytest.mark.parametrize("name", ["cgs", "lmc"])
def test_more_communities_than_random_streams_are_refused(name):
    assert "at most 65,536 communities" in refusal(name, no_hold_out(Graph.from_edges(PAIR)), 70_000)


@pytest.mark.parametrize(
    ("options", "setting", "message"),
    [
        (CgsOptions, {"start": "ones"}, "start must be one of partition, random, flat, not 'ones'"),
        (CgsOptions, {"most_gigabytes": 0}, "most_gigabytes must be a positive number, not 0"),
        (CgsOptions, {"most_seconds": "1"}, "most_seconds must be a positive number, not '1'"),
        (LmcOptions, {"step": 0.0}, "step must be positive, not 0.0"),
        (LmcOptions, {"step": float("nan")}, "step must be a number, not nan"),
        (LmcOptions, {"acceptance": 1.0}, "acceptance must lie strictly between 0 and 1, not 1.0"),
        (LmcOptions, {"damping": -1.0}, "damping must not be negative, not -1.0"),
        (LmcOptions, {"refresh": 1.5}, "refresh must be a whole number from 0 to 1000, not 1.5"),
        (LmcOptions, {"refresh": -1}, "refresh must be a whole number"),
        (LmcOptions, {"form": "printed"}, "form must be one of corrected, paper"),
        (LmcOptions, {"totals": "auto"}, "totals must be one of degree, prior"),
        (LmcOptions, {"widened": 1}, "widened must be True or False"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value(options, setting, message):
    with pytest.raises(InputError) as caught:
        options(**setting)
    assert message in str(caught.value)


@pytest.fixture(scope="module")
def network():
    return hold_out(planted(40, 3, degree=8, seed=2).graph, 0.1, seed=1)


@pytest.mark.parametrize(("communities", "dtype"), [(3, np.uint8), (300, np.uint16)])
def test_indicators_take_one_or_two_bytes_each_and_only_training_pairs_have_them(network, communities, dtype):
    with Workers(1) as workers:
        sampler = Cgs(network, Model(communities), CgsOptions(), workers)
        sampler.compile()
        state = sampler.init((1, 2))
        sampler.step(state, (1, 2), True)
    assert state.indicators.dtype == dtype
    assert state.indicators.shape == (network.training.n_pairs - network.n_pairs, 2)
    assert state.counts.meetings.sum() == 2 * len(state.indicators)
    assert state.counts.pairs[:, 1].sum() == network.training.n_edges


def test_held_out_rows_that_contradict_each_other_are_refused(network):
    wrong = network.hidden_neighbors.copy()
    wrong[0] = 0  # in the row of the first node: a pair with itself
    broken = type(network)(**{**network.__dict__, "hidden_neighbors": wrong})
    assert "inconsistent" in refusal("cgs", broken, 3)


@pytest.mark.parametrize("name", ["cgs", "lmc"])
def test_a_restored_state_goes_on_to_the_same_bits(network, name):
    make = sampler_class(name)
    with Workers(1) as workers:
        sampler = make(network, Model(3), make.Options(), workers)
        state = sampler.init((1, 2))
        for sweep in range(6):
            sampler.step(state, (1, 2), sweep < 4)
        other = sampler.restore({name: array.copy() for name, array in sampler.arrays(state).items()})
        assert sampler.sweeps_done(other) == 6
        for _ in range(5):
            sampler.step(state, (1, 2), False)
            sampler.step(other, (1, 2), False)
    for one, two in zip(sampler.arrays(state).values(), sampler.arrays(other).values(), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(sampler.memberships(state).words, sampler.memberships(other).words)


def test_steps_adapt_to_the_target_in_warm_up_and_are_frozen_after(network):
    with Workers(1) as workers:
        for target in (BEST_ACCEPTANCE, 0.8):
            sampler = Lmc(network, Model(3), LmcOptions(acceptance=target), workers)
            state = sampler.init((1, 2))
            for _ in range(400):
                sampler.step(state, (1, 2), True)
            frozen = state.row_steps.copy(), state.strength_steps.copy()
            expansion = state.strengths.expansion.copy()
            infos = [sampler.step(state, (1, 2), False).measures for _ in range(300)]
            np.testing.assert_array_equal(state.row_steps, frozen[0])
            np.testing.assert_array_equal(state.strength_steps, frozen[1])
            np.testing.assert_array_equal(state.strengths.expansion, expansion)
            assert np.ptp(frozen[0]) > 0
            accepted = np.mean([info["accepted_memberships"] for info in infos])
            assert accepted == pytest.approx(target, abs=0.06)
            accepted = np.mean([info["accepted_strengths"] for info in infos])
            assert accepted == pytest.approx(target, abs=0.15)
