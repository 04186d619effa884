"""What a posterior contains: memberships, communities, strengths, predictions, in the user's own labels."""

import math

import numpy as np
import pytest

from blockmix import Graph, InputError

# Weights of a posterior sample have 16 bits.
PACKED = 1e-4
# A membership's mean and sd are accumulated in float32.
SINGLE_PRECISION = 1e-3


def test_memberships_are_listed_node_by_node_strongest_first(two_triangles):
    table = two_triangles.memberships()
    rows = list(table)
    assert [row.node for row in rows] == [name for name in two_triangles.graph.labels for _ in range(2)][1:-1]
    cem = [row for row in rows if row.node == "cem"]
    assert cem[0].community != cem[1].community
    assert cem[0].mean + cem[1].mean == pytest.approx(1.0, abs=1e-6)
    assert cem[0].mean == pytest.approx(0.8, abs=1e-6)
    assert cem[0].sd == pytest.approx(np.std([0.8, 0.7, 0.9]), abs=SINGLE_PRECISION)
    assert all(0 <= row.lower <= row.mean + 1e-6 and row.mean <= row.upper + 1e-6 <= 1 + 2e-6 for row in rows)


def test_a_threshold_and_a_level_narrow_the_table(two_triangles):
    assert (two_triangles.memberships(threshold=0.5).mean >= 0.5).all()
    assert len(two_triangles.memberships(threshold=0.5)) == 6
    wide, narrow = two_triangles.memberships(level=0.95), two_triangles.memberships(level=0.5)
    assert (wide.upper - wide.lower >= narrow.upper - narrow.lower).all()


def test_a_table_prints_and_converts(two_triangles):
    pandas = pytest.importorskip("pandas")
    table = two_triangles.memberships()
    frame = pandas.DataFrame(table.columns())
    assert list(frame.columns) == ["node", "community", "mean", "sd", "lower", "upper"]
    assert len(frame) == len(table)
    assert "ann" in repr(table)
    assert "community" in repr(table)
    assert len(repr(two_triangles.strengths()).splitlines()) == 4


def test_a_long_table_prints_its_beginning_and_its_length(posterior_of):
    graph = Graph.from_edges([(a, a + 1) for a in range(29)])
    post = posterior_of([np.ones((1, 30, 1))], graph=graph)
    assert repr(post.memberships()).endswith("... 30 rows in all")


def test_communities_overlap_and_carry_the_users_labels(two_triangles):
    first, second = two_triangles.communities(threshold=0.15, clear=False).values()
    assert sorted([set(first), set(second)], key=sorted) == [
        {"ann", "bob", "cem", "dot"},
        {"cem", "dot", "eve", "fay"},
    ]
    assert {first[0], second[0]} == {"ann", "fay"}


def test_covers_are_the_same_in_node_numbers(two_triangles):
    labels = two_triangles.graph.labels
    for threshold in (0.0, 0.15, 0.6, 1.0):
        covers = two_triangles.covers(threshold, min_size=1)
        named = two_triangles.communities(threshold, min_size=1)
        assert {k: [labels[int(a)] for a in nodes] for k, nodes in covers.items()} == named


def test_small_communities_can_be_left_out(two_triangles):
    assert two_triangles.communities(0.15, min_size=5) == {}
    assert set(two_triangles.communities(0.98)) == set()
    assert [
        len(members) for members in two_triangles.communities(0.98, min_size=1, clear=False).values()
    ] == [1, 1]


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_outside_0_and_1_is_refused(two_triangles, threshold):
    for method in (two_triangles.communities, two_triangles.covers):
        with pytest.raises(InputError, match="threshold must lie between 0 and 1"):
            method(threshold)
    with pytest.raises(InputError, match="threshold"):
        two_triangles.memberships(threshold=threshold)


@pytest.mark.parametrize("level", [0.0, 1.0, 90])
def test_a_level_outside_0_and_1_is_refused(two_triangles, level):
    for method in (two_triangles.memberships, two_triangles.strengths):
        with pytest.raises(InputError, match="level must lie strictly between 0 and 1"):
            method(level=level)


def test_communities_are_numbered_by_size(two_triangles):
    assert (np.diff(two_triangles.sizes) <= 0).all()
    assert two_triangles.sizes.sum() == pytest.approx(6, abs=1e-4)
    assert two_triangles.n_communities == 3
    assert [row.community for row in two_triangles.strengths()] == [0, 1, 2]


