"""Link probabilities of pairs under one state, over all workers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.workers import Workers
from blockmix.tables.layout import Rows
from blockmix.tables.predict import (
    add_block_probabilities,
    add_pair_probabilities,
    add_pooled_probabilities,
    pool_rows,
)


def predict_rows(
    workers: Workers, pairs: NDArray[np.int64], rows: Rows, strengths: NDArray[np.float64], keep: float,
    share: float, out: NDArray[np.float64],
) -> None:  # fmt: skip
    """out = keep * out + share * (M1) of every pair, on rows of memberships.

    A matrix of strengths is that of the general model.
    """
    add = add_block_probabilities if strengths.ndim == 2 else add_pair_probabilities

    def predict(_: int, begin: int, end: int) -> None:
        add(begin, end, pairs, rows, strengths, keep, share, out)

    workers.share(len(pairs), predict)


class PooledForecast:
    """Link probabilities in which the nodes without links stand for each other (`pool_rows`)."""

    def __init__(self, degrees: NDArray[np.int64], communities: int) -> None:
        self.unlinked = degrees == 0
        self.nodes = np.flatnonzero(self.unlinked)
        self.communities = communities

    def predict(
        self, workers: Workers, pairs: NDArray[np.int64], rows: Rows, strengths: NDArray[np.float64], keep: float,
        share: float, out: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """out = keep * out + share * (M1) of every pair."""
        if not len(self.nodes):
            predict_rows(workers, pairs, rows, strengths, keep, share, out)
            return
        pooled = np.empty(self.communities)
        pool_rows(self.nodes, rows, pooled)

        def predict(_: int, begin: int, end: int) -> None:
            add_pooled_probabilities(
                begin, end, pairs, rows, strengths, self.unlinked, pooled, keep, share, out
            )

        workers.share(len(pairs), predict)
