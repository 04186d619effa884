"""A bounded, evenly spread collection of whole draws, for predictions of any pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.tables.layout import Rows
from blockmix.tables.packed import (
    add_packed_block_probabilities,
    add_packed_pooled_probabilities,
    add_packed_probabilities,
    count_used,
    pack,
    pool_packed,
)

# Draws kept at most, and at least however large the network; between them memory decides.
MOST_DRAWS, FEWEST_DRAWS = 256, 8
# Bytes that draws may take: a fixed part that any laptop has, or so much a node, whichever is more.
BYTES_IN_ALL, BYTES_A_NODE = 80 * 2**20, 200


def _kind(largest: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type for numbers up to this."""
    if largest < 2**8:
        return np.uint8
    return np.uint16 if largest < 2**16 else np.uint32


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of every membership and strength, packed (see `blockmix.tables.packed`).

    `strengths` ends with the background; of the general model it is the K x K matrix.
    """

    sweep: int
    counts: NDArray[np.unsignedinteger]
    communities: NDArray[np.unsignedinteger]
    weights: NDArray[np.uint16]
    strengths: NDArray[np.float32]

    @classmethod
    def of(cls, sweep: int, rows: Rows, strengths: NDArray[np.float64]) -> Draw:
        """Pack the current state of a chain."""
        counts = np.empty(len(rows.total), dtype=_kind(rows.words.shape[1] // 2))
        used = count_used(rows, counts)
        # Never in a single byte: the kernels for predictions would be compiled once more for it.
        communities = np.empty(used, dtype=_kind(max(len(strengths) - 1, 2**8)))
        weights = np.empty(used, dtype=np.uint16)
        pack(rows, communities, weights)
        return cls(sweep, counts, communities, weights, strengths.astype(np.float32))

    def copy(self) -> Draw:
        """The same draw in memory of its own."""
        return Draw(
            self.sweep,
            self.counts.copy(),
            self.communities.copy(),
            self.weights.copy(),
            self.strengths.copy(),
        )

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.counts.nbytes + self.communities.nbytes + self.weights.nbytes + self.strengths.nbytes

    def add_probabilities(self, pairs: NDArray[np.int64], out: NDArray[np.float64]) -> None:
        """Add the link probability of every pair under this draw to `out`."""
        add = add_packed_block_probabilities if self.strengths.ndim == 2 else add_packed_probabilities
        add(pairs, self._offsets(), self.communities, self.weights, self.strengths, out)

    def add_pooled_probabilities(
        self, pairs: NDArray[np.int64], unlinked: NDArray[np.bool_], out: NDArray[np.float64]
    ) -> None:
        """The same for pairs with an end that has no links; all such nodes stand for each other."""
        offsets, pooled = self._offsets(), np.empty(len(self.strengths) - 1)
        pool_packed(np.flatnonzero(unlinked), offsets, self.communities, self.weights, pooled)
        add_packed_pooled_probabilities(
            pairs, offsets, self.communities, self.weights, self.strengths, unlinked, pooled, out
        )

    def _offsets(self) -> NDArray[np.int64]:
        offsets = np.zeros(len(self.counts) + 1, dtype=np.int64)
        np.cumsum(self.counts, out=offsets[1:])
        if offsets[-1] != len(self.weights):
            raise InputError(
                "a draw of this result is damaged: its rows do not add up; restore it from a copy"
            )
        return offsets


@dataclass
class DrawStore:
    """Keeps draws of a chain evenly spread over its samples, however long it runs.

    When the store is full every second draw goes and from then on half as many are taken, so that what is
    kept never depends on how long the run will be.
    """

    limit: int | None = None
    every: int = 1
    draws: list[Draw] = field(default_factory=list)

    def offer(self, sample: int, sweep: int, rows: Rows, strengths: NDArray[np.float64]) -> None:
        """Take the state after sample number `sample` (from 0) if it is one of those to keep."""
        if sample % self.every:
            return
        if self.limit is not None and len(self.draws) >= self.limit:
            self.draws = self.draws[::2]
            self.every *= 2
            if sample % self.every:
                return
        self.draws.append(Draw.of(sweep, rows, strengths))
        if self.limit is None:
            self.limit = draw_limit(len(rows.total), self.draws[0].nbytes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything the store is, for a checkpoint."""
        return {"rule": np.array([self.limit or 0, self.every], dtype=np.int64), **draw_arrays(self.draws)}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]]) -> DrawStore:
        """The store that `arrays` was made from."""
        limit, every = (int(value) for value in arrays["rule"])
        # Copies: a view would keep the arrays of all draws alive when half of them go.
        return cls(limit or None, every, [draw.copy() for draw in draws_from(arrays)])


def draw_arrays(draws: Sequence[Draw]) -> dict[str, NDArray[Any]]:
    """Draws of one chain as a few long arrays; none where there are no draws."""
    if not draws:
        return {}
    return {
        "sweep": np.array([draw.sweep for draw in draws], dtype=np.int64),
        "lengths": np.array([len(draw.weights) for draw in draws], dtype=np.int64),
        "counts": np.stack([draw.counts for draw in draws]),
        "communities": np.concatenate([draw.communities for draw in draws]),
        "weights": np.concatenate([draw.weights for draw in draws]),
        "strengths": np.stack([draw.strengths for draw in draws]),
    }


def draws_from(arrays: Mapping[str, NDArray[Any]]) -> tuple[Draw, ...]:
    """The draws that `draw_arrays` was given, as views of its arrays."""
    if "sweep" not in arrays:
        return ()
    sweep, counts, strengths = arrays["sweep"], arrays["counts"], arrays["strengths"]
    communities, weights = arrays["communities"], arrays["weights"]
    lengths = arrays["lengths"]
    return tuple(
        Draw(int(sweep[i]), counts[i], communities[end - n : end], weights[end - n : end], strengths[i])
        for i, (n, end) in enumerate(zip(lengths, np.cumsum(lengths), strict=True))
    )


def draw_limit(nodes: int, bytes_a_draw: int) -> int:
    """How many draws of this size to keep; even, so that halving keeps them evenly spread.

    >>> draw_limit(1_000, 20_000), draw_limit(10**8, 2 * 10**9)
    (256, 10)
    """
    budget = max(BYTES_IN_ALL, BYTES_A_NODE * nodes)
    return int(np.clip(budget // max(bytes_a_draw, 1), FEWEST_DRAWS, MOST_DRAWS)) // 2 * 2
