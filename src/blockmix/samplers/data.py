"""The data as samplers take it, and the little network that they compile their kernels on."""

from __future__ import annotations

from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut, hold_out
from blockmix.tables.layout import Network


def network_of(data: HeldOut) -> Network:
    """Training links and held-out pairs as the kernels see them."""
    graph = data.training
    return Network(graph.offsets, graph.neighbors, data.hidden_offsets, data.hidden_neighbors)


def small_network() -> HeldOut:
    """Six nodes, two of them without links, on which kernels are compiled before the clock starts."""
    return hold_out(Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], nodes=range(6)), 0.3, seed=0)


def non_link_weight(data: HeldOut) -> float:
    """What a training non-link counts: the share of links left in training over the share of non-links left.

    Held-out pairs that are balanced take a larger share of the links than of the non-links. Trained on the rest as it
    is, every link would come out too unlikely for the network as a whole.
    """
    if data.kind != "balanced":
        return 1.0
    links, hidden_links = data.training.n_edges, data.n_links
    non_links = data.training.n_pairs - links - data.n_pairs
    links_left = links / (links + hidden_links)
    non_links_left = non_links / (non_links + data.n_pairs - hidden_links)
    return links_left / non_links_left if non_links_left > 0 else 1.0
