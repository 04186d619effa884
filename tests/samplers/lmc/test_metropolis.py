"""The Langevin kernels compute the reference's targets, drifts, densities and ratios on random states."""

import math

import numpy as np
import pytest

from blockmix.model import Model
from blockmix.model.reference import pair_likelihood, shared_posterior
from blockmix.samplers.exact import prior_of
from blockmix.samplers.lmc import proposal as langevin
from blockmix.samplers.lmc import reference as lmc
from blockmix.samplers.lmc.proposal import LEAST_LOG_STEP, MOST_LOG_STEP
from blockmix.samplers.lmc.rows import (
    FIXED_BELOW,
    Frame,
    Node,
    Tuning,
    evaluate_row,
    log_refresh_ratio,
    move_row,
    new_row_scratch,
    update_rows,
)
from blockmix.samplers.lmc.strengths import (
    PairSums,
    Theta,
    ThetaPrior,
    evaluate_strength,
    expected_pairs,
    fill_exposure,
    move_strength,
    propose_theta,
    signed_likelihoods,
    theta_drift,
    update_all_strengths,
)
from blockmix.tables.layout import Key, Strengths
from blockmix.tables.observed import mark_row

KEY = Key(np.uint32(3), np.uint32(4), np.uint32(5))
EXPANSION, STEP, ETA = 4.0, 0.3, (1.5, 2.0)
ROUNDING = 1e-9
SEEDS = range(4)


def build(kernel_case, seed):
    """Return a network with held-out pairs, memberships with some tiny components, and scratch full of NaN."""
    case = kernel_case(seed)
    rng = np.random.default_rng(seed)
    nodes, communities = case.pi.shape
    phi = rng.gamma(0.4, size=(nodes, communities)) * 2 + 2 * FIXED_BELOW
    scratch = new_row_scratch(nodes, communities)
    for name, array in scratch._asdict().items():
        array[...] = 77 if name == "row" else np.nan
    return case, phi, lmc.shares(phi), scratch


def frame_of(case, pi, damping=0.0, refresh=0, adapt=False, expand=True, widen=1.0):
    tuning = Tuning(damping, refresh, 0.574, adapt, expand, widen)
    return Frame(case.network, pi, case.strengths.value, tuning, KEY)


def node_of(case, a):
    return Node(a, case.g.alpha, EXPANSION, STEP)


@pytest.mark.parametrize("seed", SEEDS)
def test_target_and_drift_of_a_row_are_those_of_the_reference(kernel_case, seed):
    case, phi, pi, scratch = build(kernel_case, seed)
    for a in range(len(phi)):
        mark_row(a, case.network, scratch.row)
        drift = np.zeros(phi.shape[1])
        node = node_of(case, a)
        found = evaluate_row(phi[a], node, frame_of(case, pi), scratch, scratch.signed, drift)
        rest = (case.adjacency, case.observed, case.g, EXPANSION)
        assert found == pytest.approx(lmc.row_log_target(a, phi, *rest), abs=ROUNDING)
        np.testing.assert_allclose(drift, lmc.row_drift(a, phi, *rest), atol=ROUNDING)


@pytest.mark.parametrize("shape", [0.0, 1.5])
@pytest.mark.parametrize("damping", [0.0, 1.0])
def test_the_density_of_a_proposal_is_that_of_the_reference(damping, shape):
    rng = np.random.default_rng(1)
    for x, to, drift in zip(*rng.gamma(0.5, size=(2, 40)) + 1e-3, rng.normal(0, 3, 40), strict=True):
        found = langevin.log_transition(x, drift, to, STEP, damping, shape)
        mean, variance = lmc.proposal(np.float64(x), np.float64(drift), STEP, damping, shape)
        assert found == pytest.approx(float(lmc.log_folded(np.float64(to), mean, variance)), rel=1e-10)


