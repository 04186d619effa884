"""Link probabilities of rows with an even rest: listed communities, and one value that all others share.

A sampler that lists only some communities of a node and gives the others one common value (`even_rest` in
`samplers.contract`) is predicted by these kernels, while it runs and from its posterior samples. A row is p_a in every
community and pi_ak - p_a more in those that it lists. With d_k = beta_k - delta and the slopes u_k = d_k (pi_ak - p_a)
of the listed communities, the sum over all communities is a sum over listed ones, (A3) and (A4):

    sum_k d_k pi_ak pi_bk = sum over k listed by b of (u_k + d_k p_a)(pi_bk - p_b) + p_b X_a,
    X_a = sum_k d_k pi_ak = sum_k u_k + p_a sum_k d_k.

It is linear in (u, p_a, X_a), so that the pooled row of isolated nodes (`tables.predictor`) is the mean of these three.
Only the assortative model has such rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.model.links import excess, link_probability
from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.tables.layout import Rows


class EvenRows(NamedTuple):
    """Rows of all nodes one after the other: row a is the entries from offsets[a] to offsets[a + 1].

    Weights and `rest` are in proportion to memberships. rest[a] is the weight of all communities together that row a
    does not list; each of them has an equal part of it. Where a row lists every community, its rest counts for nothing.
    """

    offsets: NDArray[np.int64]
    communities: NDArray[Any]
    weights: NDArray[Any]
    rest: NDArray[Any]


class PooledEven(NamedTuple):
    """Which nodes are isolated, and of their pooled row: its slopes u, its p, its X.

    `between` is the probability of a link between two of them, NaN where there are no two.
    """

    isolated: NDArray[np.bool_]
    slopes: NDArray[np.float64]
    even: float
    mean_excess: float
    between: float


def even_rows(rows: Rows) -> EvenRows:
    """Return the rows of a chain's state with what they lack to one as their rest."""
    nodes = len(rows.total)
    offsets, rest = np.zeros(nodes + 1, dtype=np.int64), np.empty(nodes)
    used = count_entries(rows, offsets)
    table = EvenRows(offsets, np.empty(used, dtype=np.int32), np.empty(used, dtype=np.float32), rest)
    copy_entries(rows, table)
    return table


@kernel
def count_entries(rows: Rows, offsets: np.ndarray) -> int:
    """Write where every row begins among the used slots of all; returns how many there are."""
    for a in range(len(rows.total)):
        used = 0
        while used < rows.words.shape[1] // 2 and rows.words[a, 2 * used] >= 0:
            used += 1
        offsets[a + 1] = offsets[a] + used
    return int(offsets[-1])


@kernel
def copy_entries(rows: Rows, table: EvenRows) -> None:
    """Copy the used slots of all nodes, one row after the other, and write what each lacks to one."""
    for a in range(len(rows.total)):
        begin, total = table.offsets[a], 0.0
        for j in range(table.offsets[a + 1] - begin):
            weight = rows.weights[a, 2 * j + 1]
            table.communities[begin + j] = rows.words[a, 2 * j]
            table.weights[begin + j] = weight
            total += np.float64(weight)
        table.rest[a] = max(1.0 - total, 0.0)


@inlined_kernel
def scale_and_even(a: int, rows: EvenRows, communities: int) -> tuple[float, float]:
    """Return the factor that makes memberships of the weights of row a, and p_a, that of each community not listed."""
    begin, end = rows.offsets[a], rows.offsets[a + 1]
    others, total = communities - (end - begin), 0.0
    for s in range(begin, end):
        total += np.float64(rows.weights[s])
    if others <= 0:
        return 1.0 / total, 0.0
    rest = np.float64(rows.rest[a])
    scale = 1.0 / (total + rest)
    return scale, rest * scale / others


@inlined_kernel
def add_even_slopes(a: int, rows: EvenRows, strengths: np.ndarray, slopes: np.ndarray) -> tuple[float, float]:
    """Add u of node a to `slopes`; returns p_a and the sum of u."""
    scale, even = scale_and_even(a, rows, len(slopes))
    background, total = np.float64(strengths[-1]), 0.0
    for s in range(rows.offsets[a], rows.offsets[a + 1]):
        k = rows.communities[s]
        slope = excess(np.float64(strengths[k]), background) * (np.float64(rows.weights[s]) * scale - even)
        slopes[k] += slope
        total += slope
    return even, total


@inlined_kernel
def even_product(
    b: int, even: float, mean_excess: float, rows: EvenRows, strengths: np.ndarray, slopes: np.ndarray
) -> float:
    """(A4) Return sum_k d_k pi_ak pi_bk, node a being given by its slopes, p_a and X_a."""
    scale, even_b = scale_and_even(b, rows, len(slopes))
    background, product = np.float64(strengths[-1]), even_b * mean_excess
    for s in range(rows.offsets[b], rows.offsets[b + 1]):
        k = rows.communities[s]
        slope = slopes[k] + excess(np.float64(strengths[k]), background) * even
        product += slope * (np.float64(rows.weights[s]) * scale - even_b)
    return product


@inlined_kernel
def sum_of_excesses(strengths: np.ndarray) -> float:
    """Return sum_k d_k."""
    background, total = np.float64(strengths[-1]), 0.0
    for k in range(len(strengths) - 1):
        total += excess(np.float64(strengths[k]), background)
    return total


@kernel
def add_even_probabilities(
    pairs: np.ndarray, rows: EvenRows, strengths: np.ndarray, pooled: PooledEven, slopes: np.ndarray, out: np.ndarray
) -> None:  # fmt: skip
    """(M1) Add the probability of every pair to `out`; `slopes` is zero, and again after."""
    base, excesses = np.float64(strengths[-1]), sum_of_excesses(strengths)
    for i in range(len(pairs)):
        a, b = pairs[i, 0], pairs[i, 1]
        if pooled.isolated[b]:
            a, b = b, a
        if pooled.isolated[b]:
            out[i] += pooled.between
        elif pooled.isolated[a]:
            shared = even_product(b, pooled.even, pooled.mean_excess, rows, strengths, pooled.slopes)
            out[i] += link_probability(base, shared)
        else:
            even, total = add_even_slopes(a, rows, strengths, slopes)
            shared = even_product(b, even, total + even * excesses, rows, strengths, slopes)
            out[i] += link_probability(base, shared)
            for s in range(rows.offsets[a], rows.offsets[a + 1]):
                slopes[rows.communities[s]] = 0.0


@kernel
def pool_even(
    nodes: np.ndarray, rows: EvenRows, strengths: np.ndarray, slopes: np.ndarray
) -> tuple[float, float, float]:
    """Write u of the pooled row to `slopes`, which is zero; returns its p, its X, and the sum over pairs of nodes.

    Each node is multiplied by the sum of those before it: every pair once, and no node with itself.
    """
    excesses, even, total, products = sum_of_excesses(strengths), 0.0, 0.0, 0.0
    for i in range(len(nodes)):
        products += even_product(nodes[i], even, total + even * excesses, rows, strengths, slopes)
        more_even, more = add_even_slopes(nodes[i], rows, strengths, slopes)
        even += more_even
        total += more
    slopes /= len(nodes)
    return even / len(nodes), (total + even * excesses) / len(nodes), products
