"""Rows with an even rest have the probabilities of the same rows written out, in a state and in a posterior sample."""

from dataclasses import replace

import numpy as np
import pytest

from blockmix.files import Damaged
from blockmix.model.reference import pair_likelihood
from blockmix.numerics.workers import Workers
from blockmix.posterior.quantities import expected_sizes
from blockmix.tables.even import even_rows
from blockmix.tables.packed import LEAST_WEIGHT, WEIGHT_SCALE
from blockmix.tables.predictor import Predictor
from blockmix.tables.samples import PosteriorSample, SampleStore, check_samples, sample_arrays, samples_from

NODES = 12
# Weights are float32; everything else is float64.
SINGLE_PRECISION = 2.0**-22
ISOLATED = {"none": [], "one": [4], "two": [1, 5], "some": [1, 4, 5, 9], "all": list(range(NODES))}
# Communities, and slots: one listed, some, all of them, and so many that each of the others is below what is kept.
SHAPES = [(1, 1), (2, 1), (9, 4), (6, 6), (3000, 5)]


def written_out(listed):
    """Return rows in which what the listed weights lack to one is spread evenly over all others."""
    others = listed == 0.0
    rest = np.maximum(1.0 - listed.sum(axis=1), 0.0) / np.maximum(others.sum(axis=1), 1)
    return listed + others * rest[:, None]


def packed(listed):
    """Return what a sample keeps of these rows: the weights that differ from those outside of the row."""
    others = listed == 0.0
    even = np.maximum(1.0 - listed.sum(axis=1), 0.0) / np.maximum(others.sum(axis=1), 1)
    even = np.where(others.any(axis=1), even, 0.0)
    return np.where(others | (abs(listed - even[:, None]) < LEAST_WEIGHT), 0.0, listed)


@pytest.fixture
def state(sparse_rows, random_memberships):
    def build(communities, slots, isolated="some"):
        rng = np.random.default_rng(communities)
        listed = random_memberships(rng, NODES, communities, slots)
        # Rests from nothing to nearly all; rows that list every community have none.
        share = np.where((listed == 0.0).any(axis=1), rng.choice([0.03, 0.4, 1.0], NODES), 1.0)
        listed = (listed * share[:, None]).astype(np.float32).astype(np.float64)
        marked = np.zeros(NODES, dtype=bool)
        marked[ISOLATED[isolated]] = True
        return listed, sparse_rows(listed, slots), rng.uniform(0.0, 1.0, communities + 1), marked

    return build


def all_pairs():
    return np.array([(a, b) for a in range(NODES) for b in range(NODES) if a != b], dtype=np.int64)


def enumerated(pooled_probabilities, pi, strengths, marked):
    return pooled_probabilities(
        all_pairs(), pi, marked, lambda a, b: pair_likelihood(1, a, b, strengths[:-1], float(strengths[-1]))
    )


@pytest.mark.parametrize("isolated", ISOLATED)
@pytest.mark.parametrize(("communities", "slots"), SHAPES)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_state_has_the_probabilities_of_its_rows_written_out(
    communities, slots, isolated, threads, state, pooled_probabilities
):
    listed, rows, strengths, marked = state(communities, slots, isolated)
    pairs, found = all_pairs(), np.full(NODES * (NODES - 1), 0.5)
    with Workers(threads) as workers:
        Predictor(marked, even_rest=True).predict(workers, pairs, rows, strengths, 0.5, 2.0, found)
    expected = enumerated(pooled_probabilities, written_out(listed), strengths, marked)
    np.testing.assert_allclose(found, 0.25 + 2.0 * expected, atol=2.0 * SINGLE_PRECISION)


@pytest.mark.parametrize("isolated", ISOLATED)
@pytest.mark.parametrize(("communities", "slots"), SHAPES)
def test_a_sample_has_the_probabilities_of_the_state(
    communities, slots, isolated, state, pooled_probabilities
):
    """Each of L weights and the rest loses half a step, at either end; what is small goes to the rest."""
    listed, rows, strengths, marked = state(communities, slots, isolated)
    found = np.full(NODES * (NODES - 1), 0.5)
    Predictor(marked).add_sample(PosteriorSample.of(7, rows, strengths, True), all_pairs(), found)
    expected = enumerated(pooled_probabilities, written_out(packed(listed)), strengths, marked)
    np.testing.assert_allclose(found - 0.5, expected, atol=2 * (slots + 1) / WEIGHT_SCALE)