def test_strengths_have_means_and_intervals_and_draws(two_triangles):
    table = two_triangles.strengths()
    # the empty community is the third whatever its strength, and no other has a mean of 0.8
    place = int(np.argmin(np.abs(table.mean - 0.8)))
    assert table.mean[place] == pytest.approx(0.8)
    assert table.sd[place] == pytest.approx(np.std([0.8, 0.7, 0.9]))
    assert table.size[2] == 0.0
    assert table.mean[2] == pytest.approx(0.5)
    (draws,) = two_triangles.strength_draws
    np.testing.assert_allclose(draws[:, place], [0.8, 0.7, 0.9], rtol=1e-6)
    np.testing.assert_allclose(draws[:, 2], [0.2, 0.5, 0.8], rtol=1e-6)


def test_a_link_probability_is_the_average_over_samples(two_triangles):
    """cem and dot: background + sum of (strength - background) x shared membership, averaged over 3 samples."""
    expected = []
    for cem, strength, delta in [(0.8, 0.8, 0.02), (0.7, 0.7, 0.04), (0.9, 0.9, 0.03)]:
        expected.append(delta + (strength - delta) * cem * 0.3 + (0.6 - delta) * (1 - cem) * 0.7)
    found = two_triangles.link_probability([("cem", "dot"), ("dot", "cem")])
    np.testing.assert_allclose(found, np.mean(expected), atol=PACKED)


def test_pairs_come_as_text_or_integers_lists_or_arrays(two_triangles, posterior_of):
    as_list = two_triangles.link_probability([("ann", "bob"), ["ann", "fay"]])
    as_array = two_triangles.link_probability(np.array([["ann", "bob"], ["ann", "fay"]]))
    as_numbers = two_triangles.node_link_probability(np.array([[0, 1], [0, 5]]))
    np.testing.assert_array_equal(as_list, as_array)
    np.testing.assert_array_equal(as_list, as_numbers)
    post = posterior_of([np.ones((2, 3, 1))], graph=Graph.from_edges([(10, 30), (30, 20)]))
    expected = post.node_link_probability(np.array([[0, 1]]))
    for pairs in ([(10, 20)], [("10", "20")], np.array([[10, 20]]), ((a, b) for a, b in [(10, 20)])):
        np.testing.assert_array_equal(post.link_probability(pairs), expected)


def test_no_pairs_have_no_probabilities(two_triangles):
    assert two_triangles.link_probability([]).shape == (0,)
    assert two_triangles.link_probability(np.empty((0, 2), dtype=int)).shape == (0,)
    assert two_triangles.node_link_probability(np.empty((0, 2), dtype=np.int64)).shape == (0,)


def test_pairs_that_cannot_be_predicted_are_refused_by_name(two_triangles):
    with pytest.raises(InputError, match="no node is labelled 'zoe'"):
        two_triangles.link_probability([("ann", "bob"), ("ann", "zoe")])
    with pytest.raises(InputError, match=r"no link to itself.*\(bob, bob\)"):
        two_triangles.link_probability([("ann", "bob"), ("bob", "bob")])
    for pairs in ([("ann", "bob", "cem")], ("ann", "bob"), ["ab", "cd"], np.array([1, 2]), [1, 2]):
        with pytest.raises(InputError, match="pairs of node labels, two to a pair"):
            two_triangles.link_probability(pairs)


@pytest.mark.parametrize("pairs", [[[0, 6]], [[-1, 2]], [[0, 2**40]], [0, 1], [[0.5, 1.0]]])
def test_node_numbers_outside_the_network_are_never_looked_up(two_triangles, pairs):
    with pytest.raises(InputError, match="pairs"):
        two_triangles.node_link_probability(np.array(pairs))


def test_scores_are_those_of_the_held_out_pairs(two_triangles):
    scores = two_triangles.scores
    assert scores.auc == 1.0
    expected = math.exp(-np.mean(np.log([0.8, 0.5, 0.9, 0.8])))
    assert two_triangles.perplexity == pytest.approx(expected)
    assert (scores.n_links, scores.n_non_links) == (2, 2)
    assert two_triangles.calibration(bins=2).n_links.sum() == 2


def test_without_held_out_pairs_there_is_no_score_and_calibration_says_how_to_get_one(posterior_of):
    post = posterior_of([np.ones((2, 6, 1))])
    assert post.scores is None
    assert math.isnan(post.perplexity)
    with pytest.raises(InputError, match="fit with held_out"):
        post.calibration()
    assert "perplexity" not in repr(post)


def test_a_posterior_prints_its_size_and_scores(two_triangles):
    assert repr(two_triangles).startswith(
        "<Posterior of 6 nodes, 7 links: 0 communities. Convergence unknown. Too few pairs were held out to compare"
    )


def test_a_posterior_without_samples_says_why_it_cannot_predict(posterior_of):
    import dataclasses

    post = dataclasses.replace(posterior_of([np.ones((1, 6, 1))]), draws=((),))
    with pytest.raises(InputError, match="kept no samples"):
        post.link_probability([("ann", "bob")])
