"""Chains count for all held-out predictions by the weights that the pooling rule gives them."""

from types import SimpleNamespace

import numpy as np

import blockmix as bm
from blockmix.graph.split import hold_out
from blockmix.inference.result import _pooled_predictions


def test_a_chain_worse_than_the_density_predicts_no_matched_pair_either():
    """Matched non-links come behind the held-out pairs in a chain's forecast; no weight is chosen by them."""
    data = hold_out(bm.planted(200, 4, degree=12, seed=1).graph, 0.15, seed=2)
    links, matched = data.links, len(data.matched)
    assert matched > 20
    good = np.append(np.where(links, 0.6, 0.01), np.full(matched, 0.02))
    bad = np.append(np.where(links, 1e-6, 0.6), np.full(matched, 0.7))
    chains = [SimpleNamespace(forecast=lambda values=values: values) for values in (bad, good)]
    pool, held_out = _pooled_predictions(data, SimpleNamespace(chains=chains), False)
    assert pool.weights.tolist() == [0.0, 1.0]
    np.testing.assert_array_equal(held_out.matched_probability, good[len(links) :])
    np.testing.assert_array_equal(held_out.probability, good[: len(links)])
