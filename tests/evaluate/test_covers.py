"""Cover scores equal their definitions and two other implementations, and behave as scores should."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmix.errors import InputError
from blockmix.evaluate import (
    best_match,
    best_match_f1,
    compare_covers,
    omega,
    onmi,
    restrict,
    unique_communities,
)
from blockmix.evaluate import incidence as incidence_module

_spec = importlib.util.spec_from_file_location(
    "reference_covers", Path(__file__).with_name("reference_covers.py")
)
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

N = 12
COMMUNITY = st.sets(st.integers(0, N - 1), min_size=1, max_size=N)
COVER = st.lists(COMMUNITY, min_size=1, max_size=6)
ROUNDING = 1e-12  # sums of a few dozen terms of order 1 in float64
CDLIB = {"mgh": 0.381960351236896, "lfk": 0.36044368925979753, "omega": 0.3863319386331939}
ANY_TIME = settings(deadline=None)  # the first call compiles
SCORES = {
    "mgh": lambda a, b: onmi(a, b, N, "mgh"),
    "lfk": lambda a, b: onmi(a, b, N, "lfk"),
    "omega": lambda a, b: omega(a, b, N),
    "f1": best_match_f1,
}


def arrays(cover):
    return [np.array(sorted(c), dtype=np.int64) for c in cover]


@ANY_TIME
@given(COVER, COVER)
def test_scores_equal_their_definitions(a, b):
    x, y = arrays(a), arrays(b)
    for variant in ("mgh", "lfk"):
        assert onmi(x, y, N, variant) == pytest.approx(reference.onmi(a, b, N, variant), abs=ROUNDING)
    assert omega(x, y, N) == pytest.approx(reference.omega(a, b, N), abs=ROUNDING)
    assert best_match_f1(x, y) == pytest.approx(reference.best_match_f1(a, b), abs=ROUNDING)


@pytest.mark.parametrize("name", SCORES)
@ANY_TIME
@given(a=COVER, b=COVER)
def test_scores_are_symmetric_and_bounded(name, a, b):
    a, b = arrays(a), arrays(b)
    value = SCORES[name](a, b)
    assert value == pytest.approx(SCORES[name](b, a), abs=ROUNDING)
    assert value <= 1.0
    if name != "omega":
        assert value >= 0.0


@pytest.mark.parametrize("name", SCORES)
@ANY_TIME
@given(a=COVER, random=st.randoms(use_true_random=False))
def test_a_cover_equals_itself_in_any_order(name, a, random):
    a = arrays(a)
    again = [random.sample(c.tolist(), len(c)) for c in random.sample(a, len(a))]
    assert SCORES[name](a, again) == 1.0


@pytest.mark.parametrize("name", SCORES)
@ANY_TIME
@given(a=COVER, b=COVER, names=st.permutations(range(N)))
def test_scores_do_not_depend_on_node_numbers(name, a, b, names):
    a, b, names = arrays(a), arrays(b), np.array(names)
    renamed = SCORES[name]([names[c] for c in a], [names[c] for c in b])
    assert renamed == pytest.approx(SCORES[name](a, b), abs=ROUNDING)


def random_cover(rng, n, k, largest):
    return [rng.choice(n, rng.integers(1, largest + 1), replace=False) for _ in range(k)]


def networkit_cover(nk, cover, n):
    result = nk.Cover(n)
    result.setUpperBound(len(cover))
    for k, members in enumerate(cover):
        for node in members:
            result.addToSubset(k, int(node))
    return result


def test_onmi_and_f1_agree_with_networkit():
    """Communities under n/4, where networkit's leaving out of disjoint pairs changes nothing."""
    nk = pytest.importorskip("networkit")
    rng = np.random.default_rng(21)
    n = 400
    graph = nk.Graph(n)
    for _ in range(20):
        a = unique_communities(random_cover(rng, n, 25, 60))
        b = [np.unique(np.where(rng.random(len(c)) < 0.3, rng.integers(0, n, len(c)), c)) for c in a[:20]]
        first, second = networkit_cover(nk, a, n), networkit_cover(nk, b, n)
        measure = nk.community.OverlappingNMIDistance(nk.community.Normalization.MAX)
        assert onmi(a, b, n) == pytest.approx(
            1 - measure.getDissimilarity(graph, first, second), abs=ROUNDING
        )
        found, truth = (
            nk.community.CoverF1Similarity(graph, *pair).run().getUnweightedAverage()
            for pair in ((first, second), (second, first))
        )
        match = best_match(a, b)
        assert (match.found, match.truth) == pytest.approx((found, truth), abs=ROUNDING)


