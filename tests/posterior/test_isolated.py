"""Isolated nodes have one posterior: predictions average over all of them, during a run and after it."""

import numpy as np
import pytest

import blockmix as bm
from blockmix.tables.predictor import Predictor


@pytest.fixture(scope="module")
def post():
    made = bm.planted(150, 4, degree=10, seed=2)
    leaves = [(a, 170 + a) for a in range(30)]
    graph = bm.Graph.from_edges([*made.graph.edges().tolist(), *leaves], nodes=np.arange(200))
    return bm.fit(graph, 4, model="assortative", seed=1, sweeps=80, chains=2, held_out=0.1)


def test_nodes_whose_links_were_all_held_out_are_isolated_in_training(post):
    degrees = post.graph.degrees.copy()
    for a, b in post.held_out.pairs[post.held_out.links]:
        degrees[a] -= 1
        degrees[b] -= 1
    np.testing.assert_array_equal(post.unlinked, degrees == 0)
    assert post.unlinked[150:170].all()
    lost = post.unlinked & (post.graph.degrees > 0)
    assert lost.any(), "no node lost all its links"
    assert not post.unlinked[170:].all()


def test_isolated_nodes_are_all_predicted_alike(post):
    alone = np.flatnonzero(post.unlinked)
    partner = int(np.flatnonzero(~post.unlinked)[0])
    found = post.node_link_probability(np.array([(a, partner) for a in alone]))
    np.testing.assert_allclose(found, found[0], rtol=1e-12)
    among = post.node_link_probability(np.array([(alone[0], b) for b in alone[1:]]))
    np.testing.assert_allclose(among, among[0], rtol=1e-12)


def test_the_samples_kept_predict_what_the_run_predicted(post):
    """All samples of the run and those kept are the same here: nothing but rounding to 16 bits lies between."""
    kept = post.node_link_probability(post.held_out.pairs)
    np.testing.assert_allclose(kept, post.held_out.probability, rtol=2e-2, atol=2e-4)


def test_the_mean_over_isolated_nodes_is_the_mean_of_their_predictions(post):
    """Averaging changes no expectation: in each sample it is the mean over nodes, exactly."""
    partner = int(np.flatnonzero(~post.unlinked)[0])
    alone = np.flatnonzero(post.unlinked)
    pairs = np.array([(a, partner) for a in alone])
    each, unpooled = np.zeros(len(pairs)), Predictor(np.zeros(post.graph.n_nodes, dtype=bool))
    for chain in post.draws:
        for sample in chain:
            unpooled.add_sample(sample, pairs, each)
    count = sum(len(chain) for chain in post.draws)
    assert post.node_link_probability(pairs[:1])[0] == pytest.approx((each / count).mean(), rel=1e-9)
