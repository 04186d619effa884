"""The data in the form that samplers and kernels read, and the small network on which kernels are compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut, hold_out
from blockmix.model import Model
from blockmix.tables.layout import Network


def network_of(data: HeldOut) -> Network:
    """Return the training links and the held-out pairs as kernels read them."""
    graph = data.training
    return Network(graph.offsets, graph.neighbors, data.hidden_offsets, data.hidden_neighbors)


def node_concentrations(model: Model, graph: Graph) -> NDArray[np.float64]:
    """Return the Dirichlet concentration alpha of every node; isolated nodes have one of their own."""
    return model.concentrations(graph.degrees)


def small_network(weighted: bool = False) -> HeldOut:
    """Return six nodes, two of them isolated, on which kernels are compiled before time is measured."""
    weights = [1.0, 2.0, 1.0, 3.0] if weighted else None
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], nodes=range(6), weights=weights)
    return hold_out(graph, 0.3, seed=0)


def non_link_weight(data: HeldOut) -> float:
    """Return the weight of a training non-link: the share of links left in training over that of non-links.

    Balanced held-out pairs take a larger share of the links than of the non-links. Without this weight every link
    would be estimated as too unlikely for the network as a whole.
    """
    if data.kind != "balanced":
        return 1.0
    links, hidden_links = data.training.n_edges, data.n_links
    non_links = data.training.n_pairs - links - data.n_pairs
    links_left = links / (links + hidden_links)
    non_links_left = non_links / (non_links + data.n_pairs - hidden_links)
    return links_left / non_links_left if non_links_left > 0 else 1.0
