"""Link probabilities of pairs, (M1) and (M9), under the state of a chain or under a posterior sample.

Every answer about a pair comes from here: the forecast of held-out pairs while a run goes on, the link probabilities
of a result, and the held-out log loss of its diagnostics. There is one rule for nodes that are isolated in training:
they are exchangeable, given all others each has the same law, so that the mean of their rows, the pooled row,
replaces the row of each of them with far less noise. That holds for every sampler and both models. A pair of two
isolated nodes has the mean over all pairs of different isolated nodes. The pooled row at both ends would count each
node with itself as well, which has no link and shares all its communities.

A probability is base + u . pi_b (`model.links`). The slopes u of node a are written to a vector of K numbers, which is
read at the communities of node b and cleared again. The slopes of the pooled row are computed once for all pairs: they
are the mean of the slopes of the isolated nodes. While they are added up, each node is multiplied by the sum of those
before it, which gives every pair of isolated nodes once and no node with itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.model.links import add_slopes, base_probability, link_probability
from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.numerics.workers import Workers
from blockmix.tables.even import EvenRows, PooledEven, add_even_probabilities, even_rows, pool_even
from blockmix.tables.layout import Rows
from blockmix.tables.packed import Packed, row_sum
from blockmix.tables.samples import PosteriorSample


class Pooled(NamedTuple):
    """Which nodes are isolated, the slopes of their pooled row, the probability of a link between two of them.

    `between` is NaN where there are no two of them.
    """

    isolated: NDArray[np.bool_]
    slopes: NDArray[np.float64]
    between: float


@inlined_kernel
def add_row_slopes(a: int, rows: Rows, strengths: np.ndarray, slopes: np.ndarray) -> None:
    """Write the slopes of node a to `slopes`, which is zero."""
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[a, 2 * j]
        if k < 0:
            break
        add_slopes(k, np.float64(rows.weights[a, 2 * j + 1]), strengths, slopes)


@inlined_kernel
def clear_row_slopes(a: int, rows: Rows, strengths: np.ndarray, slopes: np.ndarray) -> None:
    """Set what `add_row_slopes` wrote back to zero."""
    if strengths.ndim == 2:
        slopes[:] = 0.0
    else:
        for j in range(rows.words.shape[1] // 2):
            if rows.words[a, 2 * j] < 0:
                break
            slopes[rows.words[a, 2 * j]] = 0.0


@inlined_kernel
def row_product(b: int, rows: Rows, slopes: np.ndarray) -> float:
    """Return u . pi_b."""
    product = 0.0
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        product += slopes[k] * np.float64(rows.weights[b, 2 * j + 1])
    return product


@kernel
def average_row_probabilities(
    pairs: np.ndarray, rows: Rows, strengths: np.ndarray, pooled: Pooled, keep: float, share: float,
    slopes: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """(M1), (M9) Set out = keep * out + share * probability for every pair; `slopes` is zero, and again after."""
    base = base_probability(strengths)
    for i in range(len(pairs)):
        a, b = pairs[i, 0], pairs[i, 1]
        if pooled.isolated[b]:
            a, b = b, a
        if pooled.isolated[b]:
            probability = pooled.between
        elif pooled.isolated[a]:
            probability = link_probability(base, row_product(b, rows, pooled.slopes))
        else:
            add_row_slopes(a, rows, strengths, slopes)
            probability = link_probability(base, row_product(b, rows, slopes))
            clear_row_slopes(a, rows, strengths, slopes)
        out[i] = keep * out[i] + share * probability


@inlined_kernel
def add_packed_slopes(a: int, packed: Packed, strengths: np.ndarray, slopes: np.ndarray) -> None:
    """Write the slopes of node a to `slopes`, which is zero."""
    total = row_sum(a, packed)
    for s in range(packed.offsets[a], packed.offsets[a + 1]):
        add_slopes(packed.communities[s], packed.weights[s] / total, strengths, slopes)


@inlined_kernel
def clear_packed_slopes(a: int, packed: Packed, strengths: np.ndarray, slopes: np.ndarray) -> None:
    """Set what `add_packed_slopes` wrote back to zero."""
    if strengths.ndim == 2:
        slopes[:] = 0.0
    else:
        for s in range(packed.offsets[a], packed.offsets[a + 1]):
            slopes[packed.communities[s]] = 0.0


@inlined_kernel
def packed_product(b: int, packed: Packed, slopes: np.ndarray) -> float:
    """Return u . pi_b."""
    product = 0.0
    for s in range(packed.offsets[b], packed.offsets[b + 1]):
        product += slopes[packed.communities[s]] * packed.weights[s]
    return product / row_sum(b, packed)


@kernel
def add_packed_probabilities(
    pairs: np.ndarray, packed: Packed, strengths: np.ndarray, pooled: Pooled, slopes: np.ndarray, out: np.ndarray
) -> None:  # fmt: skip
    """(M1), (M9) Add the probability of every pair to `out`; `slopes` is zero, and again after."""
    base = base_probability(strengths)
    for i in range(len(pairs)):
        a, b = pairs[i, 0], pairs[i, 1]
        if pooled.isolated[b]:
            a, b = b, a
        if pooled.isolated[b]:
            probability = pooled.between
        elif pooled.isolated[a]:
            probability = link_probability(base, packed_product(b, packed, pooled.slopes))
        else:
            add_packed_slopes(a, packed, strengths, slopes)
            probability = link_probability(base, packed_product(b, packed, slopes))
            clear_packed_slopes(a, packed, strengths, slopes)
        out[i] += probability


@inlined_kernel
def mean_over_pairs(count: int, products: float, base: float) -> float:
    """Return the mean probability over the pairs of `count` nodes, from the sum of u_a . pi_b over these pairs."""
    if count < 2:
        return np.nan
    return link_probability(base, products / (0.5 * count * (count - 1)))


@kernel
def pool_rows(nodes: np.ndarray, rows: Rows, strengths: np.ndarray, slopes: np.ndarray) -> float:
    """Write the slopes of the pooled row to `slopes`, which is zero; return the mean probability of two nodes."""
    products = 0.0
    for i in range(len(nodes)):
        products += row_product(nodes[i], rows, slopes)
        add_row_slopes(nodes[i], rows, strengths, slopes)
    slopes /= len(nodes)
    return mean_over_pairs(len(nodes), products, base_probability(strengths))


@kernel
def pool_packed(nodes: np.ndarray, packed: Packed, strengths: np.ndarray, slopes: np.ndarray) -> float:
    """Write the slopes of the pooled row to `slopes`, which is zero; return the mean probability of two nodes."""
    products = 0.0
    for i in range(len(nodes)):
        products += packed_product(nodes[i], packed, slopes)
        add_packed_slopes(nodes[i], packed, strengths, slopes)
    slopes /= len(nodes)
    return mean_over_pairs(len(nodes), products, base_probability(strengths))


class Predictor:
    """Link probabilities on one network; `isolated` marks the nodes without training links, `nodes` lists them.

    The list is in the order of nodes unless it is given: where places are in another order sums keep that of nodes.

    `even_rest` tells that what a row of a chain's state lacks to one is shared evenly by the communities that it does
    not list (`tables.even`). Posterior samples tell it by themselves.
    """

    def __init__(
        self, isolated: NDArray[np.bool_], nodes: NDArray[np.int64] | None = None, even_rest: bool = False
    ) -> None:
        self.isolated, self.even_rest = isolated, even_rest
        self.nodes = np.flatnonzero(isolated) if nodes is None else nodes

    def predict(
        self, workers: Workers, pairs: NDArray[np.int64], rows: Rows, strengths: NDArray[np.float64], keep: float,
        share: float, out: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Set out = keep * out + share * (link probability of every pair under the state of a chain).

        `strengths` ends with the background; in the general model it is the K x K matrix.
        """
        if self.even_rest:
            found = np.zeros(len(pairs))
            self._add_even(workers, pairs, even_rows(rows), strengths, found)
            out *= keep
            out += share * found
            return
        pooled = self._pooled(pairs, pool_rows, rows, strengths)

        def predict(_: int, begin: int, end: int) -> None:
            slopes = np.zeros(len(pooled.slopes))
            average_row_probabilities(
                pairs[begin:end], rows, strengths, pooled, keep, share, slopes, out[begin:end]
            )

        workers.share(len(pairs), predict)

    def add_sample(self, sample: PosteriorSample, pairs: NDArray[np.int64], out: NDArray[np.float64]) -> None:
        """Add the link probability of every pair under a posterior sample to `out`."""
        packed = sample.packed()
        if sample.rest is not None:
            self._add_even(None, pairs, EvenRows(*packed, sample.rest), sample.strengths, out)
            return
        pooled = self._pooled(pairs, pool_packed, packed, sample.strengths)
        add_packed_probabilities(pairs, packed, sample.strengths, pooled, np.zeros(len(pooled.slopes)), out)

    def _pooled(
        self, pairs: NDArray[np.int64], pool: Callable[..., float], table: Rows | Packed, strengths: NDArray[Any]
    ) -> Pooled:  # fmt: skip
        """Pool the rows of isolated nodes, where a pair needs it."""
        communities = len(strengths) - (strengths.ndim == 1)
        slopes, between = np.zeros(communities), float("nan")
        if self.isolated[pairs].any():
            between = pool(self.nodes, table, strengths, slopes)
        return Pooled(self.isolated, slopes, between)

    def _add_even(
        self, workers: Workers | None, pairs: NDArray[np.int64], rows: EvenRows, strengths: NDArray[Any],
        out: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Add the probability of every pair under rows with an even rest, by the workers or in this thread."""
        slopes, even, mean_excess, between = np.zeros(len(strengths) - 1), 0.0, 0.0, float("nan")
        if self.isolated[pairs].any():
            even, mean_excess, products = pool_even(self.nodes, rows, strengths, slopes)
            between = mean_over_pairs(len(self.nodes), products, float(strengths[-1]))
        pooled = PooledEven(self.isolated, slopes, even, mean_excess, between)

        def add(_: int, begin: int, end: int) -> None:
            fresh = np.zeros(len(slopes))
            add_even_probabilities(pairs[begin:end], rows, strengths, pooled, fresh, out[begin:end])

        if workers is None:
            add(0, 0, len(pairs))
        else:
            workers.share(len(pairs), add)
