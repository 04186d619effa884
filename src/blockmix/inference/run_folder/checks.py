"""Whether the folder of a run holds what a run writes: facts of its manifests, split, trace and plan.

Checksums tell damage from what was written; these checks tell what a run writes from what somebody else made. Each
raises `Damaged`; the arrays of chains are checked by their samplers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from blockmix.files import Damaged
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut, hidden_rows
from blockmix.inference.run_folder.snapshots import Snapshot
from blockmix.stored import check_finite, check_layout, check_range
from blockmix.tables.checks import MOST_SWEEPS

_Fits = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return _whole(value) and 0 <= value < MOST_SWEEPS


def _number(value: Any) -> bool:
    # A whole number of JSON may be too large for a float.
    return abs(value) < 2**1023 if _whole(value) else isinstance(value, float) and math.isfinite(value)


def _share(value: Any) -> bool:
    return _number(value) and 0 <= value <= 1


def _seconds(value: Any) -> bool:
    return _number(value) and 0 <= value < 1e12


def _notes(value: Any) -> bool:
    return isinstance(value, dict) and _share(value.get("threshold", 0.1))


def _limits(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"sweeps", "time_limit", "warm_up", "watched"}


_START: dict[str, _Fits] = {
    "blockmix": _text, "task": _mapping, "plan": _limits, "held_out": _mapping, "networks": _mapping, "notes": _notes,
}  # fmt: skip
_TASK: dict[str, _Fits] = {
    "model": _mapping, "sampler": _text, "options": _mapping, "seed": _whole, "chains": _count, "chosen": _flag,
    "device": _text,
}  # fmt: skip
_HELD_OUT: dict[str, _Fits] = {"kind": _text, "fraction": _share, "density": _share, "seed": _whole}
_NETWORKS: dict[str, _Fits] = {"graph": _text, "training": lambda value: value is None or _text(value)}
_POSITION: dict[str, _Fits] = {
    "sweep": _count, "warm_up": _flag, "warm_up_sweeps": _count, "seconds": _seconds, "updates": _whole,
    "over": _flag, "closed": _flag, "plan": _limits, "resumed": _count, "total_seconds": _seconds,
}  # fmt: skip


def _check_facts(facts: Mapping[str, Any], expected: Mapping[str, _Fits], exactly: bool = False) -> None:
    for name, fits in expected.items():
        if name not in facts:
            raise Damaged(f"{name} is missing in the manifest")
        if not fits(facts[name]):
            raise Damaged(f"{name} in the manifest is {facts[name]!r:.80}")
    for name in facts.keys() - expected.keys() if exactly else ():
        raise Damaged(f"{name!r:.80} in the manifest is unknown")


def check_start(start: Snapshot) -> None:
    """Refuse what a run begins with where its facts are not of their kind."""
    _check_facts(start.facts, _START)
    _check_facts(start.facts["task"], _TASK)
    _check_facts(start.facts["held_out"], _HELD_OUT, exactly=True)
    _check_facts(start.facts["networks"], _NETWORKS)
    if not 1 <= start.facts["task"]["chains"] <= 10**6:
        raise Damaged(f"chains in the manifest is {start.facts['task']['chains']}")


def check_checkpoint(newest: Snapshot, chains: int, communities: Any) -> None:
    """Refuse a checkpoint whose facts, plan or trace are not those of a run with so many chains and communities."""
    _check_facts(newest.facts, _POSITION)
    if not _count(communities):
        raise Damaged(f"communities in the manifest of the run is {communities!r:.80}")
    check_layout(newest.arrays, {"plan": (np.float64, (-1, 2))})
    check_finite("plan", newest.arrays["plan"][1:], -1.0)
    # Numbers of sweeps, of which some are below zero (`Plan.memory`).
    check_finite("plan", newest.arrays["plan"][:1], -MOST_SWEEPS)
    if not len(newest.arrays["plan"]):
        raise Damaged("plan is empty")
    columns = {name: array.shape for name, array in newest.arrays.items() if name.startswith("trace_")}
    if len(set(columns.values())) > 1 or any(len(shape) != 1 for shape in columns.values()):
        raise Damaged(f"the columns of the trace have different shapes: {columns!r:.200}")
    if newest.facts["sweep"] > 0 and newest.facts["closed"] and not columns:
        raise Damaged("the trace is missing")
    found = sum(name.endswith("_forecast") for name in newest.arrays)
    # Every sampler keeps something for each community: fewer entries would only show when memory is taken for them.
    largest = max((array.size for name, array in newest.arrays.items() if "_state_" in name), default=0)
    if found != chains or largest < communities:
        raise Damaged(f"it is not the state of {chains} chains of {communities} communities")


def check_split(graph: Graph, data: HeldOut) -> None:
    """Refuse held-out pairs that are not pairs of this network, or a training network of another size."""
    nodes, count, sides = graph.n_nodes, data.links.size, graph.sides
    alone = 0 if sides is None else len(sides.self_pairs())
    if data.training.n_nodes != nodes:
        raise Damaged(f"the training network has {data.training.n_nodes} nodes, and the network {nodes}")
    check_layout(
        {
            name: getattr(data, name)
            for name in ("pairs", "links", "hidden_offsets", "hidden_neighbors", "matched")
        },
        {
            "matched": (np.int64, (-1, 2)),
            "pairs": (np.int64, (count, 2)),
            "links": (np.bool_, (count,)),
            "hidden_offsets": (np.int64, (nodes + 1,)),
            "hidden_neighbors": (graph.neighbors.dtype, (2 * (count + alone),)),
        },
    )
    check_range("pairs", data.pairs, nodes)
    check_range("matched", data.matched, nodes)
    if (data.pairs[:, 0] == data.pairs[:, 1]).any():
        raise Damaged("pairs has a pair of a node with itself")
    if data.training.sides != sides or (sides is not None and not sides.joins(data.scored_pairs).all()):
        raise Damaged("the training network or pairs are not of the sides of this network")
    if (data.training.weights is None) != (graph.weights is None):
        raise Damaged("of the network and the training network, only one has links with weights")
    check_range("links", data.links.view(np.uint8), 2)
    offsets, neighbors = hidden_rows(data.pairs, graph)
    if not (
        np.array_equal(offsets, data.hidden_offsets) and np.array_equal(neighbors, data.hidden_neighbors)
    ):
        raise Damaged("hidden_neighbors does not list the held-out pairs")
