"""The data as samplers take it, and the little network that they compile their kernels on."""

from __future__ import annotations

from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut, hold_out
from blockmix.kernels.layout import Network


def network_of(data: HeldOut) -> Network:
    """Training links and held-out pairs as the kernels see them."""
    graph = data.training
    return Network(graph.offsets, graph.neighbors, data.hidden_offsets, data.hidden_neighbors)


def small_network() -> HeldOut:
    """Six nodes, two of them without links, on which kernels are compiled before the clock starts."""
    return hold_out(Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], nodes=range(6)), 0.3, seed=0)
