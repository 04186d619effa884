"""A complete cover has a place for every node with a link, and its communities hang together."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from blockmix import Graph, fit, planted


def history(rows, samples=3):
    """The same memberships in every sample."""
    return np.tile(np.asarray(rows, dtype=float), (samples, 1, 1))


@pytest.fixture
def scattered(posterior_of):
    """Two triangles and a pair that one community holds, a chain of unsure nodes on the first, an unsure triple, a
    node without links."""
    links = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (6, 7), (2, 8), (8, 9), (10, 11), (11, 12)]
    rows = (
        [[1, 0, 0]] * 3
        + [[0, 1, 0]] * 3
        + [[0, 1, 0]] * 2
        + [[0.34, 0.33, 0.33]] * 2
        + [[0.33, 0.33, 0.34]] * 4
    )
    return posterior_of([history(rows)], graph=Graph.from_edges(links, nodes=range(14)))


def sets(covers):
    return sorted(sorted(int(a) for a in nodes) for nodes in covers.values())


def test_without_complete_the_posterior_decides_alone(scattered):
    assert sets(scattered.covers(0.5, clear=False)) == [[0, 1, 2], [3, 4, 5, 6, 7]]


def test_pieces_that_no_link_joins_are_communities_of_their_own(scattered):
    covers = scattered.covers(0.5, complete=True)
    assert [3, 4, 5] in sets(covers)
    assert [6, 7] in sets(covers)
    large, small = (next(k for k, v in covers.items() if a in v) for a in (3, 6))
    assert large < scattered.n_communities <= small


def test_members_that_their_community_does_not_hold_together_go_with_their_neighbours(posterior_of):
    """Of the pieces of one community that are not its largest a triangle with one link to others stays, a pair with
    four such links does not."""
    links = [
        (0, 1),
        (1, 2),
        (2, 3),
        (0, 3),
        (0, 2),
        (4, 5),
        (5, 6),
        (4, 6),
        (9, 10),
        (10, 11),
        (9, 11),
        (11, 4),
    ]
    links += [(7, 8), (7, 4), (7, 5), (8, 5), (8, 6)]
    rows = [[1, 0]] * 4 + [[0, 1]] * 3 + [[1, 0]] * 5
    post = posterior_of([history(rows)], graph=Graph.from_edges(links, nodes=range(12)))
    assert sets(post.covers(0.5, complete=True)) == [[0, 1, 2, 3], [4, 5, 6, 7, 8], [9, 10, 11]]


def test_the_unsure_go_where_their_neighbours_are_and_so_on_outwards(scattered):
    assert [0, 1, 2, 8, 9] in sets(scattered.covers(0.5, complete=True))


def test_those_who_touch_no_community_make_their_own_and_loners_none(scattered):
    covers = scattered.covers(0.5, complete=True)
    assert [10, 11, 12] in sets(covers)
    assert 13 not in np.concatenate(list(covers.values()))


def test_a_member_that_is_linked_to_no_other_goes_with_its_neighbours(posterior_of):
    """Node 3 hangs on the triangle, and the posterior has it alone in a community of its own."""
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)])
    post = posterior_of([history([[1, 0]] * 3 + [[0, 1]])], graph=graph)
    assert sets(post.covers(0.5, complete=True)) == [[0, 1, 2, 3]]


def test_a_second_membership_needs_two_links(two_triangles):
    """cem makes a fifth of her three links elsewhere: listed as a member, but not in a complete cover."""
    assert "cem" in set.intersection(*map(set, two_triangles.communities(0.15, clear=False).values()))
    complete = two_triangles.communities(0.15, complete=True)
    assert sorted(map(sorted, complete.values())) == [["ann", "bob", "cem"], ["dot", "eve", "fay"]]


def test_groups_of_the_general_model_need_not_be_linked_inside():
    links = [(a, b) for a in range(10) for b in range(10, 20)]
    post = fit(Graph.from_edges(links), 2, model="mmsb", seed=1, sweeps=40, held_out=0, progress=False)
    assert sets(post.covers(complete=True)) == sets(post.covers())
    assert len(post.covers(complete=True)) == 2


def test_in_a_fit_every_node_with_a_link_has_a_place_and_communities_are_connected():
    made = planted(400, 12, degree=8, seed=5)
    graph = made.graph
    post = fit(graph, 12, seed=1, sweeps=60, warm_up=20, chains=1, held_out=0.05, progress=False)
    covers = post.covers(0.2, complete=True)
    np.testing.assert_array_equal(
        np.unique(np.concatenate(list(covers.values()))), np.flatnonzero(graph.degrees > 0)
    )
    adjacency = graph.to_scipy()
    for nodes in covers.values():
        assert len(np.unique(nodes)) == len(nodes)
        assert connected_components(adjacency[nodes][:, nodes], directed=False)[0] == 1


def test_a_mean_above_the_threshold_that_is_more_often_below_it_is_no_membership(posterior_of):
    """Node 2 is in the second community with a mean of .12: by .4 in three samples of ten, or by .12 in all of them."""
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)])
    base = history([[1, 0]] * 3 + [[0, 1]] * 2, samples=10)
    doubtful, steady = base.copy(), base.copy()
    doubtful[:3, 2] = [0.6, 0.4]
    steady[:, 2] = [0.88, 0.12]
    assert sets(posterior_of([doubtful], graph=graph).covers(0.1, clear=False)) == [[0, 1, 2], [3, 4]]
    assert sets(posterior_of([steady], graph=graph).covers(0.1, clear=False)) == [[0, 1, 2], [2, 3, 4]]


def test_an_unsure_node_goes_where_strength_and_shares_explain_its_links(posterior_of):
    """It shares nothing with its two neighbours: one is partly in a strong community, the other in a weak one."""
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (6, 0), (6, 3)])
    rows = [[0.7, 0.3, 0]] + [[1, 0, 0]] * 2 + [[0, 1, 0]] * 3 + [[0, 0, 1]]
    for strengths, home in (([0.9, 0.3, 0.5, 0.01], [0, 1, 2, 6]), ([0.3, 0.9, 0.5, 0.01], [3, 4, 5, 6])):
        post = posterior_of([history(rows)], [np.tile(strengths, (3, 1))], graph=graph)
        assert home in sets(post.covers(0.5, complete=True))
