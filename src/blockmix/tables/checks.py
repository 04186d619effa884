"""Whether tables from a checkpoint are those of a run: each check raises `Damaged` with the array's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.files import Damaged
from blockmix.stored import check_finite, check_layout, check_range
from blockmix.tables.samples import check_samples

# Sweeps and iterations are part of the key of random numbers, 32 bits wide.
MOST_SWEEPS = 2**32 - 2**16


def check_words(words: NDArray[np.int32], communities: int) -> None:
    """Refuse rows (see `tables.layout`) that are empty, name a community that does not exist, or one twice."""
    entries, weights = words[:, ::2], words.view(np.float32)[:, 1::2]
    used = np.logical_and.accumulate(entries >= 0, axis=1)
    if not used[:, 0].all():
        raise Damaged(f"words: row {int(np.argmin(used[:, 0]))} is empty")
    # What is behind the end of a row counts as different numbers below zero.
    apart = np.where(used, entries, -1 - np.arange(entries.shape[1], dtype=np.int32))
    check_range("words", apart, communities, -entries.shape[1])
    apart.sort(axis=1)
    if (apart[:, 1:] == apart[:, :-1]).any():
        raise Damaged("words: a row names a community twice")
    check_finite("words", np.where(used, weights, np.float32(0.0)), 0.0, 1.001)


def check_summary(
    arrays: Mapping[str, NDArray[Any]],
    nodes: int,
    communities: int,
    strengths: tuple[int, ...],
    even_rest: bool,
    popular: bool = False,
) -> None:
    """Refuse a chain's summary that does not belong to a network and strengths of these sizes.

    `even_rest` tells whether posterior samples of this sampler have a rest: those to come would not fit the others.
    `popular` is True if nodes have popularities; the samples and the running moments then have them too.
    """
    shape = arrays["running_community"].shape if "running_community" in arrays else ()
    entries = shape[1] if len(shape) == 2 else 0
    check_layout(
        arrays,
        {
            "running_community": (np.int32, (nodes, entries)),
            "running_mean": (np.float32, (nodes, entries)),
            "running_deviation": (np.float32, (nodes, entries)),
            "running_lost": (np.float32, (nodes,)),
            "strength_mean": (np.float64, strengths),
            "strength_deviation": (np.float64, strengths),
            "samples": (np.int64, (1,)),
            "draws_rule": (np.int64, (2,)),
        },
    )
    if not 1 <= entries <= communities:
        raise Damaged(f"running_community has {entries} entries a node")
    check_range("running_community", arrays["running_community"], communities, -1)
    for name in ("running_mean", "running_deviation", "running_lost", "strength_mean", "strength_deviation"):
        check_finite(name, arrays[name])
    if popular:
        names = ("popularity_mean", "popularity_deviation")
        check_layout(arrays, dict.fromkeys(names, (np.float32, (nodes,))))
        for name in names:
            check_finite(name, arrays[name])
    check_range("samples", arrays["samples"], MOST_SWEEPS)
    check_range("draws_rule", arrays["draws_rule"], 2**40)
    if arrays["draws_rule"][1] < 1:
        raise Damaged("draws_rule: every 0th sample cannot be kept")
    drawn = {
        name.removeprefix("draws_"): array for name, array in arrays.items() if name.startswith("draws_")
    }
    if popular != ("popularity" in drawn) and "sweep" in drawn:
        raise Damaged("the posterior samples have popularities, or have none, other than the model")
    check_samples(drawn, nodes, strengths)
    if "sweep" in drawn and ("rest" in drawn) != even_rest:
        raise Damaged(f"draws_rest is {'missing' if even_rest else 'not of this sampler'}")
