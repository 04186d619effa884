"""Nodes without links have one posterior: predictions average over all of them, while a run goes on and after it."""

import numpy as np
import pytest

import blockmix as bm
from blockmix.model.reference import pair_likelihood
from blockmix.tables.predict import add_pair_probabilities, add_pooled_probabilities, pool_rows


@pytest.fixture(scope="module")
def post():
    made = bm.planted(150, 4, degree=10, seed=2)
    graph = bm.Graph.from_edges(made.graph.edges(), nodes=np.arange(170))
    return bm.fit(graph, 4, seed=1, sweeps=80, chains=2, held_out=0.1)


def test_kernel_predicts_with_the_mean_of_the_rows_of_unlinked_nodes(sparse_rows, random_memberships):
    rng = np.random.default_rng(4)
    pi = random_memberships(rng, 12, 5, 3)
    rows, value = sparse_rows(pi, 4), rng.uniform(0.05, 0.9, 6)
    unlinked = np.zeros(12, dtype=bool)
    unlinked[[2, 5, 9]] = True
    pooled = np.empty(5)
    pool_rows(np.flatnonzero(unlinked), rows, pooled)
    np.testing.assert_allclose(pooled, pi[unlinked].mean(axis=0), atol=1e-7)
    pairs = np.array([(a, b) for a in range(12) for b in range(a)], dtype=np.int64)
    out, plain = np.ones(len(pairs)), np.ones(len(pairs))
    add_pooled_probabilities(0, len(pairs), pairs, rows, value, unlinked, pooled, 0.5, 2.0, out)
    add_pair_probabilities(0, len(pairs), pairs, rows, value, 0.5, 2.0, plain)
    seen = np.where(unlinked[:, None], pooled, pi)
    expected = [pair_likelihood(1, seen[a], seen[b], value[:-1], value[-1]) for a, b in pairs]
    np.testing.assert_allclose(out, 0.5 + 2.0 * np.array(expected), rtol=1e-6)
    touched = unlinked[pairs].any(axis=1)
    np.testing.assert_array_equal(out[~touched], plain[~touched])
    assert not np.allclose(out[touched], plain[touched])


def test_nodes_whose_links_were_all_held_out_are_unlinked(post):
    degrees = post.graph.degrees.copy()
    for a, b in post.held_out.pairs[post.held_out.links]:
        degrees[a] -= 1
        degrees[b] -= 1
    np.testing.assert_array_equal(post.unlinked, degrees == 0)
    assert post.unlinked[150:].all()


def test_unlinked_nodes_are_all_predicted_alike(post):
    alone = np.flatnonzero(post.unlinked)
    partner = int(np.flatnonzero(~post.unlinked)[0])
    found = post.node_link_probability(np.array([(a, partner) for a in alone]))
    np.testing.assert_allclose(found, found[0], rtol=1e-12)
    among = post.node_link_probability(np.array([(alone[0], b) for b in alone[1:]]))
    np.testing.assert_allclose(among, among[0], rtol=1e-12)


def test_the_draws_kept_predict_what_the_run_predicted(post):
    """All samples and the draws kept of them are the same here: nothing but rounding to 16 bits lies between."""
    kept = post.node_link_probability(post.held_out.pairs)
    np.testing.assert_allclose(kept, post.held_out.probability, rtol=2e-2, atol=2e-4)


def test_the_mean_over_unlinked_nodes_is_the_mean_of_their_predictions(post):
    """Averaging changes no expectation: per draw it is the mean over nodes, exactly."""
    partner = int(np.flatnonzero(~post.unlinked)[0])
    alone = np.flatnonzero(post.unlinked)
    pairs = np.array([(a, partner) for a in alone])
    each = np.zeros(len(pairs))
    for chain in post.draws:
        for draw in chain:
            draw.add_probabilities(pairs, each)
    count = sum(len(chain) for chain in post.draws)
    assert post.node_link_probability(pairs[:1])[0] == pytest.approx((each / count).mean(), rel=1e-9)
