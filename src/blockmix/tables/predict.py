"""Link probabilities of pairs under one state, equation (M1) on sparse rows."""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import kernel
from blockmix.tables.layout import Rows


@kernel
def pair_probability(a: int, b: int, rows: Rows, value: np.ndarray) -> float:
    """(M1) delta + sum_k (beta_k - delta) pi_ak pi_bk; `value` holds the strengths, the background last."""
    slots = rows.words.shape[1] // 2
    background = value[-1]
    probability = background
    for i in range(slots):
        k = rows.words[a, 2 * i]
        if k < 0:
            break
        for j in range(slots):
            other = rows.words[b, 2 * j]
            if other < 0:
                break
            if other == k:
                shared = np.float64(rows.weights[a, 2 * i + 1]) * np.float64(rows.weights[b, 2 * j + 1])
                probability += (value[k] - background) * shared
                break
    return float(probability)


@kernel
def add_pair_probabilities(
    begin: int,
    end: int,
    pairs: np.ndarray,
    rows: Rows,
    value: np.ndarray,
    keep: float,
    weight: float,
    out: np.ndarray,
) -> None:
    """out = keep * out + weight * probability, for the pairs [begin, end)."""
    for i in range(begin, end):
        probability = pair_probability(pairs[i, 0], pairs[i, 1], rows, value)
        out[i] = keep * out[i] + weight * probability


@kernel
def pool_rows(nodes: np.ndarray, rows: Rows, pooled: np.ndarray) -> None:
    """Mean memberships of these nodes, community by community.

    Nodes without links are exchangeable: given everybody else each has the same law, so that the mean over all of them
    stands for any one with far less noise.
    """
    pooled[:] = 0.0
    for i in range(len(nodes)):
        for j in range(rows.words.shape[1] // 2):
            k = rows.words[nodes[i], 2 * j]
            if k < 0:
                break
            pooled[k] += np.float64(rows.weights[nodes[i], 2 * j + 1])
    for k in range(len(pooled)):
        pooled[k] /= len(nodes)


@kernel
def add_pooled_probabilities(
    begin: int, end: int, pairs: np.ndarray, rows: Rows, value: np.ndarray, unlinked: np.ndarray, pooled: np.ndarray,
    keep: float, weight: float, out: np.ndarray,
) -> None:  # fmt: skip
    """Like `add_pair_probabilities`, where nodes without links (`unlinked`) have the memberships `pooled`."""
    background = value[-1]
    both = 0.0
    for k in range(len(pooled)):
        both += (value[k] - background) * pooled[k] * pooled[k]
    for i in range(begin, end):
        a, b = pairs[i, 0], pairs[i, 1]
        if unlinked[b]:
            a, b = b, a
        if unlinked[a] and unlinked[b]:
            probability = background + both
        elif unlinked[a]:
            probability = background
            for j in range(rows.words.shape[1] // 2):
                k = rows.words[b, 2 * j]
                if k < 0:
                    break
                probability += (value[k] - background) * pooled[k] * np.float64(rows.weights[b, 2 * j + 1])
        else:
            probability = pair_probability(a, b, rows, value)
        out[i] = keep * out[i] + weight * probability


@kernel
def add_block_probabilities(
    begin: int, end: int, pairs: np.ndarray, rows: Rows, value: np.ndarray, keep: float, weight: float, out: np.ndarray
) -> None:  # fmt: skip
    """The same for the general model: sum_kl pi_ak B_kl pi_bl, `value` being the K x K matrix B."""
    slots = rows.words.shape[1] // 2
    for pair in range(begin, end):
        a, b = pairs[pair, 0], pairs[pair, 1]
        probability = 0.0
        for i in range(slots):
            k = rows.words[a, 2 * i]
            if k < 0:
                break
            inner = 0.0
            for j in range(slots):
                other = rows.words[b, 2 * j]
                if other < 0:
                    break
                inner += value[k, other] * np.float64(rows.weights[b, 2 * j + 1])
            probability += inner * np.float64(rows.weights[a, 2 * i + 1])
        out[pair] = keep * out[pair] + weight * probability
