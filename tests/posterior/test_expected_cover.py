"""The cover of the largest expected F1: shares of links, members of a sample, and which memberships are listed."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from blockmix import Graph
from blockmix.posterior.covers.expected import (
    best_bound,
    expected_members,
    link_shares,
    members_of,
    membership_probability,
)

LINKS = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5), (0, 5)]


def history(rows, samples=3):
    return np.tile(np.asarray(rows, dtype=float), (samples, 1, 1))


@pytest.mark.parametrize("popular", [False, True])
def test_shares_of_links_are_the_mean_probabilities_that_links_are_made_in_a_community(posterior_of, popular):
    rng = np.random.default_rng(3)
    pi = rng.dirichlet(np.full(3, 0.5), 7)
    strengths = np.array([0.9, 0.4, 0.2, 0.03])
    post = posterior_of([history(pi)], graph=Graph.from_edges(LINKS, nodes=range(7)))
    expected = np.zeros((7, 3))
    for link in LINKS:
        both = pi[link[0]] * pi[link[1]]
        outside = strengths[3] * (1.0 if popular else 1.0 - both.sum())
        for end in link:
            expected[end] += both * strengths[:3] / (both @ strengths[:3] + outside)
    expected /= np.maximum(post.graph.degrees, 1)[:, None]
    shares = sp.csr_array(pi)
    found = link_shares(post, shares, strengths, popular)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)
    members_of(found, post.graph.degrees, 0.5)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)
    np.testing.assert_array_equal(shares.toarray(), pi)


def test_no_cover_has_a_larger_expected_f1_than_the_best_one():
    rng = np.random.default_rng(8)
    for probability in rng.beta(0.6, 0.8, (40, 7)):
        chosen = probability >= best_bound(probability)

        def score(cover, p=probability):
            return 2 * p[cover].sum() / (cover.sum() + p.sum())

        covers = (np.array(bits, dtype=bool) for bits in product((0, 1), repeat=7) if any(bits))
        assert score(chosen) == pytest.approx(max(score(cover) for cover in covers))


def test_where_all_is_doubtful_memberships_below_one_half_are_listed():
    doubtful, sure = np.full(4, 0.4), np.array([1.0, 1.0, 1.0, 0.4])
    assert (doubtful >= best_bound(doubtful)).all()
    assert (sure >= best_bound(sure)).tolist() == [True, True, True, False]


def test_a_member_has_the_threshold_and_more_than_one_link_or_its_largest_share_there():
    shares = sp.csr_array([[0.85, 0.1, 0.05], [0.6, 0.3, 0.0], [0.2, 0.0, 0.1], [0.0, 0.0, 0.0]])
    degrees = np.array([20, 3, 1, 0])
    found = members_of(shares, degrees, 0.1).toarray().tolist()
    assert found == [[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_probabilities_are_averaged_over_chains_by_their_weights(posterior_of):
    """In two chains of three node 2 belongs to the first triangle, in the third to the other."""
    graph = Graph.from_edges([(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)])
    left = [[1, 0]] * 3 + [[0, 1]] * 2
    right = [[1, 0]] * 2 + [[0, 1]] * 3
    post = posterior_of([history(left), history(left), history(right)], graph=graph)
    probability, mean = membership_probability(post, 0.1)
    first, second = sorted(range(2), key=lambda k: -probability[[2]].toarray()[0, k])
    np.testing.assert_allclose(probability[[2]].toarray()[0, [first, second]], [2 / 3, 1 / 3])
    assert (probability.indices == mean.indices).all()
    assert mean[[2]].toarray()[0, first] == pytest.approx(2 * mean[[2]].toarray()[0, second])
    nodes, communities, _ = expected_members(post, 0.1)
    assert [(a, k) for a, k in zip(nodes.tolist(), communities.tolist(), strict=True) if a == 2] == [
        (2, first)
    ]
