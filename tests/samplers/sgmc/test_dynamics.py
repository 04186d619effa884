"""The Langevin kernels move memberships and strengths by the reference equations, on random states."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out
from blockmix.model.reference import Globals
from blockmix.numerics.purposes import DRAW_MEMBERSHIPS, DRAW_NON_PARTNERS, DRAW_STRENGTHS
from blockmix.samplers.langevin.dynamics import (
    Dynamics,
    StrengthState,
    in_subset,
    local_step,
    step_size,
    two_normals,
)
from blockmix.samplers.minibatch import MiniBatches, PairBatch, iteration_key
from blockmix.samplers.sgmc import reference
from blockmix.samplers.sgmc.iterations import (
    put_in_place,
    update_nodes,
    update_strengths,
)
from blockmix.samplers.sgmc.nodes import Dense, Frame, new_work
from blockmix.tables.layout import Network
from blockmix.tables.minibatch import Strata, sample_neighbors, sample_non_neighbors

NODES = 14
# phi is stored in single precision.
SINGLE = 2e-6
ALPHA, ALPHA_ISOLATED = 0.3, 2.0
NO_LINKS = Network(*(np.zeros(size, dtype=np.int64) for size in (NODES + 2, 0, NODES + 2, 0)))


@pytest.fixture(scope="module")
def batches():
    rng = np.random.default_rng(5)
    graph = Graph.from_edges(rng.integers(0, NODES, (30, 2)), nodes=range(NODES + 1))
    return MiniBatches(hold_out(graph, 0.15, seed=2), 4)


def random_state(seed, communities, general):
    rng = np.random.default_rng(seed)
    phi = rng.gamma(0.5, size=(NODES + 1, communities)).astype(np.float32)
    dense = Dense(phi, phi.sum(axis=1, dtype=np.float64))
    count = communities**2 if general else communities + 1
    theta, expansion = rng.gamma(2.0, size=(count, 2)), rng.gamma(3.0, size=count)
    prior = rng.uniform(0.5, 2.0, (count, 2))
    share = theta[:, 1] / theta.sum(axis=1)
    if not general:
        return dense, StrengthState(theta, expansion, prior, share.copy(), np.zeros((0, 0)))
    square = share.reshape(communities, communities)
    blocks = np.triu(square) + np.triu(square, 1).T
    return dense, StrengthState(theta, expansion, prior, np.zeros(1), blocks)


def dynamics(preconditioned=True, expand=True, most=3, subset=3, learn=True, printed=False):
    alpha = np.full(NODES + 1, ALPHA)
    alpha[-1] = ALPHA_ISOLATED
    strata = Strata(4, np.zeros(0, dtype=np.int64), printed)
    return Dynamics(most, most, strata, alpha, preconditioned, expand, subset, learn)


def batch_of(a, y, others, scale):
    """Return a mini-batch of pairs of one node."""
    return PairBatch(y, np.full(len(others), a), others, scale, np.append(a, others))


def subset_of(count, size, key):
    """Return the members of the random subset."""
    chosen = []
    for k in range(count):
        if in_subset(k, count, size - len(chosen), key):
            chosen.append(k)
    return chosen


def memberships(dense):
    return dense.phi.astype(np.float64) / dense.total[:, None]


@pytest.mark.parametrize("degree", [0.0, 1.0, 4.0, 9.0, 60.0])
def test_a_node_with_few_links_moves_by_a_smaller_step(degree):
    """(L10) eps min(1, (K alpha + degree)/K)^2, and eps for all nodes where totals have their prior alone."""
    communities, eps = 10, 0.2
    expected = eps * min(1.0, (communities * ALPHA + degree) / communities) ** 2
    assert local_step(eps, degree, communities, ALPHA, dynamics()) == pytest.approx(expected, rel=1e-12)
    assert local_step(eps, degree, communities, ALPHA, dynamics(expand=False)) == eps


def sampled_gradient(a, batches, key, most, one_kind, printed=False):
    """Return (L3) with the partners the kernel samples: one_kind(y, partners) summed with their weights."""
    out, total = np.zeros(NODES + 1, dtype=np.int64), 0.0
    count, weight = sample_neighbors(a, most, batches.network, key, out)
    total = total + weight * one_kind(1, out[:count].copy())
    count, weight = sample_non_neighbors(a, most, DRAW_NON_PARTNERS, batches.network, key, out)
    if printed:
        near = int(np.diff(batches.network.offsets)[a])
        adjacency = np.zeros((NODES + 1, NODES + 1))
        adjacency[a, np.setdiff1d(np.arange(NODES + 1), a)[:near]] = 1
        weight = reference.printed_partner_weight(a, 0, count, adjacency, np.ones_like(adjacency, dtype=bool))
    return total + weight * one_kind(0, out[:count].copy())


@pytest.mark.parametrize("communities", [1, 2, 5, 8])
@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize(("preconditioned", "expand"), [(True, True), (True, False), (False, False)])
@pytest.mark.parametrize(("most", "printed"), [(3, False), (100, False), (3, True), (100, True)])
def test_nodes_move_by_the_equations(batches, communities, general, preconditioned, expand, most, printed):
    dense, strengths = random_state(communities, communities, general)
    how, key, eps = dynamics(preconditioned, expand, most, printed=printed), iteration_key((1, 2), 9), 0.02
    nodes = np.array([3, 0, 7, NODES], dtype=np.int64)
    fresh = Dense(np.zeros((4, communities), dtype=np.float32), np.zeros(4))
    work = new_work(communities, NODES)
    frame = Frame(batches.network, dense, strengths, how, key)
    update_nodes(0, 4, nodes, eps, frame, fresh, work)
    pi, degrees = memberships(dense), np.diff(batches.network.offsets)
    assert degrees[nodes].min() == 0 < degrees[nodes].max()
    for i, a in enumerate(nodes):

        def one_kind(y, partners, a=a):
            if general:
                return reference.block_membership_gradient(a, y, partners, pi, strengths.blocks)
            g = Globals(strengths.value[:-1], float(strengths.value[-1]), ALPHA)
            return reference.membership_gradient(a, y, partners, pi, g)

        gradient = sampled_gradient(a, batches, key, most, one_kind, printed)
        noise = np.array(
            [n for block in range(communities) for n in two_normals(DRAW_MEMBERSHIPS, a, block, key)]
        )
        phi = dense.phi[a].astype(np.float64)
        expansion = float(degrees[a]) if expand else 0.0
        alpha = ALPHA if degrees[a] else ALPHA_ISOLATED
        step = local_step(eps, expansion, communities, alpha, how)
        if preconditioned:
            want = reference.preconditioned_step(phi, alpha, gradient, step, noise[:communities], expansion)
        else:
            want = reference.printed_step(phi, alpha, gradient, step, noise[:communities])
        np.testing.assert_allclose(fresh.phi[i], want, rtol=SINGLE, atol=SINGLE)
        assert fresh.total[i] == pytest.approx(fresh.phi[i].astype(np.float64).sum(), rel=1e-12)
    old = dense.phi.copy()
    put_in_place(nodes, fresh, dense)
    np.testing.assert_array_equal(dense.phi[nodes], fresh.phi)
    np.testing.assert_array_equal(np.delete(dense.phi, nodes, axis=0), np.delete(old, nodes, axis=0))


@pytest.mark.parametrize("y", [0, 1])
@pytest.mark.parametrize("preconditioned", [True, False])
@pytest.mark.parametrize("run", [2, 5])
def test_strengths_and_background_move_by_the_equations(y, preconditioned, run):
    k, scale, eps, key = 5, 3.5, 0.03, iteration_key((5, 6), 2)
    dense, strengths = random_state(1, k, False)
    before = StrengthState(*(array.copy() for array in strengths))
    others, pi = np.array([4, 6, 9], dtype=np.int64), memberships(dense)
    pairs = np.stack([np.full(3, 2), others], axis=1)
    frame = Frame(NO_LINKS, dense, strengths, dynamics(preconditioned, subset=run), key)
    update_strengths(batch_of(2, y, others, scale), eps, 0.0, frame, new_work(k, NODES))
    background = float(before.value[-1])
    gradient = np.vstack(
        [
            reference.strength_gradient(y, pairs, pi, before.theta[:k], background),
            reference.background_gradient(y, pairs, pi, before.value[:k], before.theta[k])[None],
        ]
    )
    moving = [*subset_of(k, run, key), k]
    for s in range(k + 1):
        if s not in moving:
            np.testing.assert_array_equal(strengths.theta[s], before.theta[s])
            continue
        want = moved_theta(s, scale * gradient[s], eps, preconditioned, key, before)
        np.testing.assert_allclose(strengths.theta[s], want, rtol=1e-10)
        assert strengths.value[s] == pytest.approx(want[1] / want.sum(), rel=1e-10)
    np.testing.assert_array_equal(strengths.expansion, before.expansion)


@pytest.mark.parametrize("y", [0, 1])
def test_pairs_from_all_over_the_network_move_the_strengths_by_the_equations(y):
    """(L11) Pairs with different first nodes, two of them the same; nothing may be left over from the pair before."""
    k, scale, eps, key = 5, 3.5, 0.03, iteration_key((5, 6), 2)
    dense, strengths = random_state(1, k, False)
    before = StrengthState(*(array.copy() for array in strengths))
    pairs = np.array([[2, 4], [3, 6], [3, 9], [0, 4]], dtype=np.int64)
    first, second = (np.ascontiguousarray(column) for column in pairs.T)
    frame = Frame(NO_LINKS, dense, strengths, dynamics(subset=k), key)
    update_strengths(
        PairBatch(y, first, second, scale, np.unique(pairs)), eps, 0.0, frame, new_work(k, NODES)
    )
    pi = memberships(dense)
    gradient = np.vstack(
        [
            reference.strength_gradient(y, pairs, pi, before.theta[:k], float(before.value[-1])),
            reference.background_gradient(y, pairs, pi, before.value[:k], before.theta[k])[None],
        ]
    )
    for s in range(k + 1):
        want = moved_theta(s, scale * gradient[s], eps, True, key, before)
        np.testing.assert_allclose(strengths.theta[s], want, rtol=1e-10)


@pytest.mark.parametrize(("count", "size"), [(1, 1), (4, 2), (5, 3), (5, 5)])
def test_every_subset_of_the_strengths_is_as_likely_as_any_other(count, size):
    """(L13) Chi-square over 4000 iterations, false alarm 1e-5 a case; a run of neighbours has only `count` values."""
    draws, seen = 4000, Counter()
    for t in range(draws):
        seen[tuple(subset_of(count, size, iteration_key((3, 9), t)))] += 1
    assert set(seen) == set(combinations(range(count), size))
    expected = draws / len(seen)
    statistic = sum((found - expected) ** 2 / expected for found in seen.values())
    assert statistic <= chi2.ppf(1 - 1e-5, max(len(seen) - 1, 1))


def moved_theta(s, gradient, eps, preconditioned, key, strengths):
    """Return (L5) or (L6) for one strength; the printed form in its parts, because it has no expansion."""
    theta, noise = strengths.theta[s], np.array(two_normals(DRAW_STRENGTHS, s, 0, key))
    if not preconditioned:
        gradient = gradient / theta
    prior, expansion = strengths.prior[s], strengths.expansion[s]
    return reference.preconditioned_step(theta, prior, gradient, eps, noise, expansion)


@pytest.mark.parametrize("y", [0, 1])
@pytest.mark.parametrize("run", [2, 4])
def test_blocks_move_by_the_equations_and_stay_symmetric(y, run):
    k, scale, eps, key = 4, 2.5, 0.03, iteration_key((5, 6), 3)
    dense, strengths = random_state(2, k, True)
    before = StrengthState(*(array.copy() for array in strengths))
    others = np.array([1, 6, 9], dtype=np.int64)
    pairs = np.stack([np.full(3, 2), others], axis=1)
    frame = Frame(NO_LINKS, dense, strengths, dynamics(subset=run), key)
    update_strengths(batch_of(2, y, others, scale), eps, 0.0, frame, new_work(k, NODES))
    square = before.theta.reshape(k, k, 2).copy()
    lower = np.tril_indices(k, -1)
    square[lower] = square.transpose(1, 0, 2)[lower]
    gradient = scale * reference.block_strength_gradient(y, pairs, memberships(dense), square)
    rows = subset_of(k, run, key)
    for i in range(k):
        for j in range(i, k):
            s = i * k + j
            if i in rows:
                want = moved_theta(s, gradient[i, j], eps, True, key, before)
                np.testing.assert_allclose(strengths.theta[s], want, rtol=1e-10)
                assert strengths.blocks[i, j] == pytest.approx(want[1] / want.sum(), rel=1e-10)
            else:
                assert strengths.blocks[i, j] == before.blocks[i, j]
    np.testing.assert_array_equal(strengths.blocks, strengths.blocks.T)


def test_the_expansion_adapts_to_the_pairs_in_warm_up():
    dense, strengths = random_state(3, 3, False)
    old = strengths.expansion.copy()
    others, pi = np.array([4, 6], dtype=np.int64), memberships(dense)
    value = strengths.value.copy()
    frame = Frame(NO_LINKS, dense, strengths, dynamics(subset=3), iteration_key((1, 1), 0))
    update_strengths(batch_of(2, 1, others, 10.0), 1e-6, 0.25, frame, new_work(3, NODES))
    inside = 10.0 * sum(
        reference.shared_posterior(1, pi[2], pi[b], value[:3], float(value[3])) for b in others
    )
    np.testing.assert_allclose(strengths.expansion[:3], 0.75 * old[:3] + 0.25 * inside, rtol=1e-6)


def test_a_row_that_underflows_becomes_even(batches):
    dense, strengths = random_state(6, 3, False)
    dense.phi[2] = 0.0
    dense.total[2] = 1e-30
    fresh = Dense(np.zeros((1, 3), dtype=np.float32), np.zeros(1))
    how = dynamics()._replace(alpha=np.full(NODES + 1, 1e-45))
    frame = Frame(batches.network, dense, strengths, how, iteration_key((1, 2), 0))
    update_nodes(0, 1, np.array([2], dtype=np.int64), 1e-6, frame, fresh, new_work(3, NODES))
    assert fresh.total[0] > 0
    np.testing.assert_allclose(fresh.phi[0] / fresh.total[0], 1 / 3, rtol=1e-6)


def test_the_schedule_of_the_kernels_is_the_reference():
    for t in (0.0, 5.0, 1e6):
        assert step_size(t, 0.3, 1024.0, 0.5) == pytest.approx(reference.step_size(t, 0.3, 1024.0, 0.5))
