"""The Langevin kernels move memberships and strengths as the reference equations say, on random states."""

import numpy as np
import pytest

from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out
from blockmix.model.reference import Globals
from blockmix.numerics.purposes import DRAW_MEMBERSHIPS, DRAW_NON_PARTNERS, DRAW_STRENGTHS
from blockmix.samplers.langevin.dynamics import (
    Dense,
    Dynamics,
    Links,
    first_of_run,
    local_step,
    new_work,
    step_size,
    two_normals,
)
from blockmix.samplers.minibatch import MiniBatches, iteration_key
from blockmix.samplers.sgmc import reference
from blockmix.samplers.sgmc.iterations import (
    put_in_place,
    update_nodes,
    update_strengths,
)
from blockmix.tables.minibatch import sample_neighbors, sample_non_neighbors

NODES = 14
# phi is stored in single precision.
SINGLE = 2e-6
ALPHA, ALPHA_UNLINKED = 0.3, 2.0


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
        return dense, Links(theta, expansion, prior, share.copy(), np.zeros((0, 0)))
    square = share.reshape(communities, communities)
    blocks = np.triu(square) + np.triu(square, 1).T
    return dense, Links(theta, expansion, prior, np.zeros(1), blocks)


def dynamics(preconditioned=True, expand=True, most=3, run=3, learn=True):
    return Dynamics(most, most, ALPHA, ALPHA_UNLINKED, preconditioned, expand, run, learn)


def memberships(dense):
    return dense.phi.astype(np.float64) / dense.total[:, None]


def sampled_gradient(a, batches, key, most, one_kind):
    """(L3) with the partners the kernel samples: one_kind(y, partners) summed with their weights."""
    out, total = np.zeros(NODES + 1, dtype=np.int64), 0.0
    count, weight = sample_neighbors(a, most, batches.network, key, out)
    total = total + weight * one_kind(1, out[:count].copy())
    count, weight = sample_non_neighbors(a, most, DRAW_NON_PARTNERS, batches.network, key, out)
    return total + weight * one_kind(0, out[:count].copy())


@pytest.mark.parametrize("communities", [1, 2, 5, 8])
@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize(("preconditioned", "expand"), [(True, True), (True, False), (False, False)])
@pytest.mark.parametrize("most", [3, 100])
def test_nodes_move_as_the_equations_say(batches, communities, general, preconditioned, expand, most):
    dense, links = random_state(communities, communities, general)
    how, key, eps = dynamics(preconditioned, expand, most), iteration_key((1, 2), 9), 0.02
    nodes = np.array([3, 0, 7, NODES], dtype=np.int64)
    fresh = Dense(np.zeros((4, communities), dtype=np.float32), np.zeros(4))
    work = new_work(communities, NODES)
    update_nodes(0, 4, nodes, eps, batches.network, dense, fresh, links, how, key, work)
    pi, degrees = memberships(dense), np.diff(batches.network.offsets)
    assert degrees[nodes].min() == 0 < degrees[nodes].max()
    for i, a in enumerate(nodes):

        def one_kind(y, partners, a=a):
            if general:
                return reference.block_membership_gradient(a, y, partners, pi, links.blocks)
            g = Globals(links.value[:-1], float(links.value[-1]), ALPHA)
            return reference.membership_gradient(a, y, partners, pi, g)

        gradient = sampled_gradient(a, batches, key, most, one_kind)
        noise = np.array(
            [n for block in range(communities) for n in two_normals(DRAW_MEMBERSHIPS, a, block, key)]
        )
        phi = dense.phi[a].astype(np.float64)
        expansion = float(degrees[a]) if expand else 0.0
        alpha = ALPHA if degrees[a] else ALPHA_UNLINKED
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
def test_strengths_and_background_move_as_the_equations_say(y, preconditioned, run):
    k, scale, eps, key = 5, 3.5, 0.03, iteration_key((5, 6), 2)
    dense, links = random_state(1, k, False)
    before = Links(*(array.copy() for array in links))
    others, pi = np.array([4, 6, 9], dtype=np.int64), memberships(dense)
    pairs = np.stack([np.full(3, 2), others], axis=1)
    how = dynamics(preconditioned, run=run)
    update_strengths(2, y, others, 3, scale, eps, 0.0, how, key, dense, links, new_work(k, NODES))
    background = float(before.value[-1])
    gradient = np.vstack(
        [
            reference.strength_gradient(y, pairs, pi, before.theta[:k], background),
            reference.background_gradient(y, pairs, pi, before.value[:k], before.theta[k])[None],
        ]
    )
    moving = [(first_of_run(k, key) + i) % k for i in range(run)] + [k]
    for s in range(k + 1):
        if s not in moving:
            np.testing.assert_array_equal(links.theta[s], before.theta[s])
            continue
        want = moved_theta(s, scale * gradient[s], eps, preconditioned, key, before)
        np.testing.assert_allclose(links.theta[s], want, rtol=1e-10)
        assert links.value[s] == pytest.approx(want[1] / want.sum(), rel=1e-10)
    np.testing.assert_array_equal(links.expansion, before.expansion)