def test_without_a_rest_the_rows_alone_are_predicted(state):
    """The two ways through the predictor differ where, and only where, something is left over."""
    _, rows, strengths, marked = state(9, 4)
    bare = PosteriorSample.of(0, rows, strengths)
    assert bare.rest is None
    found = np.zeros((2, NODES * (NODES - 1)))
    Predictor(marked).add_sample(bare, all_pairs(), found[0])
    none = replace(bare, rest=np.zeros(NODES, dtype=np.uint16))
    Predictor(marked).add_sample(none, all_pairs(), found[1])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize(("communities", "slots"), SHAPES)
def test_memberships_and_sizes_give_every_community_its_part_of_the_rest(communities, slots, state):
    listed, rows, strengths, _ = state(communities, slots)
    sample = PosteriorSample.of(0, rows, strengths, True)
    numbers = np.random.default_rng(2).permutation(communities)
    found = sample.memberships(np.arange(NODES), numbers)[:, numbers]
    pi = written_out(packed(listed))
    np.testing.assert_allclose(found, pi, atol=(slots + 1) / WEIGHT_SCALE)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(expected_sizes(sample, communities), found.sum(axis=0), rtol=1e-10, atol=1e-12)


def test_a_row_that_is_all_rest_is_even(sparse_rows):
    """What a row lists at the value that all others have is left to the rest, even where nothing else is listed."""
    rows = sparse_rows(np.array([[0.3334, 0.3331, 0.0], [0.7, 0.2, 0.05]]), 3)
    sample = PosteriorSample.of(0, rows, np.array([0.8, 0.5, 0.2, 0.01]), True)
    np.testing.assert_array_equal(sample.counts, [0, 3])
    np.testing.assert_array_equal(sample.rest, [WEIGHT_SCALE, 0])
    third = np.full(3, 1 / 3)
    np.testing.assert_allclose(sample.memberships(np.array([0]), np.arange(3))[0], third)
    out, other = np.zeros(1), np.array([0.7, 0.2, 0.05]) / 0.95
    Predictor(np.zeros(2, dtype=bool)).add_sample(sample, np.array([[1, 0]]), out)
    assert out[0] == pytest.approx(
        pair_likelihood(1, other, third, np.array([0.8, 0.5, 0.2]), 0.01), abs=3 / WEIGHT_SCALE
    )


def test_a_community_listed_far_below_the_others_is_kept(sparse_rows):
    """Left out as a small weight it would have the part that every other one has of a large rest."""
    rows = sparse_rows(np.array([[2e-4, 0.4, 0.0, 0.0]]), 4)
    sample = PosteriorSample.of(0, rows, np.full(5, 0.5), True)
    np.testing.assert_allclose(
        sample.memberships(np.array([0]), np.arange(4))[0], [2e-4, 0.4, 0.2999, 0.2999], atol=3 / WEIGHT_SCALE
    )


def test_a_weight_beyond_one_by_rounding_leaves_no_rest(sparse_rows):
    rows = sparse_rows(np.array([[1.0 + 2.0**-20, 0.0]]), 1)
    assert even_rows(rows).rest.tolist() == [0.0]
    assert PosteriorSample.of(0, rows, np.full(3, 0.5), True).rest.tolist() == [0]


def test_a_store_keeps_the_rest_and_counts_its_bytes(state):
    _, rows, strengths, _ = state(9, 4)
    store = SampleStore()
    for number in range(3):
        store.offer(number, number, rows, strengths, even_rest=True)
    bare = PosteriorSample.of(0, rows, strengths)
    assert "rest" not in sample_arrays([bare])
    assert store.samples[0].nbytes == replace(store.samples[0], rest=None).nbytes + 2 * NODES
    restored = SampleStore.restore(store.arrays())
    for before, after in zip(store.samples, restored.samples, strict=True):
        np.testing.assert_array_equal(before.rest, after.rest)
        assert after.rest.base is None, "a view would keep the rests of all samples alive"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda a: a.astype(np.int32), "rest"),
        (lambda a: a[:, :-1], "rest"),
        (lambda a: np.concatenate([a, a]), "rest"),
    ],
)
def test_a_rest_that_does_not_fit_the_samples_is_refused(change, expected, state):
    _, rows, strengths, _ = state(9, 4)
    arrays = sample_arrays([PosteriorSample.of(0, rows, strengths, True)])
    check_samples(arrays, NODES, (10,))
    assert samples_from(arrays)[0].rest is not None
    with pytest.raises(Damaged, match=expected):
        check_samples(arrays | {"rest": change(arrays["rest"])}, NODES, (10,))
    square = arrays | {"strengths": np.zeros((1, 9, 9), dtype=np.float32)}
    with pytest.raises(Damaged, match="general model"):
        check_samples(square, NODES, (9, 9))
