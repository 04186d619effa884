"""Local moving in batches: the plain reference group by group, and the same on any number of threads."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts import sharing
from blockmix.samplers.starts.partition import find_parts
from blockmix.samplers.starts.potts import levels as levels_module
from blockmix.samplers.starts.potts import moving as moving_module
from blockmix.samplers.starts.potts.groups import Groups
from blockmix.samplers.starts.potts.levels import Coarsening, Levels, resolutions_of
from blockmix.samplers.starts.potts.local_moves import Choices, Turn
from blockmix.samplers.starts.potts.merging import links_of, single_groups, weighted_links
from blockmix.samplers.starts.potts.moving import BATCHES, Movers, deal_turns
from blockmix.samplers.starts.potts.reference import move_batch, rank


def network(seed, nodes=40, p=0.15):
    """Random links of weight 1 to 3, and rows of 1 to 4 nodes."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) < p, 1)
    weight = upper * rng.integers(1, 4, (nodes, nodes))
    return weight + weight.T, rng.integers(1, 5, nodes), rng


def rows_of(weight):
    ends = np.argwhere(weight > 0)
    offsets = np.searchsorted(ends[:, 0], np.arange(len(weight) + 1)).astype(np.int64)
    inside = np.zeros(len(weight), dtype=np.int64)
    return weighted_links(
        offsets, ends[:, 1].astype(np.int32), weight[ends[:, 0], ends[:, 1]].astype(np.int32), inside
    )


def groups_of(of_row, weight, sizes):
    """Groups of rows, as they would be after mergers, with what is known about them counted in the plain way."""
    count = of_row.max() + 1
    one = np.eye(count, dtype=np.int64)[of_row]
    between = one.T @ weight @ one
    own, members = np.diag(between).copy(), np.argsort(of_row, kind="stable").astype(np.int32)
    first = np.searchsorted(of_row[members], np.arange(count + 1)).astype(np.int32)
    bound = np.full(count, np.inf, dtype=np.float32)
    return Groups(members, first, of_row.astype(np.int32), one.T @ sizes, own // 2, own, bound), between


def quality(weight, sizes, resolution, parts):
    together = (parts[:, None] == parts[None, :]) & ~np.eye(len(parts), dtype=bool)
    return 0.5 * np.sum(together * (weight - resolution * np.outer(sizes, sizes)))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("resolution", [0.02, 0.2, 1.0])
def test_every_batch_moves_as_the_plain_reference_says(seed, resolution):
    """Three passes from parts of their own, or from given ones; groups of one row and of several."""
    weight, row_sizes, rng = network(seed)
    resolution /= 1 + 9 * (seed % 2)
    of_row = rng.permutation(np.r_[np.arange(15), rng.integers(0, 15, 25)]) if seed % 2 else np.arange(40)
    links = rows_of(weight)
    groups, between = groups_of(of_row, weight, row_sizes)
    count, free = len(groups.sizes), seed % 3 > 0
    start = None if free else rng.integers(0, 6, count).astype(np.int32)
    with Workers(1) as workers:
        movers = Movers(workers, links, groups)
        parts = movers._parts(start)
        order, cuts = np.empty(count, dtype=np.int32), np.empty(BATCHES + 1, dtype=np.int64)
        choices = Choices(np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count))
        moves = 0
        for salt in (7 * seed, 7 * seed + 1, 7 * seed + 2):
            turn = Turn(order, resolution, salt, BATCHES, free)
            deal_turns(np.ones(count, dtype=np.uint8), BATCHES, salt, order, cuts)
            for a, b in pairwise(cuts):
                assert all(rank(g, salt) % BATCHES == rank(order[a], salt) % BATCHES for g in order[a:b])
                expected = move_batch(
                    between,
                    groups.sizes,
                    parts.of_group,
                    order[a:b].tolist(),
                    resolution,
                    salt,
                    BATCHES,
                    free,
                )
                moves += movers._batch(a, b, turn, parts, choices, movers._loads(order)[0])
                np.testing.assert_array_equal(parts.of_group, expected)
                np.testing.assert_array_equal(parts.of_row, expected[of_row])
                nodes = np.bincount(expected, weights=groups.sizes, minlength=len(parts.sizes))
                np.testing.assert_array_equal(parts.sizes, nodes)
    assert moves > 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("resolution", [0.05, 0.2, 1.0])
