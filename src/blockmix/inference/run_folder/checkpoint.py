"""A run as arrays and facts, and back: what a checkpoint holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.inference.plan import Plan
from blockmix.inference.position import Position
from blockmix.inference.run_folder.snapshots import Snapshot
from blockmix.samplers.live import LiveChain

Arrays = dict[str, NDArray[Any]]
_POSITION = ("sweep", "warm_up", "warm_up_sweeps", "seconds", "updates", "over", "closed")
_HELD_OUT = ("pairs", "links", "hidden_offsets", "hidden_neighbors", "matched")


def run_arrays(chains: list[LiveChain], at: Position, plan: Plan) -> Arrays:
    """Return everything that the rest of the run depends on."""
    found: Arrays = {"plan": plan.memory()}
    if at.rows:
        found |= {f"trace_{name}": column for name, column in at.trace().items()}
    for c, chain in enumerate(chains):
        found |= {f"chain{c}_{name}": array for name, array in chain.arrays().items()}
    return found


def position_facts(at: Position) -> dict[str, Any]:
    """Return how far the run has come, as plain values."""
    return {name: getattr(at, name) for name in _POSITION}


def restore_position(snapshot: Snapshot) -> Position:
    """Return how far the run had come, with its trace."""
    facts = {name: snapshot.facts[name] for name in _POSITION}
    columns = {name: column.tolist() for name, column in _below("trace_", snapshot.arrays).items()}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return Position(**facts, rows=rows)


def chain_arrays(snapshot: Snapshot, chain: int) -> Arrays:
    """Return the arrays of one chain, as `LiveChain.arrays` gave them."""
    return _below(f"chain{chain}_", snapshot.arrays)


def _below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return the arrays whose names begin like this, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def held_out_arrays(data: HeldOut) -> Arrays:
    """Return the held-out pairs."""
    return {name: getattr(data, name) for name in _HELD_OUT}


def held_out_facts(data: HeldOut) -> dict[str, Any]:
    """Return how the held-out pairs were drawn."""
    return {name: getattr(data, name) for name in ("kind", "fraction", "density", "seed")}


def save_networks(folder: Path, graph: Graph, data: HeldOut) -> dict[str, str | None]:
    """Save the network, and the one without the held-out links; return their fingerprints."""
    graph.save(folder / "graph")
    if data.training is graph:
        return {"graph": graph.fingerprint, "training": None}
    data.training.save(folder / "training")
    return {"graph": graph.fingerprint, "training": data.training.fingerprint}


def map_training(folder: Path, data: HeldOut) -> HeldOut:
    """Return the split with its training network mapped from where it was just saved, instead of in memory."""
    if not (folder / "training").exists():
        return data
    training = Graph.load(folder / "training", verify=False)
    vars(training)["fingerprint"] = data.training.fingerprint
    return replace(data, training=training)


def load_networks(folder: Path, start: Snapshot) -> tuple[Graph, HeldOut]:
    """Load the network and the split of a run, and compare them with the fingerprints they had."""
    prints = start.facts["networks"]
    graph = _load_network(folder / "graph", prints["graph"])
    training = graph
    if prints["training"] is not None:
        training = _load_network(folder / "training", prints["training"])
    # A run that blockmix 0.1 began has no matched non-links: it goes on without them.
    found = {"matched": np.empty((0, 2), dtype=np.int64)} | dict(start.arrays)
    missing = [name for name in _HELD_OUT if name not in found]
    if missing:
        raise InputError(f"{start.path}: the array {missing[0]} is missing; restore the folder from a copy")
    held_out: dict[str, Any] = {name: found[name] for name in _HELD_OUT} | start.facts["held_out"]
    weights = None if graph.weights is None else graph.weights_of(found["pairs"])
    return graph, HeldOut(training=training, weights=weights, **held_out)


def _load_network(folder: Path, fingerprint: str) -> Graph:
    # Into memory and in the types of a network that was just read: kernels are compiled once for both.
    graph = Graph.load(folder, mmap=False)
    if graph.fingerprint != fingerprint:
        raise InputError(f"{folder}: this is not the network of this run; restore the folder from a copy")
    graph.check_links()
    return graph
