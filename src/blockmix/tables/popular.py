"""Link probabilities of the popularity model, (DC11), under the state of a chain or under a posterior sample.

A rate is r_a r_b (eps + u . pi_b), with the slopes u_k = w_k pi_ak of node a, and the probability 1 - e^(-rate). Nodes
without links are exchangeable here too, but the mean of a probability is not that of a mean rate: so each of them
stands for all by the mean over the same few of them, evenly spread (`MOST_SPREAD`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.model.links import pair_rate, rate_probability
from blockmix.numerics.compile import kernel
from blockmix.numerics.workers import Workers
from blockmix.tables.layout import Rows
from blockmix.tables.packed import Packed
from blockmix.tables.predictor import (
    Predictor,
    add_packed_slopes,
    add_row_slopes,
    clear_packed_slopes,
    clear_row_slopes,
    packed_product,
    row_product,
)
from blockmix.tables.samples import PosteriorSample
from blockmix.tables.weighted import StandIns, WeightedPairs, WeightLaw, add_packed_rates, average_row_weights

# Isolated nodes whose mean stands for each of them: the error is a fifth of what one of them would have.
MOST_SPREAD = 24


class Isolated(NamedTuple):
    """Which nodes are isolated, those of them that stand for all, the probability of a link between two of them.

    A node with the mark m > 0 has the stand-ins spread[begins[m - 1] : begins[m]]: its mark is 1, or 2 on a second side
    (DC15). `between` is NaN where there are no two of them.
    """

    marks: NDArray[np.uint8]
    spread: NDArray[np.int64]
    begins: NDArray[np.int64]
    between: float


def shifted(rates: NDArray[Any]) -> NDArray[np.float64]:
    """Return (w_k + eps, ..., eps): "strengths" whose excess over the last, the slope of a link, is w_k."""
    values = np.asarray(rates, dtype=np.float64)
    return np.append(values[:-1] + values[-1], values[-1])


@kernel
def average_popular_rows(
    pairs: np.ndarray, rows: Rows, strengths: np.ndarray, isolated: Isolated, keep: float, share: float,
    slopes: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """(DC11) Set out = keep * out + share * probability for every pair; `slopes` is zero, and again after."""
    base, r = strengths[-1], rows.total
    for i in range(len(pairs)):
        a, b = pairs[i, 0], pairs[i, 1]
        if isolated.marks[a]:
            a, b = b, a
        probability = isolated.between
        if not isolated.marks[a]:
            add_row_slopes(a, rows, strengths, slopes)
            if isolated.marks[b]:
                probability = 0.0
                begin, end = isolated.begins[isolated.marks[b] - 1], isolated.begins[isolated.marks[b]]
                for c in isolated.spread[begin:end]:
                    rate = pair_rate(np.float64(r[a]), np.float64(r[c]), base, row_product(c, rows, slopes))
                    probability += rate_probability(rate) / (end - begin)
            else:
                rate = pair_rate(np.float64(r[a]), np.float64(r[b]), base, row_product(b, rows, slopes))
                probability = rate_probability(rate)
            clear_row_slopes(a, rows, strengths, slopes)
        out[i] = keep * out[i] + share * probability


@kernel
def add_popular_packed(
    pairs: np.ndarray, packed: Packed, r: np.ndarray, strengths: np.ndarray, isolated: Isolated,
    slopes: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """(DC11) Add the probability of every pair to `out`; `slopes` is zero, and again after."""
    base = strengths[-1]
    for i in range(len(pairs)):
        a, b = pairs[i, 0], pairs[i, 1]
        if isolated.marks[a]:
            a, b = b, a
        probability = isolated.between
        if not isolated.marks[a]:
            add_packed_slopes(a, packed, strengths, slopes)
            if isolated.marks[b]:
                probability = 0.0
                begin, end = isolated.begins[isolated.marks[b] - 1], isolated.begins[isolated.marks[b]]
                for c in isolated.spread[begin:end]:
                    shared = packed_product(c, packed, slopes)
                    rate = pair_rate(np.float64(r[a]), np.float64(r[c]), base, shared)
                    probability += rate_probability(rate) / (end - begin)
            else:
                shared = packed_product(b, packed, slopes)
                rate = pair_rate(np.float64(r[a]), np.float64(r[b]), base, shared)
                probability = rate_probability(rate)
            clear_packed_slopes(a, packed, strengths, slopes)
        out[i] += probability


def _evenly(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a few of these nodes, evenly spread."""
    return nodes[np.linspace(0, len(nodes) - 1, min(len(nodes), MOST_SPREAD)).astype(np.int64)]