def test_where_local_moving_rests_no_single_move_would_help(seed, resolution, monkeypatch):
    """From rest, all groups are looked at once more until none moves."""
    monkeypatch.setattr(moving_module, "FEWEST_MOVES", 0.0)
    monkeypatch.setattr(moving_module, "PASSES", 60)
    weight, sizes, _ = network(seed)
    links = rows_of(weight)
    with Workers(1) as workers:
        movers = Movers(workers, links, single_groups(sizes, links, np.full(40, np.inf, dtype=np.float32)))
        parts, before = movers.move(resolution, 5), None
        # A part that shrinks becomes worth joining for groups whose neighbours have not moved: they are looked at next.
        while before is None or (parts != before).any():
            before, parts = parts, movers.move(resolution, 5, parts)
    after = quality(weight, sizes, resolution, parts)
    assert after > 0
    for a in range(len(sizes)):
        for part in np.unique(parts[weight[a] > 0]):
            moved = parts.copy()
            moved[a] = part
            assert quality(weight, sizes, resolution, moved) <= after + 1e-6


def test_leaves_of_a_star_do_not_all_join_its_centre_at_once():
    """Each of them gains if it joins alone; together they would lose."""
    links = links_of(Graph.from_edges([(0, i) for i in range(1, 400)]))
    with Workers(1) as workers:
        movers = Movers(
            workers, links, single_groups(np.ones(400, dtype=np.int32), links, np.ones(400, dtype=np.float32))
        )
        for resolution, most in ((0.5, 2), (0.1, 10), (0.01, 100)):
            assert most - 1 <= np.bincount(movers.move(resolution, 3)).max() <= most + 1


@pytest.fixture(scope="module")
def medium():
    made = planted(3000, 40, degree=16, seed=2).graph
    edges = [tuple(e) for e in made.edges()]
    return Graph.from_edges([*edges, *((5000, i) for i in range(0, 3000, 2))], nodes=range(5003))


def all_levels(graph, threads, by_degree=False):
    with Workers(threads) as workers:
        levels = Levels(graph, 99, workers, by_degree=by_degree)
        return [(parts.copy(), *step.counts) for step, parts in levels]


@pytest.mark.parametrize("by_degree", [False, True])
def test_every_level_counts_links_inside_nodes_and_weights_of_its_groups(medium, by_degree):
    """Nodes weigh one, or their degree; a node without links weighs one in any case."""
    weight = np.maximum(medium.degrees, 1) if by_degree else np.ones(medium.n_nodes)
    for parts, inside, nodes, weights, squares in all_levels(medium, 1, by_degree):
        first = np.repeat(parts, medium.degrees)
        same = first == parts[medium.neighbors]
        np.testing.assert_array_equal(inside, np.bincount(first[same], minlength=len(nodes)) // 2)
        np.testing.assert_array_equal(nodes, np.bincount(parts))
        np.testing.assert_array_equal(weights, np.bincount(parts, weight))
        np.testing.assert_array_equal(squares, np.bincount(parts, weight**2))


@pytest.mark.parametrize("by_degree", [False, True])
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_the_number_of_threads_does_not_change_a_label(medium, threads, by_degree, monkeypatch):
    expected = all_levels(medium, 1, by_degree)
    monkeypatch.setattr(sharing, "LEAST_PIECE", 50)
    monkeypatch.setattr(moving_module, "LOADS", 100)
    found = all_levels(medium, threads, by_degree)
    assert len(found) == len(expected) == len(resolutions_of(medium.density))
    for one, other in zip(expected, found, strict=True):
        for mine, its in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, its)


