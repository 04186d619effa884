"""Fast local moving: it only raises the constant Potts quality, and where it rests no single move would."""

import numpy as np
import pytest

from blockmix.samplers.starts.local_moves import local_moves


def network(seed, nodes=40, p=0.15):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) < p, 1)
    weight = upper * rng.integers(1, 4, (nodes, nodes))
    return (weight + weight.T).astype(float), rng.integers(1, 5, nodes).astype(float), rng


def lists(weight):
    ends = np.argwhere(weight > 0)
    offsets = np.searchsorted(ends[:, 0], np.arange(len(weight) + 1)).astype(np.int64)
    return offsets, ends[:, 1].copy(), weight[ends[:, 0], ends[:, 1]]


def quality(weight, sizes, resolution, parts):
    together = (parts[:, None] == parts[None, :]) & ~np.eye(len(parts), dtype=bool)
    return 0.5 * np.sum(together * (weight - resolution * np.outer(sizes, sizes)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("resolution", [0.02, 0.2, 1.0])
def test_every_pass_raises_the_quality_until_no_single_move_would(seed, resolution):
    weight, sizes, rng = network(seed)
    parts = np.arange(len(sizes))
    after = quality(weight, sizes, resolution, parts)
    moves = 1
    while moves:
        before = after
        moves = local_moves(*lists(weight), sizes, resolution, rng.permutation(len(sizes)), parts)
        after = quality(weight, sizes, resolution, parts)
        assert after > before or moves == 0
    for a in range(len(sizes)):
        for part in np.unique(parts[weight[a] > 0]):
            moved = parts.copy()
            moved[a] = part
            assert quality(weight, sizes, resolution, moved) <= after + 1e-9


def test_links_of_a_node_with_itself_move_along_and_count_for_nothing():
    weight, sizes, rng = network(1)
    order = rng.permutation(len(sizes))
    plain, looped = np.arange(len(sizes)), np.arange(len(sizes))
    local_moves(*lists(weight), sizes, 0.2, order, plain)
    local_moves(*lists(weight + 50 * np.eye(len(sizes))), sizes, 0.2, order, looped)
    np.testing.assert_array_equal(plain, looped)


def test_two_cliques_joined_by_a_link_are_two_parts():
    weight = np.kron(np.eye(2), np.ones((6, 6))) - np.eye(12)
    weight[0, 6] = weight[6, 0] = 1.0
    parts = np.arange(12)
    local_moves(*lists(weight), np.ones(12), 0.5, np.arange(12), parts)
    assert len(np.unique(parts[:6])) == len(np.unique(parts[6:])) == 1
    assert parts[0] != parts[6]


def test_without_links_nothing_moves():
    parts = np.arange(5)
    empty = np.zeros(0)
    moves = local_moves(
        np.zeros(6, dtype=np.int64), empty.astype(np.int64), empty, np.ones(5), 0.1, np.arange(5), parts
    )
    assert moves == 0
    np.testing.assert_array_equal(parts, np.arange(5))