class PopularPredictor(Predictor):
    """Link probabilities on one network; the totals of rows are popularities, and strengths are rates."""

    def __init__(
        self, isolated: NDArray[np.bool_], nodes: NDArray[np.int64] | None = None, first: int = 0
    ) -> None:
        """Prepare for a network whose `first` nodes are of the first side (DC15); 0 where there are no sides."""
        super().__init__(isolated, nodes)
        self.marks = isolated.astype(np.uint8)
        if first:
            self.marks[first:] *= 2
            few = [_evenly(self.nodes[side]) for side in (self.nodes < first, self.nodes >= first)]
            self.begins = np.cumsum([0, *map(len, few)])
            self.spread = np.concatenate(few)
            count = max(map(len, few)) if all(map(len, few)) else 0
            self.apart = np.column_stack([np.resize(nodes, count) for nodes in few])
        else:
            self.spread = _evenly(self.nodes)
            self.begins = np.array([0, len(self.spread)])
            # Pairs of different nodes among them: each with the next, and the last with the first.
            self.apart = np.column_stack([self.spread, np.roll(self.spread, -1)])
            self.apart = self.apart[: {1: 0, 2: 1}.get(len(self.spread))]
        self.none = Isolated(
            np.zeros_like(self.marks), self.spread[:0], np.zeros_like(self.begins), float("nan")
        )

    def predict(
        self, workers: Workers, pairs: NDArray[np.int64], rows: Rows, strengths: NDArray[np.float64], keep: float,
        share: float, out: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Set out = keep * out + share * (link probability of every pair under the state of a chain)."""
        values = shifted(strengths)
        found = np.zeros(len(self.apart))
        if len(self.apart):
            average_popular_rows(
                self.apart, rows, values, self.none, 0.0, 1.0, np.zeros(len(values) - 1), found
            )
        isolated = self._isolated(found)

        def predict(_: int, begin: int, end: int) -> None:
            slopes = np.zeros(len(values) - 1)
            average_popular_rows(
                pairs[begin:end], rows, values, isolated, keep, share, slopes, out[begin:end]
            )

        workers.share(len(pairs), predict)

    @property
    def stand_ins(self) -> StandIns:
        """Which nodes are isolated, and which of them stand for all, as kernels of weights read them."""
        return StandIns(self.marks, self.spread, self.begins, self.apart)

    def predict_weights(
        self, workers: Workers, held_out: tuple[NDArray[np.int64], NDArray[np.float64]], rows: Rows,
        strengths: NDArray[np.float64], law: WeightLaw, share: float, out: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Set out = (1 - share) out + share * (density of every weight, expected weight)."""
        pairs, weights = held_out
        values = shifted(strengths)

        def predict(_: int, begin: int, end: int) -> None:
            slopes = np.zeros(len(values) - 1)
            part = WeightedPairs(pairs[begin:end], weights[begin:end])
            average_row_weights(part, rows, values, self.stand_ins, law, share, slopes, out[:, begin:end])

        workers.share(len(pairs), predict)

    def add_weights(
        self, sample: PosteriorSample, pairs: NDArray[np.int64], out: NDArray[np.float64]
    ) -> None:
        """Add the expected weight of every pair under a posterior sample to `out`."""
        if sample.popularity is None or sample.unit is None:
            raise InputError(
                "a posterior sample of this result is damaged: it has no size of a unit of weights"
            )
        values = shifted(sample.strengths)
        slopes = np.zeros(len(values) - 1)
        add_packed_rates(
            pairs, sample.packed(), sample.popularity, values, self.stand_ins, sample.unit, slopes, out
        )

    def add_sample(self, sample: PosteriorSample, pairs: NDArray[np.int64], out: NDArray[np.float64]) -> None:
        """Add the link probability of every pair under a posterior sample to `out`."""
        if sample.popularity is None:
            super().add_sample(sample, pairs, out)
            return
        packed, values = sample.packed(), shifted(sample.strengths)
        found, slopes = np.zeros(len(self.apart)), np.zeros(len(values) - 1)
        if len(self.apart):
            add_popular_packed(self.apart, packed, sample.popularity, values, self.none, slopes, found)
        add_popular_packed(pairs, packed, sample.popularity, values, self._isolated(found), slopes, out)

    def _isolated(self, found: NDArray[np.float64]) -> Isolated:
        """Return what kernels need to know about isolated nodes, from the probabilities of pairs of them."""
        between = float(found.mean()) if len(found) else float("nan")
        return Isolated(self.marks, self.spread, self.begins, between)
