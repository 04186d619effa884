"""The diffusion's local step, piece by piece: each equals its equation in the reference, or has its law.

False alarms: p-values of the statistical tests of this file are compared with 1e-3 over their number, so the
file alarms for one seed in 1000. Seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import exp1

from blockmix.model.reference import links_of, non_links_of
from blockmix.numerics.cir import cir_scale
from blockmix.numerics.compile import from_python
from blockmix.samplers.scir.diffusion.births import birth_survives, draw_births
from blockmix.samplers.scir.diffusion.drift import Pull, split_drift
from blockmix.samplers.scir.diffusion.links import NeighborSample, read_links, sampled_neighbor
from blockmix.samplers.scir.diffusion.non_links import (
    correct_non_links,
    is_non_link,
    mean_exposure,
    non_link_exposure,
)
from blockmix.samplers.scir.diffusion.sparse import update_range
from blockmix.samplers.scir.diffusion.strengths import PairCounts, collect_pairs
from blockmix.samplers.scir.frame import (
    EXPOSURE,
    LINKS_INSIDE,
    MEMBERS,
    STATISTICS,
    Batch,
    NodePriors,
    new_scratch,
    node_at,
)
from blockmix.samplers.scir.local_lists import keep_largest
from blockmix.samplers.scir.reference import diffusion as reference
from blockmix.samplers.scir.rows import (
    add_local,
    gather_statistics,
    leave_out_hidden,
    load_row,
    write_row,
)
from blockmix.tables.layout import FIXED_POINT, Network, Strengths, empty_rows

# Kernels that others are compiled into cannot be called from Python as they are.
add_local, gather_statistics, keep_largest, leave_out_hidden, load_row, node_at, write_row = map(
    from_python, (add_local, gather_statistics, keep_largest, leave_out_hidden, load_row, node_at, write_row)
)
sampled_neighbor, split_drift = map(from_python, (sampled_neighbor, split_drift))

SEEDS = range(4)
# Memberships are float32 on both sides, sums float64: what is left is the order of additions.
ROUNDING = 1e-10
# The weights of a row sum to one within a unit of float32, which the reference assumes exactly.
SINGLE_PRECISION = 1e-6
COMPARISONS = 8
SMALLEST_P = 1e-3 / COMPARISONS


def read(case, a, non_links=0, resum=True):
    """The steps of `update_node` up to the drift; returns the local count and W."""
    node, frame = case.node(a), case.frame(settings=case.settings._replace(non_links=non_links))
    own = load_row(case.rows, a, case.scratch)
    count, gain = read_links(node, own, frame, case.scratch)
    assert count == own
    leave_out_hidden(node, frame, case.scratch)
    non_link_exposure(count, own, frame, resum and not non_links, case.scratch)
    if non_links:
        correct_non_links(node, frame, case.scratch)
    return own, gain


def forget(case, count):
    case.scratch.position[case.scratch.community[:count]] = -1


def spread(case, count, values):
    """Local values as a vector over all communities."""
    out = np.zeros(len(case.g.beta))
    out[case.scratch.community[:count]] = values[:count]
    return out


def reference_arguments(case, a):
    return a, case.pi, case.adjacency, case.observed, case.g


@pytest.mark.parametrize("seed", SEEDS)
def test_link_counts_are_those_of_the_reference(kernel_case, seed):
    case = kernel_case(seed)
    for a in range(len(case.pi)):
        own, gain = read(case, a)
        s = case.scratch
        d = case.g.beta[s.community[:own]] - case.g.delta
        counts = spread(case, own, s.pi[:own] * (gain + d * s.gain[:own]))
        expected = reference.link_shape(*reference_arguments(case, a))
        np.testing.assert_allclose(counts, expected, atol=ROUNDING)
        forget(case, own)


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbours_and_held_out_partners_are_summed_to_be_left_out(kernel_case, seed):
    case = kernel_case(seed)
    for a in range(len(case.pi)):
        own, _ = read(case, a)
        others = ~case.observed[a] | (case.adjacency[a] == 1)
        others[a] = False
        mine = case.pi[a] > 0
        near = spread(case, own, case.scratch.near)
        squared = spread(case, own, case.scratch.near_squared)
        np.testing.assert_allclose(near, case.pi[others].sum(axis=0) * mine, atol=ROUNDING)
        np.testing.assert_allclose(squared, (case.pi[others] ** 2).sum(axis=0) * mine, atol=ROUNDING)
        forget(case, own)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("resum", "non_links", "equation", "tolerance"),
    [
        (False, 0, reference.non_link_first_order, ROUNDING),
        (True, 0, reference.non_link_resummed, ROUNDING),
        (False, 10**6, reference.non_link_exact, SINGLE_PRECISION),
    ],
)
def test_non_links_are_those_of_the_reference(kernel_case, seed, resum, non_links, equation, tolerance):
    """(S3), (S5), and the exact sum where the correction visits every non-link."""
    case = kernel_case(seed)
    for a in range(len(case.pi)):
        own, _ = read(case, a, non_links, resum)
        s = case.scratch
        x = spread(case, own, (case.g.beta[s.community[:own]] - case.g.delta) * s.exposure[:own])
        mean = mean_exposure(own, case.strengths, s)
        assert mean == pytest.approx(x @ case.pi[a], abs=ROUNDING)
        expected = equation(*reference_arguments(case, a))
        np.testing.assert_allclose(case.pi[a] * (mean - x), expected, atol=tolerance)
        forget(case, own)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_split_drift_without_noise_is_the_drift_of_the_reference(kernel_case, seed):
    """(S1), (S2): A - b phi with all neighbours and all non-links read; a drift 10% off is far outside."""
    case = kernel_case(seed)
    phi = case.pi * case.total[:, None]
    for a in range(len(case.pi)):
        own, gain = read(case, a, non_links=10**6)
        s = case.scratch
        mean = mean_exposure(own, case.strengths, s)
        for at in range(own):
            pull = Pull(gain, mean, case.total[a])
            shape, rate = split_drift(at, pull, case.g.alpha, case.frame(), s)
            assert shape >= case.g.alpha
            assert rate >= 1.0
            k = s.community[at]
            drift = shape - rate * phi[a, k]
            expected = reference.local_drift(a, phi, case.adjacency, case.observed, case.g)[k]
            # the reference divides by the sum of the weights, which is one within float32
            assert drift == pytest.approx(expected, abs=10 * SINGLE_PRECISION)
            assert abs(0.9 * drift - expected) > 10 * SINGLE_PRECISION
        forget(case, own)


def test_every_neighbour_of_a_systematic_sample_is_read_equally_often():
    """Enumeration: the sample changes only where the offset passes a multiple of 1/n_1."""
    for degree in (5, 7, 16, 33, 100):
        for reads in (1, 2, 3, 5, 16):
            if reads >= degree:
                continue
            weight = degree / reads
            hits = np.zeros(degree, dtype=int)
            for cell in range(degree):
                sample = NeighborSample(reads, weight, (cell + 0.5) / reads)
                places = [sampled_neighbor(i, sample, degree) for i in range(reads)]
                assert len(set(places)) == reads
                hits[places] += 1
            np.testing.assert_array_equal(hits, reads)
    # an offset that rounding carries to its very end stays inside the list
    assert sampled_neighbor(2, NeighborSample(3, 7 / 3, 7 / 3), 7) == 6


def test_a_sample_of_neighbours_estimates_all_of_them_without_bias(kernel_case):
    case = kernel_case(3, nodes=20, link=0.8, hide=0.0)
    own, gain = read(case, 0)
    every = np.append(case.scratch.gain[:own], gain)
    forget(case, own)
    found = []
    case.settings = case.settings._replace(neighbors=4)
    for sweep in range(3000):
        case.key = case.key._replace(sweep=np.uint32(sweep))
        own, gain = read(case, 0)
        found.append(np.append(case.scratch.gain[:own], gain))
        forget(case, own)
    found = np.array(found)
    error = (found.mean(axis=0) - every) / (found.std(axis=0) / np.sqrt(len(found)))
    assert 2 * stats.norm.sf(np.abs(error).max()) * len(error) > SMALLEST_P
    assert found.std(axis=0).max() > 0.1


def test_a_sample_of_non_links_estimates_all_of_them_without_bias(kernel_case):
    case = kernel_case(2, nodes=20, link=0.2)
    a = 1
    own, _ = read(case, a, non_links=10**6)
    every = case.scratch.exposure[:own].copy()
    forget(case, own)
    found = []
    for sweep in range(4000):
        case.key = case.key._replace(sweep=np.uint32(sweep))
        own, _ = read(case, a, non_links=2)
        found.append(case.scratch.exposure[:own].copy())
        forget(case, own)
    found = np.array(found)
    error = (found.mean(axis=0) - every) / (found.std(axis=0) / np.sqrt(len(found)))
    assert 2 * stats.norm.sf(np.abs(error).max()) * len(error) > SMALLEST_P


def test_a_non_link_is_neither_linked_nor_held_out_nor_a_node_with_itself(kernel_case):
    case = kernel_case(0)
    for a in range(12):
        for b in range(12):
            expected = bool(case.observed[a, b] and case.adjacency[a, b] == 0)
            assert is_non_link(a, b, case.network) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_inside_communities_are_counted_as_in_the_reference(kernel_case, seed):
    """(S6): links and non-links inside every community, what is left being the background's."""
    case = kernel_case(seed)
    communities = len(case.g.beta)
    statistics = np.zeros((1, communities, STATISTICS), dtype=np.int64)
    inside = 0.0
    for a in range(len(case.pi)):
        own, _ = read(case, a, non_links=10**6)
        inside += gather_statistics(own, case.strengths, case.scratch, statistics[0])
        forget(case, own)
    counts = PairCounts(np.zeros(communities), np.zeros(communities))
    np.testing.assert_allclose(
        statistics[0, :, :2] / FIXED_POINT, -case.members, atol=2 * len(case.pi) / FIXED_POINT
    )
    collect_pairs(statistics, case.strengths.value, counts)
    expected = reference.pair_counts(case.pi, case.adjacency, case.observed, case.g)
    np.testing.assert_allclose(counts.links, expected.links, atol=SINGLE_PRECISION)
    np.testing.assert_allclose(counts.non_links, expected.non_links, atol=SINGLE_PRECISION)
    assert inside == pytest.approx(expected.links.sum(), abs=SINGLE_PRECISION)
    assert not statistics[0, :, [LINKS_INSIDE, EXPOSURE]].any()


