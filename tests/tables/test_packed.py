"""A packed sample has the memberships of the state it was made of, and a store keeps samples evenly spread."""

import numpy as np
import pytest

from blockmix.tables.packed import LEAST_WEIGHT, WEIGHT_SCALE, count_used, pack
from blockmix.tables.predictor import Predictor
from blockmix.tables.samples import PosteriorSample, SampleStore, _row_sums, sample_limit

HALF_A_STEP = 0.5 / WEIGHT_SCALE


@pytest.fixture
def state(sparse_rows, random_memberships):
    rng = np.random.default_rng(4)
    dense = random_memberships(rng, 30, 20, 6)
    return dense, sparse_rows(dense, 6)


def test_weights_survive_packing_to_half_a_step(state):
    dense, rows = state
    counts = np.empty(len(dense), dtype=np.uint8)
    used = count_used(rows, 0, counts)
    np.testing.assert_array_equal(counts, (dense >= np.float32(LEAST_WEIGHT)).sum(axis=1))
    communities, weights = np.empty(used, dtype=np.uint16), np.zeros(used, dtype=np.uint16)
    pack(rows, 0, communities, weights, np.empty(0, dtype=np.uint16))
    nodes = np.repeat(np.arange(len(dense)), counts)
    assert np.abs(weights / WEIGHT_SCALE - dense[nodes, communities]).max() <= HALF_A_STEP * (1 + 1e-6)
    assert weights.min() >= 1


def test_memberships_of_some_nodes_are_read_from_their_rows_and_renumbered(state):
    dense, rows = state
    nodes, numbers = np.array([0, 5, 23]), np.random.default_rng(1).permutation(20)
    found = PosteriorSample.of(3, rows, np.full(21, 0.5)).memberships(nodes, numbers)
    np.testing.assert_allclose(found[:, numbers], dense[nodes], atol=6 * HALF_A_STEP)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def probability(sample):
    out = np.zeros(1)
    Predictor(np.zeros(2, dtype=bool)).add_sample(sample, np.array([[0, 1]]), out)
    return out[0]


def test_weights_too_small_to_keep_are_shared_out_over_the_rest(sparse_rows):
    tiny = LEAST_WEIGHT / 4
    rows = sparse_rows(np.array([[1 - 2 * tiny, tiny, tiny], [1.0, 0.0, 0.0]]), 3)
    sample = PosteriorSample.of(0, rows, np.array([0.8, 0.5, 0.5, 0.01]))
    np.testing.assert_array_equal(sample.counts, [1, 1])
    assert probability(sample) == pytest.approx(0.8, abs=1e-6)


def test_many_communities_get_a_wider_type(sparse_rows):
    dense = np.zeros((2, 70_000))
    dense[0, 69_999] = dense[1, 69_999] = 1.0
    value = np.append(np.full(70_000, 0.25), 0.001)
    sample = PosteriorSample.of(0, sparse_rows(dense, 2), value)
    assert sample.communities.dtype == np.uint32
    assert probability(sample) == pytest.approx(0.25, abs=1e-4)


@pytest.mark.parametrize("limit", [2, 8, 10])
def test_a_store_keeps_at_most_its_limit_evenly_spread(limit, sparse_rows):
    rows, value = sparse_rows(np.eye(2), 1), np.array([0.5, 0.5, 0.1])
    store = SampleStore(limit=limit)
    for sample in range(200):
        store.offer(sample, 100 + sample, rows, value)
        sweeps = [kept.sweep - 100 for kept in store.samples]
        assert sweeps == list(range(0, sample + 1, store.every))
        assert len(sweeps) <= limit
        assert len(sweeps) >= min(sample + 1, limit // 2)


def test_what_is_kept_does_not_depend_on_how_long_the_run_will_be(sparse_rows):
    rows, value = sparse_rows(np.eye(2), 1), np.array([0.5, 0.5, 0.1])
    short, long = SampleStore(limit=8), SampleStore(limit=8)
    for sample in range(61):
        long.offer(sample, sample, rows, value)
        if sample < 37:
            short.offer(sample, sample, rows, value)
    kept = [sample.sweep for sample in short.samples]
    assert {sample.sweep for sample in long.samples if sample.sweep < 37} <= set(kept)


def test_a_store_finds_its_limit_from_the_first_sample(sparse_rows):
    store = SampleStore()
    store.offer(0, 0, sparse_rows(np.eye(2), 1), np.array([0.5, 0.5, 0.1]))
    assert store.limit == 256


@pytest.mark.parametrize(("nodes", "size"), [(1, 0), (10, 100), (10**6, 10**7), (10**8, 10**10), (5, 10**12)])
def test_the_limit_is_even_and_within_its_bounds(nodes, size):
    limit = sample_limit(nodes, size)
    assert 8 <= limit <= 256
    assert limit % 2 == 0


def test_a_larger_sample_never_raises_the_limit():
    limits = [sample_limit(10**6, size) for size in (10**5, 10**6, 10**7, 10**8)]
    assert limits == sorted(limits, reverse=True)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("nodes", [0, 1, 255, 256, 257, 1000])
def test_row_lengths_are_added_up_exactly(kind, nodes):
    """Also where all are as long as their type allows: 256 bytes of 255 just fit into 16 bits."""
    counts = np.full((2, nodes), np.iinfo(kind).max, dtype=kind)
    counts[1] = np.arange(nodes) % 5
    np.testing.assert_array_equal(_row_sums(counts), counts.astype(np.int64).sum(axis=1))