def test_bounds_and_stored_networks_change_no_label_of_a_level(medium, monkeypatch):
    """Groups below their bound cannot move, and a stored network has the same links: both only save time.

    Names of groups are the same either way, and so is all that depends on them.
    """
    expected = all_levels(medium, 1)
    monkeypatch.setattr(levels_module, "WORTH_STORING", 0.0)
    merged = levels_module.merged_groups

    def unbounded(groups, parts, workers):
        new, own, fresh = merged(groups, parts, workers)
        new.bound[:] = np.inf
        return new, own, np.ones_like(fresh)

    monkeypatch.setattr(levels_module, "merged_groups", unbounded)
    for one, other in zip(expected, all_levels(medium, 1), strict=True):
        np.testing.assert_array_equal(one[0], other[0])


def test_levels_that_are_not_kept_are_the_same_a_second_time(medium):
    with Workers(1) as workers:
        levels, kept = Levels(medium, 99, workers), Levels(medium, 99, workers, kept=True)
        first, second, third = ([parts for _, parts in each] for each in (levels, levels, kept))
    for one, other, again in zip(first, second, third, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, again)


@pytest.mark.parametrize("count", [0, 1, 7, 100, 1001])
def test_loads_are_those_of_single_groups_added_up(medium, count, monkeypatch):
    monkeypatch.setattr(moving_module, "LOADS", 10)
    order = np.random.default_rng(0).permutation(medium.n_nodes)[:count].astype(np.int32)
    links = links_of(medium)
    with Workers(1) as workers:
        ones = np.ones(medium.n_nodes, dtype=np.int32)
        movers = Movers(workers, links, single_groups(ones, links, ones.astype(np.float32)))
        loads, most = movers._loads(order)
    single = 2 + medium.degrees[order]
    assert most == single.max(initial=0)
    assert len(loads.before) <= 12
    for begin, end in ((0, count), (count // 3, count // 2)):
        low, high = begin // loads.block * loads.block, -(-end // loads.block) * loads.block
        assert loads.between(begin, end) == single[low:high].sum()


def test_levels_take_little_more_memory_than_the_network_itself():
    graph = planted(6000, 60, degree=30, seed=3).graph
    with Workers(1) as workers:
        find_parts(graph, 60, np.random.default_rng(1), workers)
        tracemalloc.start()
        find_parts(graph, 60, np.random.default_rng(1), workers)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1.5 * (graph.offsets.nbytes + graph.neighbors.nbytes)


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1)],
        [(0, 1), (2, 3)],
        [(0, i) for i in range(1, 30)],
        [(a, b) for a in range(12) for b in range(a)],
        [(a, a + 1) for a in range(50)],
        [(a, b) for a in range(5) for b in range(5, 12)],
    ],
    ids=["one link", "two links", "a star", "a clique", "a path", "bipartite"],
)
def test_odd_networks_have_levels_on_any_number_of_threads(edges, monkeypatch):
    monkeypatch.setattr(sharing, "LEAST_PIECE", 2)
    graph = Graph.from_edges(edges, nodes=range(60))
    one, three = all_levels(graph, 1), all_levels(graph, 3)
    for (parts, inside, *_), (other, *_) in zip(one, three, strict=True):
        np.testing.assert_array_equal(parts, other)
        assert inside.sum() <= graph.n_edges
    assert one[-1][1].sum() == graph.n_edges or len(edges) > 20


def test_two_cliques_joined_by_a_link_are_two_groups():
    edges = [(a + c, b + c) for c in (0, 6) for a in range(6) for b in range(a)]
    with Workers(1) as workers:
        links = links_of(Graph.from_edges([*edges, (0, 6)]))
        coarsening = Coarsening(links, np.ones(12, dtype=np.int64), workers, 0)
        np.testing.assert_array_equal(coarsening.coarsen(0.5), np.repeat([0, 1], 6))
