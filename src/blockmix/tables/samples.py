"""Posterior samples: whole states of a chain, packed, and a bounded collection of them spread evenly over a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.files import Damaged
from blockmix.stored import Checksums, check_finite, check_layout, check_range
from blockmix.tables.layout import Rows
from blockmix.tables.packed import Packed, count_used, pack

# Posterior samples kept at most, and at least however large the network; between them memory decides.
MOST_SAMPLES, FEWEST_SAMPLES = 256, 8
# Bytes that posterior samples may take: a fixed part that any laptop has, or so much a node, whichever is more.
BYTES_IN_ALL, BYTES_A_NODE = 80 * 2**20, 200


def _kind(largest: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest type for numbers up to this."""
    if largest < 2**8:
        return np.uint8
    return np.uint16 if largest < 2**16 else np.uint32


def number_type(communities: int) -> type[np.unsignedinteger[Any]]:
    """Return the type of the numbers of so many communities.

    Never a single byte: the kernels for predictions would be compiled once more for it.
    """
    return _kind(max(communities, 2**8))


@dataclass(frozen=True, eq=False)
class PosteriorSample:
    """One posterior sample of all memberships and strengths, packed (see `blockmix.tables.packed`).

    `strengths` ends with the background; in the general model it is the K x K matrix. `rest`, of samplers with an even
    rest, is the weight of all communities together that the row of a node does not list (`tables.even`). In the
    popularity model `popularity` has r_a of every node, and strengths are rates (DC1), of which `probabilities` makes
    strengths. `unit` is the mean weight of a unit where links have weights (DC13).
    """

    sweep: int
    counts: NDArray[np.unsignedinteger]
    communities: NDArray[np.unsignedinteger]
    weights: NDArray[np.uint16]
    strengths: NDArray[np.float32]
    rest: NDArray[np.uint16] | None = None
    popularity: NDArray[np.float32] | None = None
    unit: float | None = None

    @classmethod
    def of(
        cls, sweep: int, rows: Rows, strengths: NDArray[np.float64], even_rest: bool = False,
        popularity: NDArray[np.float32] | None = None, unit: float | None = None,
    ) -> PosteriorSample:  # fmt: skip
        """Pack the current state of a chain."""
        counts = np.empty(len(rows.total), dtype=_kind(rows.words.shape[1] // 2))
        spread = len(strengths) - 1 if even_rest else 0
        used = count_used(rows, spread, counts)
        communities = np.empty(used, dtype=number_type(len(strengths) - 1))
        weights, rest = np.empty(used, np.uint16), np.empty(len(counts) if even_rest else 0, np.uint16)
        pack(rows, spread, communities, weights, rest)
        values, r = (
            strengths.astype(np.float32),
            None if popularity is None else popularity.astype(np.float32),
        )
        return cls(sweep, counts, communities, weights, values, rest if even_rest else None, r, unit)

    def copy(self) -> PosteriorSample:
        """Return the same sample in memory of its own."""
        communities, weights = self.communities.copy(), self.weights.copy()
        rest = None if self.rest is None else self.rest.copy()
        popularity = None if self.popularity is None else self.popularity.copy()
        return PosteriorSample(
            self.sweep, self.counts.copy(), communities, weights, self.strengths.copy(), rest, popularity,
            self.unit,
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        """Number of bytes held."""
        held = self.counts.nbytes + self.communities.nbytes + self.weights.nbytes + self.strengths.nbytes
        return held + sum(0 if array is None else array.nbytes for array in (self.rest, self.popularity))

    @property
    def probabilities(self) -> NDArray[np.float32]:
        """Strengths and background as probabilities of a link; of rates 1 - e^(-w), for popularities of one (DC1)."""
        return self.strengths if self.popularity is None else -np.expm1(-self.strengths)

    def memberships(self, nodes: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the memberships of some nodes, nodes x communities; community k gets the number numbers[k].

        Communities that a row does not list have equal parts of its rest, or zero where there is none.
        """
        offsets, found = self.packed().offsets, np.zeros((len(nodes), len(numbers)))
        for i, a in enumerate(nodes):
            row = slice(int(offsets[a]), int(offsets[a + 1]))
            if self.rest is not None:
                found[i] = self.rest[a] / max(len(numbers) - (row.stop - row.start), 1)
            found[i, numbers[np.asarray(self.communities[row], dtype=np.int64)]] = self.weights[row]
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def packed(self) -> Packed:
        """Return the memberships as kernels read them."""
        offsets = np.zeros(len(self.counts) + 1, dtype=np.int64)
        np.cumsum(self.counts, out=offsets[1:])
        if offsets[-1] != len(self.weights):
            raise InputError(
                "a posterior sample of this result is damaged: its rows do not add up; restore it from a copy"
            )
        return Packed(offsets, self.communities, self.weights)


def _alone(sizes: NDArray[np.int64]) -> None:
    """Leave sizes as they are: all rows are here."""


@dataclass
class SampleStore:
    """Keep posterior samples of a chain evenly spread over its sweeps, however long it runs.

    When the store is full every second sample is removed and from then on half as many are added, so that what is
    kept never depends on how long the run will be. `add_up` adds sizes up over the ranks that have a part of the rows:
    memory decides for all of them alike.
    """

    limit: int | None = None
    every: int = 1
    samples: list[PosteriorSample] = field(default_factory=list)
    add_up: Callable[[NDArray[np.int64]], None] = _alone

    def offer(
        self, number: int, sweep: int, rows: Rows, strengths: NDArray[np.float64], even_rest: bool = False,
        popularity: NDArray[np.float32] | None = None, unit: float | None = None,
    ) -> None:  # fmt: skip
        """Keep the state after sample `number` (from 0) if it is one of those to keep."""
        self.offer_packed(
            number,
            len(rows.total),
            lambda: PosteriorSample.of(sweep, rows, strengths, even_rest, popularity, unit),
        )

    def offer_packed(self, number: int, nodes: int, pack: Callable[[], PosteriorSample]) -> None:
        """Keep sample `number` (from 0) of so many nodes, which `pack` makes, if it is one of those to keep."""
        if number % self.every:
            return
        if self.limit is not None and len(self.samples) >= self.limit:
            self.samples = self.samples[::2]
            self.every *= 2
            if number % self.every:
                return
        self.samples.append(pack())
        if self.limit is None:
            shared = self.samples[0].strengths.nbytes
            sizes = np.array([nodes, self.samples[0].nbytes - shared])
            self.add_up(sizes)
            self.limit = sample_limit(int(sizes[0]), int(sizes[1]) + shared)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything the store is, for a checkpoint."""
        rule = np.array([self.limit or 0, self.every], dtype=np.int64)
        return {"rule": rule, **sample_arrays(self.samples)}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]]) -> SampleStore:
        """Restore the store that `arrays` was made from."""
        limit, every = (int(value) for value in arrays["rule"])
        # Copies: a view would keep the arrays of all samples alive when half of them are removed.
        return cls(limit or None, every, [sample.copy() for sample in samples_from(arrays)])


def sample_arrays(samples: Sequence[PosteriorSample]) -> dict[str, NDArray[Any]]:
    """Return the posterior samples of one chain as a few long arrays; none where there are no samples."""
    if not samples:
        return {}
    rest = [sample.rest for sample in samples if sample.rest is not None]
    popularity = [sample.popularity for sample in samples if sample.popularity is not None]
    found: dict[str, NDArray[Any]] = {
        "sweep": np.array([sample.sweep for sample in samples], dtype=np.int64),
        "lengths": np.array([len(sample.weights) for sample in samples], dtype=np.int64),
        "counts": np.stack([sample.counts for sample in samples]),
        "communities": np.concatenate([sample.communities for sample in samples]),
        "weights": np.concatenate([sample.weights for sample in samples]),
        "strengths": np.stack([sample.strengths for sample in samples]),
    }
    found |= {"rest": np.stack(rest)} if rest else {}
    if all(sample.unit is not None for sample in samples):
        found["unit"] = np.array([sample.unit for sample in samples], dtype=np.float64)
    return found | ({"popularity": np.stack(popularity)} if popularity else {})


def check_samples(
    arrays: Mapping[str, NDArray[Any]],
    nodes: int,
    strengths: tuple[int, ...],
    sums: Checksums | None = None,
) -> None:
    """Refuse arrays that are not the posterior samples of a chain with so many nodes and strengths of this shape.

    `strengths` is (K + 1,), or (K, K) in the general model. Kernels then read inside their arrays. With `sums` long
    arrays are checked in the pass over their files.
    """
    if "sweep" not in arrays:
        return
    for name in ("counts", "communities"):
        if name not in arrays or arrays[name].dtype.kind != "u":
            raise Damaged(f"{name} of the posterior samples is missing or not of its type")
    samples, entries = arrays["sweep"].size, arrays["communities"].size
    general = len(strengths) == 2
    layout: dict[str, Any] = {
        "sweep": (np.int64, (samples,)),
        "lengths": (np.int64, (samples,)),
        "counts": (arrays["counts"].dtype, (samples, nodes)),
        "communities": (arrays["communities"].dtype, (entries,)),
        "weights": (np.uint16, (entries,)),
        "strengths": (np.float32, (samples, *strengths)),
    }
    if "rest" in arrays:
        if general:
            raise Damaged("the posterior samples have a rest, which the general model has not")
        layout["rest"] = (np.uint16, (samples, nodes))
    check_layout(arrays, layout)
    check_range("sweep of the posterior samples", arrays["sweep"], 2**62)
    check_range("lengths of the posterior samples", arrays["lengths"], entries + 1)
    summed = _row_sums(arrays["counts"])
    if arrays["lengths"].sum() != entries or (summed != arrays["lengths"]).any():
        raise Damaged(
            "the rows of the posterior samples do not add up: counts, lengths and communities differ"
        )
    communities = strengths[0] if general else strengths[0] - 1
    check_range("communities of the posterior samples", arrays["communities"], communities, sums=sums)
    most = 1.0
    if "popularity" in arrays:
        check_layout(arrays, {"popularity": (np.float32, (samples, nodes))})
        check_finite("popularity of the posterior samples", arrays["popularity"], 0.0, sums=sums)
        most = np.inf
    if "unit" in arrays:
        check_layout(arrays, {"unit": (np.float64, (samples,))})
        check_finite("unit of the posterior samples", arrays["unit"], 0.0)
    check_finite("strengths of the posterior samples", arrays["strengths"], 0.0, most)


def _row_sums(counts: NDArray[np.unsignedinteger]) -> NDArray[np.int64]:
    """Return the sum of each row. Single bytes are added 256 at a time in 16 bits: exact, and twice as fast."""
    if counts.itemsize > 1:
        return np.asarray(counts.sum(axis=1, dtype=np.int64))
    whole = counts.shape[1] // 256 * 256
    parts = counts[:, :whole].reshape(len(counts), 256, -1).sum(axis=1, dtype=np.uint16)
    return np.asarray(
        parts.sum(axis=1, dtype=np.int64) + counts[:, whole:].sum(axis=1, dtype=np.int64), dtype=np.int64
    )


def samples_from(arrays: Mapping[str, NDArray[Any]]) -> tuple[PosteriorSample, ...]:
    """Return the posterior samples that `sample_arrays` was given, as views of its arrays."""
    if "sweep" not in arrays:
        return ()
    sweep, counts, strengths = arrays["sweep"], arrays["counts"], arrays["strengths"]
    communities, weights, lengths = arrays["communities"], arrays["weights"], arrays["lengths"]
    ends, none = np.cumsum(lengths), [None] * len(sweep)
    rest, popularity = arrays.get("rest", none), arrays.get("popularity", none)
    return tuple(
        PosteriorSample(
            int(sweep[i]),
            counts[i],
            communities[end - n : end],
            weights[end - n : end],
            strengths[i],
            rest[i],
            popularity[i],
            None if "unit" not in arrays else float(arrays["unit"][i]),
        )
        for i, (n, end) in enumerate(zip(lengths, ends, strict=True))
    )


def sample_limit(nodes: int, bytes_a_sample: int) -> int:
    """Return how many samples of this size to keep; even, so that halving keeps them evenly spread.

    >>> sample_limit(1_000, 20_000), sample_limit(10**8, 2 * 10**9)
    (256, 10)
    """
    budget = max(BYTES_IN_ALL, BYTES_A_NODE * nodes)
    return int(np.clip(budget // max(bytes_a_sample, 1), FEWEST_SAMPLES, MOST_SAMPLES)) // 2 * 2