def test_figures_of_cdlib():
    """Printed by cdlib 0.4.1 (onmi with all 12 nodes, variants MGH and LFK; Omega), once, by hand."""
    a = [[0, 1, 2, 3, 4], [3, 4, 5, 6], [6, 7, 8, 9, 10, 11], [0, 11]]
    b = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [2, 5, 8]]
    assert onmi(a, b, 12) == pytest.approx(CDLIB["mgh"], abs=1e-12)
    assert onmi(a, b, 12, "lfk") == pytest.approx(CDLIB["lfk"], abs=1e-12)
    assert omega(a, b, 12) == pytest.approx(CDLIB["omega"], abs=1e-12)


def test_disjoint_communities_may_match_as_the_definition_says():
    """80 of 100 nodes against 3 others; networkit's source gives n H(X|Y) = 64.95 and n H(X) = 72.19 bits."""
    a, b = [np.arange(80)], [np.arange(80, 83)]
    assert 100 * reference.conditional_entropy(set(range(80)), {80, 81, 82}, 100) == pytest.approx(
        64.95, abs=0.01
    )
    assert 100 * reference.entropy(set(range(80)), 100) == pytest.approx(72.19, abs=0.01)
    expected = reference.onmi([set(range(80))], [{80, 81, 82}], 100, "mgh")
    assert expected > 0.01
    assert onmi(a, b, 100) == pytest.approx(expected, abs=ROUNDING)
    assert onmi(b, a, 100) == pytest.approx(expected, abs=ROUNDING)


def test_an_exact_tie_of_the_condition_is_no_match():
    """h(4/8) + h(1/8) = h(2/8) + h(1/8): cdlib and McDaid's program ask for >, the papers for >=."""
    a, b = [{0, 1}], [{1, 2, 3}]
    assert reference.h(4, 8) + reference.h(1, 8) == reference.h(2, 8) + reference.h(1, 8)
    assert onmi(arrays(a), arrays(b), 8) == 0.0


def test_chunks_of_the_overlap_matrix_change_nothing(monkeypatch):
    rng = np.random.default_rng(22)
    a, b = random_cover(rng, 300, 40, 50), random_cover(rng, 300, 30, 50)
    whole = onmi(a, b, 300), best_match_f1(a, b)
    monkeypatch.setattr(incidence_module, "_CHUNK_WORK", 100)
    assert (onmi(a, b, 300), best_match_f1(a, b)) == whole


def test_omega_of_partitions_is_the_adjusted_rand_index():
    rng = np.random.default_rng(23)
    u, v = rng.integers(0, 5, 200), rng.integers(0, 7, 200)
    u[:100] = v[:100] % 5
    table = np.zeros((5, 7))
    np.add.at(table, (u, v), 1)
    pairs = [np.sum(t * (t - 1) / 2) for t in (table, table.sum(1), table.sum(0), np.array([200.0]))]
    expected = pairs[1] * pairs[2] / pairs[3]
    rand = (pairs[0] - expected) / ((pairs[1] + pairs[2]) / 2 - expected)
    covers = [[np.flatnonzero(w == k) for k in range(7)] for w in (u, v)]
    assert omega(*covers, 200) == pytest.approx(rand, abs=ROUNDING)


