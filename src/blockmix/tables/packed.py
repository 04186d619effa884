"""Whole draws of the memberships, packed: used slots only, weights in 16 bits."""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import kernel
from blockmix.tables.layout import Rows

# A weight in (0, 1] becomes 1..65535: an error of at most 1.6e-5 in a membership.
WEIGHT_SCALE = 65535.0
# Weights below this are left out of a packed draw; together they weigh less than the quantisation of a row.
LEAST_WEIGHT = 1e-3


@kernel
def count_used(rows: Rows, counts: np.ndarray) -> int:
    """Number of slots of every node worth storing; returns their sum."""
    total = 0
    for a in range(len(rows.total)):
        used = 0
        for j in range(rows.words.shape[1] // 2):
            if rows.words[a, 2 * j] < 0:
                break
            if rows.weights[a, 2 * j + 1] >= LEAST_WEIGHT:
                used += 1
        counts[a] = used
        total += used
    return total


@kernel
def pack(rows: Rows, communities: np.ndarray, weights: np.ndarray) -> None:
    """Write the slots that `count_used` counted, node after node."""
    at = 0
    for a in range(len(rows.total)):
        for j in range(rows.words.shape[1] // 2):
            k = rows.words[a, 2 * j]
            if k < 0:
                break
            weight = rows.weights[a, 2 * j + 1]
            if weight >= LEAST_WEIGHT:
                communities[at] = k
                weights[at] = max(1, round(np.float64(weight) * WEIGHT_SCALE))
                at += 1


@kernel
def add_packed_probabilities(
    pairs: np.ndarray, offsets: np.ndarray, communities: np.ndarray, weights: np.ndarray, value: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    """Add (M1) of every pair under one packed draw; rows are renormalised, so that they sum to one."""
    background = np.float64(value[-1])
    for i in range(len(pairs)):
        a, b = pairs[i, 0], pairs[i, 1]
        sum_a, sum_b = 0.0, 0.0
        for s in range(offsets[a], offsets[a + 1]):
            sum_a += weights[s]
        for t in range(offsets[b], offsets[b + 1]):
            sum_b += weights[t]
        shared = 0.0
        for s in range(offsets[a], offsets[a + 1]):
            for t in range(offsets[b], offsets[b + 1]):
                if communities[s] == communities[t]:
                    shared += (
                        (np.float64(value[communities[s]]) - background) * weights[s] * np.float64(weights[t])
                    )
        out[i] += background + shared / (sum_a * sum_b)


@kernel
def add_packed_block_probabilities(
    pairs: np.ndarray, offsets: np.ndarray, communities: np.ndarray, weights: np.ndarray, value: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    """The same for the general model: sum_kl pi_ak B_kl pi_bl, `value` being the K x K matrix B."""
    for i in range(len(pairs)):
        a, b = pairs[i, 0], pairs[i, 1]
        total, probability = 0.0, 0.0
        for s in range(offsets[a], offsets[a + 1]):
            for t in range(offsets[b], offsets[b + 1]):
                both = np.float64(weights[s]) * np.float64(weights[t])
                total += both
                probability += both * np.float64(value[communities[s], communities[t]])
        out[i] += probability / total


@kernel
def pool_packed(
    nodes: np.ndarray, offsets: np.ndarray, communities: np.ndarray, weights: np.ndarray, pooled: np.ndarray
) -> None:
    """Mean memberships of these nodes under one packed draw, community by community."""
    pooled[:] = 0.0
    for i in range(len(nodes)):
        total = 0.0
        for s in range(offsets[nodes[i]], offsets[nodes[i] + 1]):
            total += weights[s]
        for s in range(offsets[nodes[i]], offsets[nodes[i] + 1]):
            pooled[communities[s]] += weights[s] / (total * len(nodes))


@kernel
def add_packed_pooled_probabilities(
    pairs: np.ndarray, offsets: np.ndarray, communities: np.ndarray, weights: np.ndarray, value: np.ndarray,
    unlinked: np.ndarray, pooled: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """Add (M1) of pairs with an end that has no links (`unlinked`), whose memberships are `pooled`; no others."""
    background = np.float64(value[-1])
    both = 0.0
    for k in range(len(pooled)):
        both += (np.float64(value[k]) - background) * pooled[k] * pooled[k]
    for i in range(len(pairs)):
        a, b = pairs[i, 0], pairs[i, 1]
        if unlinked[b]:
            a, b = b, a
        if not unlinked[a]:
            continue
        if unlinked[b]:
            out[i] += background + both
            continue
        total, shared = 0.0, 0.0
        for s in range(offsets[b], offsets[b + 1]):
            total += weights[s]
            shared += (np.float64(value[communities[s]]) - background) * pooled[communities[s]] * weights[s]
        out[i] += background + shared / total
