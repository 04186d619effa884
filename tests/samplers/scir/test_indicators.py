"""The link indicators: drawn from (M2), and again from the law with memberships integrated out.

False alarms: p-values are compared with 1e-3 over their number, so the file alarms for one seed in 1000.
Seeds are fixed.
"""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from blockmix.model.reference import indicator_posterior, links_of, non_links_of, pair_likelihood
from blockmix.numerics.compile import from_python
from blockmix.samplers.scir.constants import LEAST_LISTED
from blockmix.samplers.scir.exposure import resummed_exposure
from blockmix.samplers.scir.frame import STATISTICS, Batch, new_scratch
from blockmix.samplers.scir.indicators.links import draw_links, draw_links_again, draw_uniforms
from blockmix.samplers.scir.indicators.near import list_neighbors, read_neighbors
from blockmix.samplers.scir.indicators.redraw import redraw_range
from blockmix.samplers.scir.indicators.tilts import (
    add_outsider,
    closed_gain,
    log_of_non_links,
    outsider,
    set_exposure,
    set_tilts,
    tilt_gain,
)
from blockmix.samplers.scir.reference.diffusion import pair_counts
from blockmix.samplers.scir.rows import gather_statistics, load_row
from blockmix.tables.layout import empty_rows

# Kernels that others are compiled into cannot be called from Python as they are.
draw_links = from_python(draw_links)
draw_links_again = from_python(draw_links_again)
draw_uniforms = from_python(draw_uniforms)
list_neighbors = from_python(list_neighbors)
read_neighbors = from_python(read_neighbors)
gather_statistics = from_python(gather_statistics)
load_row = from_python(load_row)
add_outsider = from_python(add_outsider)
log_of_non_links = from_python(log_of_non_links)
resummed_exposure = from_python(resummed_exposure)
outsider = from_python(outsider)
closed_gain = from_python(closed_gain)
tilt_gain = from_python(tilt_gain)
set_exposure = from_python(set_exposure)
set_tilts = from_python(set_tilts)

SEEDS = range(3)
SINGLE_PRECISION = 1e-6
DRAWS = 6000
SMALLEST_P = 1e-3 / 20


def prepare(case, a, sweep=0):
    """The steps of `redraw_node` up to the tilts; returns own, count, node and the tilts' common part."""
    case.key = case.key._replace(sweep=np.uint32(sweep))
    node, frame, s = case.node(a), case.frame(), case.scratch
    own = load_row(case.rows, a, s)
    count = list_neighbors(node, own, frame, s)
    read_neighbors(node, count, frame, s)
    draw_uniforms(node, case.key, s)
    draw_links(node, own, frame, s)
    return own, count, node, set_tilts(node, count, frame, s)


def draw_again(case, node, count, tilt, sweep):
    """(G3), in a direction that alternates."""
    return draw_links_again(node, count, sweep % 2 == 0, case.frame(), tilt, case.scratch)


def add_all(case, node, count, tilt):
    """Put every community into the local lists; returns their number."""
    s = case.scratch
    for k in range(len(case.members)):
        if s.position[k] < 0:
            add_outsider(k, count, outsider(node, k, case.frame(), tilt, s), s)
            count += 1
    read_neighbors(node, count, case.frame(), s)
    return count


def forget(case, count):
    case.scratch.position[case.scratch.community[:count]] = -1


