"""The network: graphs, readers, held-out splits, datasets.

`Graph` and `Labels` are imported at once; the other names are resolved when they are first used, because reading
and splitting need numba, which takes a third of a second to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.graph.summary import ReadSummary
from blockmix.lazy import lazy_names

if TYPE_CHECKING:
    from blockmix.graph.datasets.builtin import les_miserables
    from blockmix.graph.datasets.load import dataset_path, list_datasets, load_dataset, load_truth
    from blockmix.graph.datasets.registry import Dataset
    from blockmix.graph.reading.read import read_graph
    from blockmix.graph.split import HeldOut, hold_out, no_hold_out

_WHERE = {
    "Dataset": "datasets.registry",
    "HeldOut": "split",
    "dataset_path": "datasets.load",
    "hold_out": "split",
    "les_miserables": "datasets.builtin",
    "list_datasets": "datasets.load",
    "load_dataset": "datasets.load",
    "load_truth": "datasets.load",
    "no_hold_out": "split",
    "read_graph": "reading.read",
}

__all__ = [
    "Dataset",
    "Graph",
    "HeldOut",
    "Labels",
    "ReadSummary",
    "dataset_path",
    "hold_out",
    "les_miserables",
    "list_datasets",
    "load_dataset",
    "load_truth",
    "no_hold_out",
    "read_graph",
]

__getattr__, __dir__ = lazy_names(__name__, _WHERE)
