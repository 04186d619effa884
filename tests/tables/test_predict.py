"""The link probability of a pair under a state is equation (M1), on sparse rows as on dense ones."""

import numpy as np
import pytest

from blockmix.model.reference import pair_likelihood
from blockmix.tables.predict import add_pair_probabilities, pair_probability

# Weights are float32, and so may be their products: half a unit in the last of 24 bits, of at most 1 in all.
SINGLE_PRECISION = 2.0**-23
ROUNDING = 1e-12


def state(sparse_rows, random_memberships, seed=1, nodes=12, communities=9, slots=4):
    rng = np.random.default_rng(seed)
    dense = random_memberships(rng, nodes, communities, slots)
    value = np.append(rng.uniform(0.0, 1.0, communities), 0.03)
    return dense, sparse_rows(dense, slots), value


@pytest.mark.parametrize(("communities", "slots"), [(1, 1), (9, 4), (40, 16)])
def test_every_pair_has_the_probability_of_the_reference(communities, slots, sparse_rows, random_memberships):
    dense, rows, value = state(sparse_rows, random_memberships, communities=communities, slots=slots)
    for a in range(len(dense)):
        for b in range(a):
            expected = pair_likelihood(1, dense[a], dense[b], value[:-1], value[-1])
            assert pair_probability(a, b, rows, value) == pytest.approx(expected, abs=SINGLE_PRECISION)
            assert pair_probability(b, a, rows, value) == pytest.approx(expected, abs=SINGLE_PRECISION)


def test_probabilities_are_averaged_with_the_weights_given(sparse_rows, random_memberships):
    _, rows, value = state(sparse_rows, random_memberships)
    pairs = np.array([[0, 1], [4, 2], [3, 3 + 1]])
    each = np.array([pair_probability(a, b, rows, value) for a, b in pairs])
    out = np.array([0.1, 0.2, 0.3])
    add_pair_probabilities(1, 3, pairs, rows, value, 0.75, 0.25, out)
    np.testing.assert_allclose(out[1:], 0.75 * np.array([0.2, 0.3]) + 0.25 * each[1:], atol=ROUNDING)
    assert out[0] == 0.1


def test_no_pairs_are_no_work(sparse_rows, random_memberships):
    _, rows, value = state(sparse_rows, random_memberships)
    add_pair_probabilities(0, 0, np.empty((0, 2), dtype=np.int64), rows, value, 0.0, 1.0, np.empty(0))
