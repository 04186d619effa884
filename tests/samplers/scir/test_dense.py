"""The dense form of the diffusion: the same equations, on rows that hold every community.

False alarms: p-values are compared with 1e-3 over their number. Seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats

from blockmix.model.reference import links_of, non_links_of
from blockmix.numerics.compile import from_python
from blockmix.samplers.scir.diffusion import dense
from blockmix.samplers.scir.diffusion.non_links import correct_non_links, mean_exposure, non_link_exposure
from blockmix.samplers.scir.diffusion.sparse import update_range
from blockmix.samplers.scir.frame import Batch, new_scratch
from blockmix.samplers.scir.reference import diffusion as reference
from blockmix.samplers.scir.rows import leave_out_hidden
from blockmix.samplers.starts.memberships import dense_rows
from blockmix.tables.layout import FIXED_POINT, empty_rows

leave_out_hidden = from_python(leave_out_hidden)
load_dense_row, read_dense_links = map(from_python, (dense.load_dense_row, dense.read_dense_links))

SEEDS = range(3)
ROUNDING, SINGLE_PRECISION = 1e-10, 1e-6
DRAWS = 4000
SMALLEST_P = 1e-3 / 18


@pytest.fixture
def dense_case(kernel_case):
    def build(seed, **options):
        case = kernel_case(seed, **options)
        communities = len(case.g.beta)
        case.sparse = case.rows
        case.rows = dense_rows(case.rows, communities)
        return case

    return build


def update(case, settings, work):
    fresh = empty_rows(*case.pi.shape)
    dense.update_dense_range(0, len(case.pi), Batch(0, 1), case.frame(settings=settings), fresh, work)
    return fresh, work.statistics, work.sums


def test_dense_rows_hold_the_same_memberships(dense_case):
    case = dense_case(0, slots=4)
    np.testing.assert_array_equal(case.rows.weights[:, 1::2], case.pi.astype(np.float32))
    np.testing.assert_array_equal(case.rows.words[:, ::2], np.tile(np.arange(6), (12, 1)))
    np.testing.assert_array_equal(case.rows.total, case.sparse.total)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("non_links", [0, 10**6])
def test_counts_and_exposures_are_those_of_the_sparse_form_and_the_reference(dense_case, seed, non_links):
    case = dense_case(seed)
    frame = case.frame(settings=case.settings._replace(non_links=non_links))
    equation = reference.non_link_exact if non_links else reference.non_link_resummed
    s = case.scratch
    for a in range(len(case.pi)):
        load_dense_row(a, case.rows, s)
        gain = read_dense_links(case.node(a), frame, s)
        leave_out_hidden(case.node(a), frame, s)
        non_link_exposure(6, 6, frame, not non_links, s)
        if non_links:
            correct_non_links(case.node(a), frame, s)
        d = case.g.beta - case.g.delta
        arguments = (a, case.pi, case.adjacency, case.observed, case.g)
        counts = case.pi[a] * (gain + d * s.gain[:6])
        np.testing.assert_allclose(counts, reference.link_shape(*arguments), atol=ROUNDING)
        mean = mean_exposure(6, case.strengths, s)
        found = case.pi[a] * (mean - d * s.exposure[:6])
        np.testing.assert_allclose(found, equation(*arguments), atol=SINGLE_PRECISION)


@pytest.mark.parametrize("seed", SEEDS)
def test_both_forms_gather_the_same_statistics(dense_case, new_work, seed):
    case = dense_case(seed)
    fresh, statistics, sums = update(case, case.settings, new_work(case.scratch))
    other = new_work(new_scratch(6, 6, 12))
    update_range(0, 12, Batch(0, 1), case.frame(rows=case.sparse), empty_rows(12, 6), other)
    np.testing.assert_allclose(statistics[:, 2:], other.statistics[:, 2:], atol=12)
    assert sums[0] == pytest.approx(other.sums[0], abs=12)
    new = fresh.weights[:, 1::2].astype(np.float64)
    changed = (new.sum(axis=0) - case.members[:, 0]) * FIXED_POINT
    np.testing.assert_allclose(statistics[:, 0], changed, atol=24)


@pytest.mark.parametrize("a", [2, 7])
def test_a_step_has_the_mean_of_the_references_drift(dense_case, new_work, a):
    """phi after a step: mean phi e^(-bh/2) + A/b (1 - e^(-bh/2)); births are draws from zero."""
    case = dense_case(1)
    settings = case.settings._replace(non_links=10**6)
    phi = case.pi * case.total[:, None]
    drawn, work = np.empty((DRAWS, 6)), new_work(case.scratch)
    for sweep in range(DRAWS):
        fresh, key = empty_rows(1, 6), case.key._replace(sweep=np.uint32(sweep))
        frame = case.frame(settings=settings, key=key)
        dense.update_dense_node(case.node(a), 0, frame, fresh, work)
        drawn[sweep] = fresh.weights[0, 1::2].astype(np.float64) * fresh.total[0]
    arguments = (a, case.pi, case.adjacency, case.observed, case.g)
    net = reference.non_link_exact(*arguments)
    # exact non-links as pi_k (X - x_k), which also gives the rate of a community at zero
    rows = case.pi[non_links_of(a, case.adjacency, case.observed)]
    weights = 1.0 / (1.0 - case.g.delta - rows @ ((case.g.beta - case.g.delta) * case.pi[a]))
    x = (case.g.beta - case.g.delta) * (rows * weights[:, None]).sum(axis=0)
    np.testing.assert_allclose(case.pi[a] * (x @ case.pi[a] - x), net, atol=SINGLE_PRECISION)
    shape = case.g.alpha + reference.link_shape(*arguments) + np.maximum(net, 0)
    rate = 1.0 + np.maximum(x - x @ case.pi[a], 0) / case.total[a]
    mean, variance = reference.cir_moments(phi[a], shape, rate, settings.step)
    error = np.abs(drawn.mean(axis=0) - mean) / np.sqrt(variance / DRAWS)
    assert (2 * stats.norm.sf(error) > SMALLEST_P).all()
    wrong, _ = reference.cir_moments(phi[a], 1.1 * shape, rate, settings.step)
    error = np.abs(drawn.mean(axis=0) - wrong) / np.sqrt(variance / DRAWS)
    assert (2 * stats.norm.sf(error) < SMALLEST_P).any()


def test_in_warm_up_a_neighbours_community_stands_at_the_prior(dense_case):
    case = dense_case(0, most=2, below=False)
    frame, s = case.frame(settings=case.settings._replace(pull=True, cut=0.1)), case.scratch
    raised = 0
    for a in range(12):
        load_dense_row(a, case.rows, s)
        read_dense_links(case.node(a), frame, s)
        least = case.g.alpha / case.total[a]
        near = case.pi[links_of(a, case.adjacency, case.observed)]
        pulled = (near > 0.1).any(axis=0) & (case.pi[a] < least)
        np.testing.assert_allclose(s.tilt[:6], np.where(pulled, least, case.pi[a]), rtol=1e-6)
        np.testing.assert_array_equal(s.pi[:6], case.pi[a])
        raised += pulled.sum()
    assert raised > 0


@pytest.mark.parametrize("pull", [False, True])
def test_an_update_reads_nothing_it_has_not_written(dense_case, new_work, poisoned, pull):
    case = dense_case(1)
    settings = case.settings._replace(pull=pull, non_links=3)
    clean = update(case, settings, new_work(new_scratch(6, 6, 12)))
    other = update(case, settings, new_work(poisoned(new_scratch(6, 6, 12))))
    for first, second in zip(clean[0] + clean[1:], other[0] + other[1:], strict=True):
        np.testing.assert_array_equal(first.view(np.int32), second.view(np.int32))
    assert np.isfinite(clean[0].weights[:, 1::2]).all()


def test_a_node_all_of_whose_draws_underflow_keeps_its_memberships(dense_case, new_work):
    case = dense_case(2, link=0.0, alpha=1e-9)
    case.strengths.value[:] = case.g.delta
    case.rows.total[:] = 1e-12
    fresh, _, _ = update(case, case.settings._replace(step=200.0), new_work(case.scratch))
    np.testing.assert_allclose(fresh.weights[:, 1::2], case.pi, rtol=1e-6)
    assert (fresh.total > 0).all()