def moved_theta(s, gradient, eps, preconditioned, key, links):
    """(L5) or (L6) for one strength; the printed form in its parts, for it has no expansion."""
    theta, noise = links.theta[s], np.array(two_normals(DRAW_STRENGTHS, s, 0, key))
    if not preconditioned:
        gradient = gradient / theta
    return reference.preconditioned_step(theta, links.prior[s], gradient, eps, noise, links.expansion[s])


@pytest.mark.parametrize("y", [0, 1])
@pytest.mark.parametrize("run", [2, 4])
def test_blocks_move_as_the_equations_say_and_stay_symmetric(y, run):
    k, scale, eps, key = 4, 2.5, 0.03, iteration_key((5, 6), 3)
    dense, links = random_state(2, k, True)
    before = Links(*(array.copy() for array in links))
    others = np.array([1, 6, 9], dtype=np.int64)
    pairs = np.stack([np.full(3, 2), others], axis=1)
    update_strengths(
        2, y, others, 3, scale, eps, 0.0, dynamics(run=run), key, dense, links, new_work(k, NODES)
    )
    square = before.theta.reshape(k, k, 2).copy()
    lower = np.tril_indices(k, -1)
    square[lower] = square.transpose(1, 0, 2)[lower]
    gradient = scale * reference.block_strength_gradient(y, pairs, memberships(dense), square)
    rows = [(first_of_run(k, key) + i) % k for i in range(run)]
    for i in range(k):
        for j in range(i, k):
            s = i * k + j
            if i in rows:
                want = moved_theta(s, gradient[i, j], eps, True, key, before)
                np.testing.assert_allclose(links.theta[s], want, rtol=1e-10)
                assert links.blocks[i, j] == pytest.approx(want[1] / want.sum(), rel=1e-10)
            else:
                assert links.blocks[i, j] == before.blocks[i, j]
    np.testing.assert_array_equal(links.blocks, links.blocks.T)


def test_the_expansion_follows_the_pairs_in_warm_up():
    dense, links = random_state(3, 3, False)
    old = links.expansion.copy()
    others, pi = np.array([4, 6], dtype=np.int64), memberships(dense)
    value = links.value.copy()
    update_strengths(
        2, 1, others, 2, 10.0, 1e-6, 0.25, dynamics(run=3), iteration_key((1, 1), 0), dense, links,
        new_work(3, NODES),
    )  # fmt: skip
    inside = 10.0 * sum(
        reference.shared_posterior(1, pi[2], pi[b], value[:3], float(value[3])) for b in others
    )
    np.testing.assert_allclose(links.expansion[:3], 0.75 * old[:3] + 0.25 * inside, rtol=1e-6)


def test_a_row_that_underflows_goes_on(batches):
    dense, links = random_state(6, 3, False)
    dense.phi[2] = 0.0
    dense.total[2] = 1e-30
    fresh = Dense(np.zeros((1, 3), dtype=np.float32), np.zeros(1))
    how = dynamics()._replace(alpha=1e-45)
    nodes, key = np.array([2], dtype=np.int64), iteration_key((1, 2), 0)
    update_nodes(0, 1, nodes, 1e-6, batches.network, dense, fresh, links, how, key, new_work(3, NODES))
    assert fresh.total[0] > 0
    np.testing.assert_allclose(fresh.phi[0] / fresh.total[0], 1 / 3, rtol=1e-6)


def test_the_schedule_of_the_kernels_is_the_reference():
    for t in (0.0, 5.0, 1e6):
        assert step_size(t, 0.3, 1024.0, 0.5) == pytest.approx(reference.step_size(t, 0.3, 1024.0, 0.5))