def birth_case(case, nodes, communities, strength, members, alpha, smallest):
    """A network without links, where every community has so many members; the frame and work space of a node."""
    none, empty = np.zeros(nodes + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    value = np.append(np.full(communities, strength), 0.05)
    frame = case.frame(
        network=Network(none, empty, none, empty),
        names=np.arange(nodes, dtype=np.uint32),
        rows=empty_rows(nodes, 2),
        members=np.full((communities, 2), members),
        strengths=Strengths(value, value.copy(), value.copy()),
        priors=NodePriors(np.full(2, alpha), np.full(2, smallest)),
    )
    return frame, new_scratch(communities, 4, 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_birth_survives_as_its_exposure_to_non_links_says(kernel_case, seed):
    """The shortcut that looks neighbours up only where it must gives the answer of looking them up always."""
    case = kernel_case(seed, most=2, nodes=15)
    decisions = []
    for a, k, u, size, mean in np.random.default_rng(seed).random((400, 5)):
        a, k, size, mean, step = int(15 * a), int(6 * k), 9 * size, mean, case.settings.step
        rest = case.pi[non_links_of(a, case.adjacency, case.observed), k].sum() + case.pi[a, k]
        loss = (case.g.beta[k] - case.g.delta) * rest / (1 - case.g.delta) - mean
        larger = cir_scale(1 + max(loss, 0.0) / case.total[a], step) - cir_scale(1.0, step)
        found = birth_survives(case.node(a), k, size, u, Pull(0.0, mean, case.total[a]), case.frame())
        assert found == (u <= np.exp(-larger * size))
        decisions.append(found)
    assert 0.1 < np.mean(decisions) < 0.95


@pytest.mark.parametrize("loss", [False, True])
def test_births_have_the_number_and_the_sizes_of_a_gamma_process(kernel_case, loss):
    """(P2): Poisson(K alpha E1(eps c)) of density e^(-cx)/x above eps, c larger where non-links object."""
    communities, alpha, step, smallest, total = 4000, 0.0005, 0.5, 0.01, 3.0
    strength = 0.5 if loss else 0.05
    frame, scratch = birth_case(kernel_case(0), 4000, communities, strength, 20.0, alpha, smallest)
    assert frame.settings.step == step
    rate = 1.0 + (0.45 * 20.0 / 0.95 / total if loss else 0.0)
    scale = cir_scale(rate, step)
    numbers, sizes = [], []
    for a in range(4000):
        count = draw_births(node_at(a, frame), 0, Pull(0.0, 0.0, total), frame, scratch)
        numbers.append(count)
        sizes.extend(scratch.phi[:count])
        scratch.position[scratch.community[:count]] = -1
    expected = communities * alpha * exp1(smallest * scale)
    # two births on one community are one entry: one in 4000 of them
    assert (
        abs(np.mean(numbers) - expected)
        < stats.norm.isf(SMALLEST_P / 2) * np.sqrt(expected / len(numbers)) + expected / communities
    )
    sizes = np.array(sizes)
    assert sizes.min() >= smallest
    p = stats.kstest(sizes, lambda x: 1 - exp1(x * scale) / exp1(smallest * scale)).pvalue
    assert p > SMALLEST_P


def test_births_on_one_community_add_up_to_its_gamma_draw(kernel_case):
    """With no smallest size to speak of, the jumps of one community are a Gamma(alpha)/c variable."""
    frame, scratch = birth_case(kernel_case(0), 4000, 1, 0.05, 0.0, 0.7, 1e-9)
    sizes = np.zeros(4000)
    for a in range(len(sizes)):
        count = draw_births(node_at(a, frame), 0, Pull(0.0, 0.0, 3.0), frame, scratch)
        sizes[a] = scratch.phi[0] if count else 0.0
        scratch.position[0] = -1
    p = stats.kstest(sizes, stats.gamma(0.7, scale=1 / cir_scale(1.0, 0.5)).cdf).pvalue
    assert p > SMALLEST_P


def test_births_do_not_fall_on_communities_the_node_is_in(kernel_case):
    frame, scratch = birth_case(kernel_case(0), 50, 2, 0.05, 0.0, 3.0, 1e-3)
    for a in range(50):
        add_local(1, 2.5, 0.5, 0, scratch)
        count = draw_births(node_at(a, frame), 1, Pull(0.0, 0.0, 3.0), frame, scratch)
        assert scratch.phi[0] == 2.5
        assert list(scratch.community[1:count]) in ([], [0])
        scratch.position[:] = -1


@pytest.mark.parametrize(
    ("phi", "slots", "kept", "dropped"),
    [
        ([0.5, 0.001, 2.0, 0.3], 4, [0.5, 2.0, 0.3], 0.001),
        ([0.5, 0.001, 2.0, 0.3, 1.0], 2, [1.0, 2.0], 0.801),
        ([0.001, 0.002, 0.0015], 4, [0.01], 0.0025),
        ([0.0, 0.0], 2, [0.01], 0.0),
        ([3.0], 1, [3.0], 0.0),
        ([1.0, 2.0, 3.0], 1, [3.0], 3.0),
    ],
)
def test_the_largest_components_stay_and_the_dropped_mass_is_told(phi, slots, kept, dropped):
    """(P3), (E6): never empty, never more than the slots, never below the smallest."""
    scratch = new_scratch(10, slots, 4)
    for at, size in enumerate(phi):
        add_local(9 - at, size, 0.0, at, scratch)
    count, lost = keep_largest(len(phi), slots, 0.01, scratch)
    np.testing.assert_allclose(np.sort(scratch.phi[:count]), np.sort(kept))
    assert lost == pytest.approx(dropped)
    assert (scratch.position == -1).all()
    for at in range(count):
        original = 9 - scratch.community[at]
        assert scratch.phi[at] == max(phi[original], 0.01)


@pytest.mark.parametrize("kept", [1, 3, 4])
def test_a_written_row_sums_to_one_and_ends_where_it_says(kept, poisoned):
    scratch = poisoned(new_scratch(8, 4, 4))
    phi = np.array([0.3, 2.0, 1.0, 5.0])[:kept]
    scratch.phi[:kept], scratch.community[:kept] = phi, np.arange(kept) * 2
    fresh = empty_rows(2, 4)
    fresh.weights[:] = np.nan
    statistics = np.zeros((8, STATISTICS), dtype=np.int64)
    write_row(kept, 1, fresh, scratch, statistics)
    np.testing.assert_array_equal(fresh.words[1, : 2 * kept : 2], np.arange(kept) * 2)
    if kept < 4:
        assert fresh.words[1, 2 * kept] == -1
    weights = fresh.weights[1, 1 : 2 * kept : 2].astype(np.float64)
    np.testing.assert_allclose(weights, phi / phi.sum(), rtol=1e-6)
    assert fresh.total[1] == pytest.approx(phi.sum(), rel=1e-6)
    np.testing.assert_array_equal(
        statistics[: 2 * kept : 2, MEMBERS], (weights * FIXED_POINT).astype(np.int64)
    )


@pytest.mark.parametrize("pull", [False, True])
def test_an_update_reads_nothing_it_has_not_written(kernel_case, new_work, poisoned, pull):
    """The same bits from work space full of NaN and of zeros, and nothing that is not a membership."""
    case = kernel_case(1, slots=4)
    settings = case.settings._replace(pull=pull, non_links=3)
    results = []
    for scratch in (new_scratch(6, 4, 12), poisoned(new_scratch(6, 4, 12))):
        work, fresh = new_work(scratch), empty_rows(12, 4)
        update_range(0, 12, Batch(0, 1), case.frame(settings=settings), fresh, work)
        assert (scratch.position == -1).all()
        results.append((fresh.words, fresh.total, work.statistics, work.sums))
        weights = np.where(np.cumprod(fresh.words[:, ::2] >= 0, axis=1), fresh.weights[:, 1::2], 0.0)
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=SINGLE_PRECISION)
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)


def test_in_warm_up_an_unexplained_link_draws_its_neighbours_community_in(kernel_case):
    """(P1): without the pull a node sees its own communities only, with it its neighbours' as well."""
    case = kernel_case(0, communities=6, most=2, below=False)
    wider = 0
    for a in range(12):
        own = load_row(case.rows, a, case.scratch)
        frame = case.frame(settings=case.settings._replace(pull=True))
        count, _ = read_links(case.node(a), own, frame, case.scratch)
        near = case.pi[links_of(a, case.adjacency, case.observed)]
        known = set(np.flatnonzero(case.pi[a])) | set(np.flatnonzero((near > 0).any(axis=0)))
        assert set(case.scratch.community[:count]) == known
        np.testing.assert_allclose(case.scratch.pi[own:count], case.g.alpha / case.total[a], rtol=1e-6)
        wider += count - own
        forget(case, count)
    assert wider > 0