@pytest.mark.parametrize("damping", [0.0, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_is_accepted_with_the_probability_of_the_reference(kernel_case, seed, damping):
    case, phi, pi, scratch = build(kernel_case, seed)
    made = 0
    for a in range(len(phi)):
        mark_row(a, case.network, scratch.row)
        row = phi[a].copy()
        probability, accepted = move_row(row, node_of(case, a), frame_of(case, pi, damping), scratch)
        if probability == 0.0:
            continue
        rest = (case.adjacency, case.observed, case.g, EXPANSION, (STEP, damping))
        expected = lmc.row_log_ratio(a, phi, scratch.proposal.copy(), *rest)
        assert probability == pytest.approx(math.exp(min(expected, 0.0)), rel=1e-7)
        np.testing.assert_array_equal(row, scratch.proposal if accepted else phi[a])
        made += accepted
    assert 0 < made < len(phi)


@pytest.mark.parametrize("seed", SEEDS)
def test_refreshing_is_tested_with_the_ratio_of_the_reference(kernel_case, seed):
    case, phi, pi, scratch = build(kernel_case, seed)
    rest = (case.adjacency, case.observed, case.g, EXPANSION)
    for a in range(len(phi)):
        mark_row(a, case.network, scratch.row)
        frame, k, fresh = frame_of(case, pi), a % phi.shape[1], 0.2 * a + 1e-9
        evaluate_row(phi[a], node_of(case, a), frame, scratch, scratch.signed, scratch.drift)
        found = log_refresh_ratio(k, fresh, phi[a], EXPANSION, frame, scratch)
        assert found == pytest.approx(lmc.refresh_log_ratio(a, k, fresh, phi, *rest), abs=1e-8)


def test_components_far_below_the_damping_are_fixed_and_are_moved_by_refreshing(kernel_case):
    case, phi, pi, scratch = build(kernel_case, 0)
    phi[:, 1] = 1e-8
    phi[:, 2] = 0.0
    pi = lmc.shares(phi)
    steps, expansion = np.full(len(phi), math.log(STEP)), np.full(len(phi), EXPANSION)
    alpha, before = np.full(len(phi), case.g.alpha), phi.copy()
    update_rows(phi, alpha, expansion, steps, frame_of(case, pi, 1.0), scratch)
    np.testing.assert_array_equal(phi[:, 1:3], before[:, 1:3])
    assert (phi[:, 0] != before[:, 0]).any()
    np.testing.assert_allclose(pi, lmc.shares(phi))
    update_rows(phi, alpha, expansion, steps, frame_of(case, pi, 1.0, 9), scratch)
    assert (phi[:, 1:3] != before[:, 1:3]).sum() > len(phi)
    assert np.isfinite(phi).all()


def test_every_row_moves_with_its_own_alpha_expansion_and_step(kernel_case):
    case, phi, pi, scratch = build(kernel_case, 3)
    rng, expected, expected_pi = np.random.default_rng(3), phi.copy(), pi.copy()
    alpha, expansion = rng.uniform(0.1, 2.0, len(phi)), rng.uniform(1.0, 9.0, len(phi))
    steps = np.log(rng.uniform(0.05, 0.5, len(phi)))
    accepted = 0
    for a in range(len(phi)):
        mark_row(a, case.network, scratch.row)
        node = Node(a, alpha[a], expansion[a], math.exp(steps[a]))
        accepted += move_row(expected[a], node, frame_of(case, expected_pi), scratch)[1]
        expected_pi[a] = expected[a] / expected[a].sum()
    assert update_rows(phi, alpha, expansion, steps, frame_of(case, pi), scratch) == accepted > 0
    np.testing.assert_allclose(phi, expected, rtol=1e-12)
    np.testing.assert_allclose(pi, expected_pi, rtol=1e-12)


def pairs_of(case):
    return np.argwhere(np.triu(case.observed, 1))


def strength_case(kernel_case, seed, k):
    """Return signed likelihoods and exposures of all pairs, from the kernels."""
    case, _, pi, scratch = build(kernel_case, seed)
    pairs = PairSums(scratch.row, *np.full((2, len(pairs_of(case))), np.nan))
    signed_likelihoods(case.network, pi, case.strengths.value, pairs)
    fill_exposure(k, case.network, pi, pairs)
    return case, pi, pairs


def log_likelihood(case, pi, value):
    return sum(
        np.log(pair_likelihood(int(case.adjacency[a, b]), pi[a], pi[b], value[:-1], value[-1]))
        for a, b in pairs_of(case)
    )


@pytest.mark.parametrize("k", [0, 5, 6])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_strength_sees_the_likelihood_and_the_drift_of_the_reference(kernel_case, seed, k):
    """k = 6 is the background."""
    case, pi, pairs = strength_case(kernel_case, seed, k)
    value = case.strengths.value.copy()
    assert np.log(np.abs(pairs.signed)).sum() == pytest.approx(log_likelihood(case, pi, value), abs=ROUNDING)
    change = 0.03
    found, _ = evaluate_strength(change, pairs)
    moved = value + change * (np.arange(len(value)) == k)
    assert found == pytest.approx(log_likelihood(case, pi, moved), abs=ROUNDING)
    _, slope = evaluate_strength(0.0, pairs)
    theta = 9.0 * np.array([value[k], 1 - value[k]])
    drift = theta_drift(Theta(*theta, slope), ThetaPrior(*ETA, EXPANSION, 1.0))
    reference = lmc.theta_drift(k, theta, pi, case.adjacency, case.observed, case.g, ETA, EXPANSION)
    np.testing.assert_allclose(drift, reference, atol=ROUNDING)


@pytest.mark.parametrize("k", [0, 6])
def test_the_expected_pairs_of_a_community_are_the_sum_of_the_shared_posterior(kernel_case, k):
    case, pi, pairs = strength_case(kernel_case, 1, k)
    expected = 0.0
    for a, b in pairs_of(case):
        shared = shared_posterior(int(case.adjacency[a, b]), pi[a], pi[b], case.g.beta, case.g.delta)
        expected += shared[k] if k < len(shared) else 1 - shared.sum()
    assert expected_pairs(case.strengths.value[k], pairs) == pytest.approx(expected, abs=ROUNDING)


def theta_log_ratio(k, theta, proposed, case, pi, expansion, widen):
    """Return (H4) of a strength, from the reference."""
    ends = []
    for here, there in ((theta, proposed), (proposed, theta)):
        value = case.strengths.value.copy()
        value[k] = here[0] / here.sum()
        g = type(case.g)(value[:-1], float(value[-1]), case.g.alpha)
        drift = lmc.theta_drift(k, here, pi, case.adjacency, case.observed, g, ETA, expansion)
        density = lmc.log_folded(there, *lmc.proposal(here, drift, STEP, 0.0, widen * np.array(ETA))).sum()
        ends.append(lmc.theta_log_prior(here, ETA, expansion) + log_likelihood(case, pi, value) + density)
    return ends[1] - ends[0]


@pytest.mark.parametrize("k", [0, 5, 6])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("expansion", "widen"), [(EXPANSION, 1.0), (0.0, 0.0)], ids=["corrected", "paper"])
def test_a_strength_is_accepted_with_the_probability_of_the_reference(kernel_case, seed, k, expansion, widen):
    case, pi, pairs = strength_case(kernel_case, seed, k)
    value = case.strengths.value.copy()
    strengths = Strengths(value.copy(), np.full(len(value), 9.0), np.full(len(value), expansion))
    prior = ThetaPrior(*ETA, expansion, widen)
    probability, accepted = move_strength(k, prior, STEP, KEY, strengths, pairs)
    theta = 9.0 * np.array([value[k], 1 - value[k]])
    drift = lmc.theta_drift(k, theta, pi, case.adjacency, case.observed, case.g, ETA, expansion)
    proposed = np.array(
        [propose_theta(theta[i], drift[i], STEP, widen * ETA[i], k, 1 - i, KEY) for i in range(2)]
    )
    expected = theta_log_ratio(k, theta, proposed, case, pi, expansion, widen)
    assert probability == pytest.approx(math.exp(min(expected, 0.0)), rel=1e-7)
    now = proposed[0] / proposed.sum() if accepted else value[k]
    assert strengths.value[k] == pytest.approx(now, rel=1e-9)
    # the signed likelihoods are those of the new strengths
    np.testing.assert_allclose(
        np.log(np.abs(pairs.signed)).sum(), log_likelihood(case, pi, strengths.value), atol=ROUNDING
    )


def test_only_the_asked_blocks_move_and_expansions_adapt_in_warm_up_alone(kernel_case):
    case, _, pi, scratch = build(kernel_case, 2)
    communities = pi.shape[1]
    prior = prior_of(Model(communities, eta=ETA), len(pi))
    pairs = PairSums(scratch.row, *np.zeros((2, len(pairs_of(case)))))
    for adapt in (False, True):
        strengths = Strengths(*np.array(case.strengths))
        steps = np.full(communities + 1, math.log(STEP))
        frame = frame_of(case, pi, 1.0, adapt=adapt)
        update_all_strengths(communities, prior, steps, frame, strengths, pairs)
        assert strengths.value[-1] == case.strengths.value[-1]
        assert (strengths.value[:-1] != case.strengths.value[:-1]).sum() >= 2
        assert (strengths.expansion[:-1] != case.strengths.expansion[:-1]).all() == adapt
        assert (steps[:-1] != math.log(STEP)).all() == adapt


def test_totals_of_the_prior_never_expand(kernel_case):
    """(H7) In warm-up nothing but the strengths themselves and their steps changes."""
    case, _, pi, scratch = build(kernel_case, 2)
    communities = pi.shape[1]
    pairs = PairSums(scratch.row, *np.zeros((2, len(pairs_of(case)))))
    strengths = Strengths(*np.array(case.strengths))
    strengths.expansion[:] = 0.0
    steps = np.full(communities + 1, math.log(STEP))
    frame = frame_of(case, pi, adapt=True, expand=False, widen=0.0)
    update_all_strengths(communities, prior_of(Model(communities), len(pi)), steps, frame, strengths, pairs)
    assert (strengths.expansion == 0.0).all()
    assert (steps[:-1] != math.log(STEP)).all()


def test_steps_grow_when_too_much_is_accepted_and_stay_within_bounds():
    for sweep in (0, 10, 1000):
        for probability in (0.0, 0.574, 1.0):
            found = langevin.adapted(-1.0, probability, 0.574, float(sweep))
            assert found == pytest.approx(lmc.adapted_log_step(-1.0, probability, 0.574, sweep))
    assert langevin.adapted(MOST_LOG_STEP, 1.0, 0.5, 0.0) == MOST_LOG_STEP
    assert langevin.adapted(LEAST_LOG_STEP, 0.0, 0.5, 0.0) == LEAST_LOG_STEP


def test_a_ratio_that_is_no_number_is_a_rejection():
    assert langevin.acceptance(math.nan) == 0.0
    assert langevin.acceptance(-math.inf) == 0.0
    assert langevin.acceptance(3.0) == 1.0
    assert langevin.acceptance(-1.0) == pytest.approx(math.exp(-1.0))
