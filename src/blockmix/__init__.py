"""Overlapping communities in networks, with uncertainty, at any scale.

>>> import blockmix as bm
>>> graph = bm.Graph.from_edges([("ann", "bob"), ("bob", "cem"), ("cem", "ann"), ("cem", "dot")])
>>> post = bm.fit(graph, communities=2, seed=1, sweeps=20)
>>> post.link_probability([("ann", "bob")]).shape
(1,)

Names are resolved when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blockmix._version import __version__
from blockmix.lazy import lazy_names

if TYPE_CHECKING:
    from blockmix.errors import BlockmixError, GraphFormatError, InputError
    from blockmix.generators.abcd import abcd
    from blockmix.generators.planted import planted
    from blockmix.generators.simulate import simulate
    from blockmix.graph.accept import as_graph
    from blockmix.graph.datasets.load import list_datasets, load_dataset, load_truth
    from blockmix.graph.external.convert import convert
    from blockmix.graph.graph import Graph
    from blockmix.graph.reading.read import read_graph
    from blockmix.graph.split import HeldOut, hold_out
    from blockmix.inference.choices.select import select_communities
    from blockmix.inference.fit import fit
    from blockmix.inference.progress import Report
    from blockmix.inference.resume import resume
    from blockmix.model.hyper import Model
    from blockmix.posterior.posterior import Posterior
    from blockmix.posterior.storage import load
    from blockmix.samplers.starts.hard import partition

_WHERE = {
    "BlockmixError": "errors",
    "Graph": "graph.graph",
    "GraphFormatError": "errors",
    "HeldOut": "graph.split",
    "InputError": "errors",
    "Model": "model.hyper",
    "Posterior": "posterior.posterior",
    "Report": "inference.progress",
    "abcd": "generators.abcd",
    "as_graph": "graph.accept",
    "convert": "graph.external.convert",
    "fit": "inference.fit",
    "hold_out": "graph.split",
    "list_datasets": "graph.datasets.load",
    "load": "posterior.storage",
    "load_dataset": "graph.datasets.load",
    "load_truth": "graph.datasets.load",
    "partition": "samplers.starts.hard",
    "planted": "generators.planted",
    "read_graph": "graph.reading.read",
    "resume": "inference.resume",
    "select_communities": "inference.choices.select",
    "simulate": "generators.simulate",
}

__all__ = [
    "BlockmixError",
    "Graph",
    "GraphFormatError",
    "HeldOut",
    "InputError",
    "Model",
    "Posterior",
    "Report",
    "__version__",
    "abcd",
    "as_graph",
    "convert",
    "fit",
    "hold_out",
    "list_datasets",
    "load",
    "load_dataset",
    "load_truth",
    "partition",
    "planted",
    "read_graph",
    "resume",
    "select_communities",
    "simulate",
]

__getattr__, __dir__ = lazy_names(__name__, _WHERE)
