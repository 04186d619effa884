"""The predictor gives the probability of the reference, on rows and on packed samples, for both models.

Where an end of a pair is isolated it is the mean over isolated nodes, for two such ends over pairs of different ones.
"""

from functools import partial

import numpy as np
import pytest

from blockmix.model.reference import general_pair_likelihood, pair_likelihood
from blockmix.numerics.workers import Workers
from blockmix.tables.packed import LEAST_WEIGHT, WEIGHT_SCALE
from blockmix.tables.predictor import Predictor
from blockmix.tables.samples import PosteriorSample

# Weights are float32 in rows; everything else is float64.
SINGLE_PRECISION = 2.0**-23
KINDS = ("assortative", "general")
ISOLATED = {"none": [], "one": [4], "two": [1, 5], "some": [1, 4, 5, 9], "all": list(range(12))}


def random_strengths(rng, kind, communities):
    if kind == "assortative":
        return rng.uniform(0.0, 1.0, communities + 1)
    blocks = rng.uniform(0.0, 1.0, (communities, communities))
    return (blocks + blocks.T) / 2


def reference_probability(strengths, pi_a, pi_b):
    if strengths.ndim == 2:
        return general_pair_likelihood(1, pi_a, pi_b, strengths)
    return pair_likelihood(1, pi_a, pi_b, strengths[:-1], float(strengths[-1]))


@pytest.fixture
def state(sparse_rows, random_memberships):
    def build(kind, communities=9, slots=4, isolated="some", nodes=12):
        rng = np.random.default_rng(communities)
        pi = random_memberships(rng, nodes, communities, slots)
        marked = np.zeros(nodes, dtype=bool)
        marked[ISOLATED[isolated]] = True
        pairs = np.array([(a, b) for a in range(nodes) for b in range(nodes) if a != b], dtype=np.int64)
        return pi, sparse_rows(pi, slots), random_strengths(rng, kind, communities), marked, pairs

    return build


def average(predictor, pairs, rows, strengths, keep, share, out, threads=1):
    with Workers(threads) as workers:
        predictor.predict(workers, pairs, rows, strengths, keep, share, out)
    return out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("isolated", ISOLATED)
@pytest.mark.parametrize(("communities", "slots"), [(1, 1), (9, 4), (40, 16), (6, 6)])
def test_rows_have_the_probabilities_of_the_reference(
    kind, isolated, communities, slots, state, pooled_probabilities
):
    pi, rows, strengths, marked, pairs = state(kind, communities, slots, isolated)
    found = average(Predictor(marked), pairs, rows, strengths, 0.0, 1.0, np.zeros(len(pairs)))
    expected = pooled_probabilities(pairs, pi, marked, partial(reference_probability, strengths))
    np.testing.assert_allclose(found, expected, atol=SINGLE_PRECISION)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("isolated", ISOLATED)
@pytest.mark.parametrize(("communities", "slots"), [(1, 1), (9, 4), (300, 6)])
def test_a_packed_sample_has_the_probabilities_of_the_state(
    kind, isolated, communities, slots, state, pooled_probabilities
):
    """A weight loses half a step, or all of it below the least; a row of L moves by at most L times that."""
    pi, rows, strengths, marked, pairs = state(kind, communities, slots, isolated)
    out = np.full(len(pairs), 0.5)
    Predictor(marked).add_sample(PosteriorSample.of(7, rows, strengths), pairs, out)
    expected = pooled_probabilities(pairs, pi, marked, partial(reference_probability, strengths))
    # no weight of these rows is below the least, so that only rounding to 16 bits is between the two
    assert pi[pi > 0].min() > LEAST_WEIGHT
    np.testing.assert_allclose(out - 0.5, expected, atol=2 * slots / WEIGHT_SCALE)


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_averaged_with_the_weights_given(kind, state):
    _, rows, strengths, marked, pairs = state(kind)
    now = average(Predictor(marked), pairs, rows, strengths, 0.0, 1.0, np.zeros(len(pairs)))
    before = np.linspace(0.1, 0.9, len(pairs))
    found = average(Predictor(marked), pairs, rows, strengths, 0.75, 0.25, before.copy())
    np.testing.assert_allclose(found, 0.75 * before + 0.25 * now, rtol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_changes_no_bit(kind, state):
    _, rows, strengths, marked, pairs = state(kind, nodes=25)
    one = average(Predictor(marked), pairs, rows, strengths, 0.5, 0.5, np.ones(len(pairs)))
    for threads in (2, 3):
        other = average(Predictor(marked), pairs, rows, strengths, 0.5, 0.5, np.ones(len(pairs)), threads)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_no_pairs_are_no_work(kind, state):
    _, rows, strengths, marked, _ = state(kind)
    none = np.empty((0, 2), dtype=np.int64)
    average(Predictor(marked), none, rows, strengths, 0.0, 1.0, np.empty(0))
    Predictor(marked).add_sample(PosteriorSample.of(0, rows, strengths), none, np.empty(0))


@pytest.mark.parametrize("kind", KINDS)
def test_two_isolated_nodes_that_share_nothing_have_what_they_have_without_pooling(kind, sparse_rows):
    """The pooled row at both ends would give each of them half of the other's communities, and its own."""
    rows = sparse_rows(np.eye(2), 1)
    strengths = np.array([0.9, 0.8, 0.01]) if kind == "assortative" else np.array([[0.9, 0.01], [0.01, 0.8]])
    isolated, pair, out = np.ones(2, dtype=bool), np.array([[0, 1]]), np.zeros(1)
    average(Predictor(isolated), pair, rows, strengths, 0.0, 1.0, out)
    assert out[0] == pytest.approx(0.01, rel=1e-12)
    Predictor(isolated).add_sample(PosteriorSample.of(0, rows, strengths), pair, out)
    assert out[0] == pytest.approx(0.02, rel=SINGLE_PRECISION)