def p_of_counts(found, expected):
    """Chi-square with rare cells put together."""
    rare = expected < 5
    if rare.any():
        found = np.append(found[~rare], found[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] == 0:
        assert found[-1] == 0
        found, expected = found[:-1], expected[:-1]
    return stats.chisquare(found, expected).pvalue if len(found) > 1 else 1.0


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_indicators_given_memberships_follow_the_posterior_of_a_link(kernel_case, seed, below):
    """(G1) against (M2), link by link, also where a strength lies below the background."""
    case = kernel_case(seed, communities=3, slots=3, below=below)
    a = int(np.argmax(np.diff(case.network.offsets)))
    degree = int(np.diff(case.network.offsets)[a])
    found = np.zeros((degree, 3))
    for sweep in range(DRAWS):
        _, count, *_ = prepare(case, a, sweep)
        found[np.arange(degree), case.scratch.community[case.scratch.indicator[:degree]]] += 1
        forget(case, count)
    for row, b in zip(found, links_of(a, case.adjacency, case.observed), strict=True):
        law = indicator_posterior(1, case.pi[a], case.pi[b], case.g.beta, case.g.delta)
        law = np.where(law < 1e-12, 0.0, law)
        assert p_of_counts(row, DRAWS * law / law.sum()) > SMALLEST_P / degree


@pytest.mark.parametrize("seed", SEEDS)
def test_links_inside_communities_are_counted_as_in_the_reference(kernel_case, seed):
    """(S6) from the same pass, with strengths on both sides of the background."""
    case = kernel_case(seed)
    statistics = np.zeros((6, STATISTICS), dtype=np.int64)
    inside = 0.0
    for a in range(12):
        own, count, *_ = prepare(case, a)
        set_exposure(own, case.strengths, case.scratch)
        inside += gather_statistics(own, case.strengths, case.scratch, statistics)
        forget(case, count)
    expected = pair_counts(case.pi, case.adjacency, case.observed, case.g).links
    np.testing.assert_allclose(statistics[:, 2] / 2**30, expected, atol=SINGLE_PRECISION)
    assert inside == pytest.approx(expected.sum(), abs=SINGLE_PRECISION)


def collapsed_law(case, a, tilt, states):
    """prod_k Gamma(alpha + n_k) lambda_k^-(alpha + n_k) prod_links (delta + d_z pi_bz), over all states."""
    neighbors = links_of(a, case.adjacency, case.observed)
    alpha, d = case.g.alpha, case.g.beta - case.g.delta
    log = np.empty(len(states))
    for i, state in enumerate(states):
        n = np.bincount(state, minlength=3)
        log[i] = np.sum(gammaln(alpha + n) - (alpha + n) * np.log(tilt))
        log[i] += sum(
            np.log(case.g.delta + d[k] * case.pi[b, k]) for k, b in zip(state, neighbors, strict=True)
        )
    law = np.exp(log - log.max())
    return law / law.sum()


@pytest.mark.parametrize(
    ("seed", "alpha", "below"), [(0, 0.2, False), (1, 0.2, False), (2, 0.05, False), (0, 0.2, True)]
)
def test_a_pass_of_redraws_leaves_the_collapsed_law_as_it_is(kernel_case, seed, alpha, below):
    """(G3), all 27 indicators of a node with three links: start in the law, make one pass, be in the law.

    A pass that took the tilts for one would be seen: its law is told apart by the same test.
    """
    case = kernel_case(seed, nodes=14, communities=3, slots=3, below=below, alpha=alpha, link=0.25)
    a = int(np.flatnonzero(np.diff(case.network.offsets) == 3)[0])
    states = list(product(range(3), repeat=3))
    rng = np.random.default_rng(seed)
    s = case.scratch
    found, law, wrong = np.zeros(27), None, None
    for sweep in range(DRAWS):
        _, count, node, common = prepare(case, a, sweep)
        count = add_all(case, node, count, common)
        if law is None:
            tilt = s.tilt[s.position[:3]].copy()
            assert np.ptp(tilt) > 0.05
            law = collapsed_law(case, a, tilt, states)
            wrong = collapsed_law(case, a, np.ones(3), states)
        state = states[rng.choice(27, p=law)]
        s.indicator[:3] = s.position[list(state)]
        count = draw_again(case, node, count, common, sweep)
        k = s.community[s.indicator[:3]]
        found[9 * k[0] + 3 * k[1] + k[2]] += 1
        forget(case, count)
    assert p_of_counts(found, DRAWS * law) > SMALLEST_P
    assert p_of_counts(found, DRAWS * wrong) < SMALLEST_P


def one_link_law(case, a, b, communities):
    """(G3) of a node with one link: alpha/lambda_k (delta + d_k pi_bk) for every community."""
    _, count, node, common = prepare(case, a)
    count = add_all(case, node, count, common)
    tilt = case.scratch.tilt[case.scratch.position[:communities]].copy()
    forget(case, count)
    return (case.g.delta + (case.g.beta - case.g.delta) * case.pi[b]) / tilt


@pytest.mark.parametrize("below", [False, True])
def test_communities_outside_the_local_lists_are_drawn_with_their_weight(kernel_case, below):
    """(G3) where nothing is known: a neighbour's communities that are not listed, and those of nobody near.

    The neighbour's weights are of a few hundredths in all communities but one, so that they are read from
    `unlisted_weight`; the law that leaves them out is told apart.
    """
    case = kernel_case(0, nodes=14, communities=9, slots=9, most=2, below=below, alpha=0.5, link=0.25)
    a = int(np.flatnonzero(np.diff(case.network.offsets) == 1)[0])
    b = int(links_of(a, case.adjacency, case.observed)[0])
    case.pi[b] = np.append(np.full(7, 0.9 * LEAST_LISTED), [0.0, 1.0])
    case.pi[b, 8] -= case.pi[b, :8].sum()
    case.rows.words[b, ::2] = [8, *range(7), -1]
    case.rows.weights[b, 1:16:2] = case.pi[b, [8, *range(7)]]
    case.members[:] = np.stack([case.pi.sum(axis=0), (case.pi**2).sum(axis=0)], axis=1)
    law = one_link_law(case, a, b, 9)
    found, inserted = np.zeros(9), 0
    for sweep in range(DRAWS):
        _, before, node, common = prepare(case, a, sweep)
        count = draw_again(case, node, before, common, sweep)
        inserted += count - before
        found[case.scratch.community[case.scratch.indicator[0]]] += 1
        forget(case, count)
    assert inserted > 100
    assert p_of_counts(found, DRAWS * law / law.sum()) > SMALLEST_P
    wrong = law * np.where((case.pi[b] > 0) & (case.pi[b] < LEAST_LISTED), case.g.delta, 1.0)
    assert p_of_counts(found, DRAWS * wrong / wrong.sum()) < SMALLEST_P


@pytest.mark.parametrize("seed", SEEDS)
def test_the_residual_is_exact_for_hard_clusters(kernel_case, seed):
    """(G4) log prod_nonlinks Z in closed form + A log(sum lambda pi): its difference between two memberships."""
    case = kernel_case(seed, communities=3, slots=3, below=False, hide=0.2)
    a = 4
    rng = np.random.default_rng(seed)
    mine = case.pi[a].copy()
    case.pi[:] = np.eye(3)[rng.integers(0, 3, 12)]
    case.pi[a] = mine = np.array([0.5, 0.25, 0.25])
    case.rows = _rows(case.pi, case.total)
    case.members = np.stack([case.pi.sum(axis=0), (case.pi**2).sum(axis=0)], axis=1)
    own, count, _, common = prepare(case, a)
    assert own == count == 3
    s = case.scratch
    new = np.array([0.1, 0.2, 0.7])
    s.phi[:3] = 5.0 * new[s.community[:3]]
    found = tilt_gain(count, own, 5.0, common, s) + closed_gain(count, own, 5.0, case.strengths, common, s)
    tilt = s.tilt[s.position[np.arange(3)]]

    def exact(pi):
        others = non_links_of(a, case.adjacency, case.observed)
        product_of_z = [pair_likelihood(0, pi, case.pi[b], case.g.beta, case.g.delta) for b in others]
        return np.sum(np.log(product_of_z)) + common.mass * np.log(tilt @ pi)

    assert found == pytest.approx(exact(new) - exact(mine), abs=SINGLE_PRECISION)
    assert abs(found) > 0.01


@pytest.mark.parametrize("v", [0.0099999, -0.0099999, 1e-5, 0.0])
@pytest.mark.parametrize("squares", [0.01, 3.0, 6.9])
def test_the_series_of_small_shares_continues_the_logarithm(tiny, v, squares):
    points, weights = (array[0] for array in tiny.two_points([squares / 7.0]))
    exact = 7.0 * (weights * np.log1p(-v * points) / points).sum()
    assert log_of_non_links(v, 7.0, squares) == pytest.approx(exact, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("share", [0.002, 0.2, 0.9])
def test_members_with_the_law_of_a_dirichlet_row_are_summed(share):
    """(S5) Against the integrals over Beta(1, theta): exact where v is small, within some percent near one."""
    theta = 1.0 / share - 1.0
    t = -np.expm1(np.log1p(-(np.arange(200_000) + 0.5) / 200_000) / theta)
    for v, allowance in ((0.0099, 1e-7), (0.5, 2e-3), (0.9, 0.02)):
        logs, shares = (np.log1p(-v * t) / t).mean(), (1.0 / (1.0 - v * t)).mean()
        assert log_of_non_links(v, 3.0, 3.0 * share) == pytest.approx(3.0 * logs, rel=allowance)
        found = resummed_exposure(3.0, 3.0 * share, v * 0.99, 0.99)
        assert found == pytest.approx(3.0 * shares / 0.99, rel=10 * allowance)


def _rows(pi, total):
    rows = empty_rows(*pi.shape)
    for a, row in enumerate(pi):
        used = np.flatnonzero(row)
        rows.words[a, : 2 * len(used) : 2] = used
        rows.weights[a, 1 : 2 * len(used) : 2] = row[used]
    rows.total[:] = total
    return rows


@pytest.mark.parametrize("slots", [1, 3, 6])
def test_an_update_reads_nothing_it_has_not_written(kernel_case, new_work, poisoned, slots):
    case = kernel_case(1, slots=slots, most=min(slots, 3))
    results = []
    for scratch in (new_scratch(6, slots, 12), poisoned(new_scratch(6, slots, 12))):
        work, fresh = new_work(scratch), empty_rows(12, slots)
        redraw_range(0, 12, Batch(0, 1), case.frame(), fresh, work)
        assert (scratch.position == -1).all()
        weights = np.where(np.cumprod(fresh.words[:, ::2] >= 0, axis=1), fresh.weights[:, 1::2], 0.0)
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=SINGLE_PRECISION)
        results.append((fresh.words, fresh.total, work.statistics, work.sums))
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)
