"""The arrays of a chain cut into the parts of ranks, and put together again: what a chain is does not depend on ranks.

Per-node arrays are cut by the names of a rank's nodes. Posterior samples are packed: their rows are cut and joined one
sample at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.samplers.contract import Arrays
from blockmix.tables.running import Running
from blockmix.tables.samples import PosteriorSample, SampleStore
from blockmix.tables.summary import ChainSummary, RunningPopularity

Names = NDArray[np.int64]


def part_of_state(arrays: Arrays, node_arrays: Sequence[str], names: Names) -> dict[str, NDArray[Any]]:
    """Return the arrays of a state with the rows of these nodes only."""
    return {name: array[names] if name in node_arrays else array for name, array in arrays.items()}


def joined(parts: Sequence[NDArray[Any]], names: Sequence[Names]) -> NDArray[Any]:
    """Return one array in the order of nodes from the parts of ranks, of which `names` has the nodes."""
    whole = np.empty((sum(map(len, names)), *parts[0].shape[1:]), dtype=parts[0].dtype)
    for part, own in zip(parts, names, strict=True):
        whole[own] = part
    return whole


def part_of_summary(summary: ChainSummary, names: Names) -> ChainSummary:
    """Return the summary of these nodes."""
    popularity = summary.popularity
    return replace(
        summary,
        running=summary.running._replace(
            **{name: table[names] for name, table in summary.running._asdict().items()}
        ),
        strength_mean=summary.strength_mean.copy(),
        strength_deviation=summary.strength_deviation.copy(),
        kept=SampleStore(
            summary.kept.limit, summary.kept.every, [part_of_sample(s, names) for s in summary.kept.samples]
        ),
        popularity=None
        if popularity is None
        else RunningPopularity(popularity.mean[names], popularity.deviation[names]),
    )


def joined_summary(parts: Sequence[ChainSummary], names: Sequence[Names]) -> ChainSummary:
    """Return the summary of all nodes from those of ranks."""
    first = parts[0]
    running = [part.running._asdict() for part in parts]
    samples = zip(*(part.kept.samples for part in parts), strict=True)
    popularity = None
    if first.popularity is not None:
        followed = [part.popularity for part in parts if part.popularity is not None]
        popularity = RunningPopularity(
            joined([p.mean for p in followed], names), joined([p.deviation for p in followed], names)
        )
    return replace(
        first,
        running=Running(**{name: joined([part[name] for part in running], names) for name in running[0]}),
        kept=SampleStore(
            first.kept.limit, first.kept.every, [joined_sample(sample, names) for sample in samples]
        ),
        popularity=popularity,
    )


def part_of_sample(sample: PosteriorSample, names: Names) -> PosteriorSample:
    """Return a posterior sample of these nodes."""
    offsets, counts = sample.packed().offsets, sample.counts[names]
    entries = entries_of(offsets[names], counts)
    popularity = None if sample.popularity is None else sample.popularity[names]
    return replace(
        sample, counts=counts, communities=sample.communities[entries], weights=sample.weights[entries],
        popularity=popularity,
    )  # fmt: skip


def joined_sample(parts: Sequence[PosteriorSample], names: Sequence[Names]) -> PosteriorSample:
    """Return a posterior sample of all nodes from those of ranks."""
    first, counts = parts[0], joined([part.counts for part in parts], names)
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    communities = np.empty(offsets[-1], dtype=first.communities.dtype)
    weights = np.empty(offsets[-1], dtype=first.weights.dtype)
    for part, own in zip(parts, names, strict=True):
        entries = entries_of(offsets[own], part.counts)
        communities[entries], weights[entries] = part.communities, part.weights
    popularity = None
    if first.popularity is not None:
        popularity = joined([part.popularity for part in parts if part.popularity is not None], names)
    return replace(first, counts=counts, communities=communities, weights=weights, popularity=popularity)


def entries_of(begins: NDArray[np.int64], counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places of packed rows, one row after the other, from where each begins and how many it has.

    >>> entries_of(np.array([5, 0]), np.array([2, 3], dtype=np.uint8))
    array([5, 6, 0, 1, 2])
    """
    many = counts.astype(np.int64)
    before = np.cumsum(many) - many
    return np.repeat(begins - before, many) + np.arange(int(many.sum()))
