"""The move of a node is reversible, as its Metropolis-Hastings test needs: as many go from one row to another as back.

A chain whose moves leave the posterior as it is can still have flows that run round: one that always passes over the
links in the same order has them, and then the test (G4) is that of another proposal. No comparison of moments sees so
small an error, and a reference that has it too agrees.
"""

import numpy as np
import pytest
from scipy import stats

from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.reference.kernels import dense_memberships
from blockmix.samplers.scir.sampler import Scir
from blockmix.tables.layout import Strengths, empty_rows

# The centre of a star and its leaves, whose memberships overlap from one to the next: the order of the links matters.
STAR = [(0, leaf) for leaf in range(1, 5)]
LEAVES = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
ALPHA, STRENGTH, BACKGROUND = 0.3, 0.95, 0.05
COPIES, SWEEPS = 100, 5000
# Two-sided, for three pairs of communities and both forms. A pass that is always made forwards has |z| of 6 to 9.
FALSE_ALARM = 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
def test_as_many_rows_go_one_way_as_the_other(tiny, exact):
    """E[x_k(t) x_l(t + 1)] = E[x_l(t) x_k(t + 1)] for the centres of many stars, whose leaves stay as they are."""
    data = tiny.copies_of(STAR, 5, COPIES)
    rows = empty_rows(5 * COPIES, 16)
    first = np.vstack([np.full((1, 3), 1 / 3), LEAVES])
    rows.words[:, :6:2] = np.arange(3)
    rows.words[:, 6] = -1
    rows.weights[:, 1:7:2] = np.tile(first, (COPIES, 1))
    rows.total[:] = 3.0
    value = np.append(np.full(3, STRENGTH), BACKGROUND)
    with Workers(1) as workers:
        model = Model(3, alpha=ALPHA, background=BACKGROUND)
        sampler = Scir(data, model, ScirOptions(batches=5, exact=exact), workers)
        state = sampler.start_at(rows, Strengths(value, np.ones(4), np.ones(4)))
        before, flows = np.zeros((COPIES, 3)), np.zeros((COPIES, 3, 3))
        for sweep in range(20 + SWEEPS):
            now = sampler.problem.sweep(sweep, (1, 2), False)
            if not sweep:
                sampler.kernels.begin(state, now)
            # Batch 0 has the centres and no leaf.
            sampler.kernels.redraw(0, state, now)
            after = dense_memberships(state.rows, 3)[::5]
            if sweep >= 20:
                flows += before[:, :, None] * after[:, None, :]
            before = after
    np.testing.assert_array_equal(dense_memberships(state.rows, 3)[1:5], LEAVES.astype(np.float32))
    net = (flows - flows.transpose(0, 2, 1))[:, [0, 0, 1], [1, 2, 2]] / SWEEPS
    error = net.std(axis=0, ddof=1) / np.sqrt(COPIES)
    assert (np.abs(net.mean(axis=0)) < error * stats.t.isf(FALSE_ALARM / 12, COPIES - 1)).all()
    assert (error < 6e-4).all()
