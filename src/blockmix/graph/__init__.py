"""What comes in: networks, readers, held-out splits, generators, datasets.

`Graph` and `Labels` are here at once; the other names are resolved when they are first used, because reading,
splitting and generating need numba, which takes a third of a second to import.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.graph.summary import ReadSummary

if TYPE_CHECKING:
    from blockmix.graph.builtin import les_miserables
    from blockmix.graph.datasets import dataset_path, list_datasets, load_dataset, load_truth
    from blockmix.graph.generate import Simulated, simulate
    from blockmix.graph.planted import Planted
    from blockmix.graph.read import read_graph
    from blockmix.graph.registry import Dataset
    from blockmix.graph.split import HeldOut, hold_out, no_hold_out

# The generator `planted` is not among them: its module has that name, and `blockmix.planted` is the function.
_WHERE = {
    "Dataset": "registry",
    "HeldOut": "split",
    "Planted": "planted",
    "Simulated": "generate",
    "dataset_path": "datasets",
    "hold_out": "split",
    "les_miserables": "builtin",
    "list_datasets": "datasets",
    "load_dataset": "datasets",
    "load_truth": "datasets",
    "no_hold_out": "split",
    "read_graph": "read",
    "simulate": "generate",
}

__all__ = [
    "Dataset",
    "Graph",
    "HeldOut",
    "Labels",
    "Planted",
    "ReadSummary",
    "Simulated",
    "dataset_path",
    "hold_out",
    "les_miserables",
    "list_datasets",
    "load_dataset",
    "load_truth",
    "no_hold_out",
    "read_graph",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(f"blockmix.graph.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'blockmix.graph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