def test_omega_of_huge_communities_is_exact_and_quick():
    """A million nodes, 5.7e11 pairs inside communities, but 3 kinds of nodes: the answer by arithmetic."""
    n = 1_000_000
    a = [np.arange(600_000), np.arange(500_000, n)]
    b = [np.arange(600_000), np.arange(600_000, n)]
    together = [k * (k - 1) // 2 for k in (100_000, 600_000, 500_000, 400_000)]
    twice, pairs = together[0], n * (n - 1) // 2
    once_a = together[1] + together[2] - 2 * twice
    once_b = together[1] + together[3]
    # once in both: inside the first community but not inside the overlap, or inside the last 400,000
    agree_once = together[1] - twice + together[3]
    # never in both: from the first 500,000 to the last 400,000
    agree_never = 500_000 * 400_000
    never_a, never_b = pairs - once_a - twice, pairs - once_b
    expected = (never_a * never_b + once_a * once_b) / pairs**2
    observed = (agree_once + agree_never) / pairs
    assert omega(a, b, n) == pytest.approx((observed - expected) / (1 - expected), abs=1e-12)


def test_omega_refuses_what_would_take_hours_and_says_how_long():
    rng = np.random.default_rng(24)
    a = random_cover(rng, 3000, 30, 1500)
    with pytest.raises(InputError, match=r"minutes; pass max_pairs="):
        omega(a, a[::-1], 3000, max_pairs=1e4)


@pytest.mark.parametrize("name", SCORES)
def test_empty_covers_and_empty_communities(name):
    score = SCORES[name]
    cover = [np.array([0, 1, 2]), np.array([2, 3])]
    assert score([], []) == 1.0
    assert score(cover, []) == score([], cover) == 0.0
    empty = np.array([], dtype=np.int64)
    assert score([empty, *cover, empty], cover) == 1.0
    assert score([empty], [empty]) == 1.0
    assert score([[]], cover) == 0.0


@pytest.mark.parametrize("name", SCORES)
def test_one_community_of_all_nodes(name):
    everything = [np.arange(N)]
    assert SCORES[name](everything, everything) == 1.0
    halves = [np.arange(N // 2), np.arange(N // 2, N)]
    assert SCORES[name](everything, halves) == pytest.approx({"f1": 2 / 3}.get(name, 0.0))


def test_the_community_of_all_nodes_counts_under_lfk_as_known_only_if_both_have_it():
    everything, part = np.arange(N), np.arange(4)
    assert onmi([everything, part], [part, everything], N, "lfk") == 1.0
    assert onmi([everything, part], [part], N, "lfk") == pytest.approx(0.75)


def test_nodes_in_no_community_count():
    cover, other = [[0, 1, 2], [3, 4, 5]], [[0, 1, 2, 3], [4, 5]]
    assert onmi(cover, other, 6) != onmi(cover, other, 20)
    assert omega(cover, other, 6) != omega(cover, other, 20)


def test_repeated_members_count_once_and_repeated_communities_are_removed_by_compare():
    assert onmi([[0, 1, 1, 2]], [[2, 1, 0]], 5) == 1.0
    truth = [[0, 1, 2], [3, 4], [2, 1, 0], []]
    scores = compare_covers([[0, 1, 2], [4, 3]], truth, 6)
    assert (scores.onmi, scores.omega, scores.f1, scores.n_found, scores.n_truth) == (1.0, 1.0, 1.0, 2, 2)
    assert omega([[0, 1, 2], [4, 3]], truth, 6) < 1.0


def test_unique_communities_keep_the_order_of_first_appearance():
    kept = unique_communities([[5, 4], [], [1], [4, 5, 5], [1]])
    assert [c.tolist() for c in kept] == [[4, 5], [1]]


def test_restrict_keeps_node_numbers_and_drops_what_is_left_empty():
    kept = restrict([[0, 1, 2], [3, 4], [2, 9]], nodes=[2, 9, 50, 1])
    assert [c.tolist() for c in kept] == [[1, 2], [2, 9]]
    assert restrict([], [1, 2]) == restrict([[1, 2]], []) == []


@pytest.mark.parametrize(
    ("cover", "message"),
    [
        ([[0], [1, 12]], "community 1 has node 12"),
        ([[0], [], [-1, 2]], "community 2 has node -1"),
        ([[0.5]], "community 0 is not"),
        ([["ann"]], "Labels.indices"),
        ([[[0, 1]]], "shape"),
    ],
)
def test_what_is_not_a_node_is_named(cover, message):
    for score in (onmi, omega):
        with pytest.raises(InputError, match=message):
            score(cover, [[0, 1]], N)


def test_the_variant_is_one_of_two():
    with pytest.raises(InputError, match="'mgh' or 'lfk'"):
        onmi([[0]], [[0]], 2, "max")
