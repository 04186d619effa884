"""Weights of links: whether the model uses them, and the law they have where the user leaves it open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.inference.request import FitRequest

# Whole numbers of at most this mean may be counts. A sweep draws a community for each unit of a count, and larger
# counts of real networks vary more than Poisson variables do (benchmarks/weights.py, lab notes).
LARGEST_MEAN_COUNT = 20.0
# Amounts outside of these bounds are not added up and squared without loss, nor are means of them.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100
# The most units of a node: their communities are in memory.
MOST_UNITS_OF_A_NODE = 50_000_000
NO_COUNTS = "not all weights are whole numbers of at most 20 on average"
ONLY_MODEL = "links have weights, which only the model with popularities uses"


def for_weights(request: FitRequest, graph: Graph) -> FitRequest:
    """Return the request with the law of the weights; a network with weights that would not be used is an error.

    Weights that may be counts or amounts keep no law: `weight_law.choose_law` compares the two.
    """
    if graph.weights is None:
        if request.weight_law is not None:
            raise InputError(
                f"weight_law={request.weight_law!r} (--weight-law) has no effect: the links of this network have no "
                "weights; read it with weights (--weights), or leave the law out"
            )
        return request
    if request.auto_model:
        request = request.with_model("popularity", ONLY_MODEL)
    if request.model != "popularity":
        why = f" ({request.model_chosen})" if request.model_open else ""
        raise InputError(
            f"the links of this network have weights, and the model {request.model!r}{why} sees only whether there is "
            'a link: fit with model="popularity" (--model popularity), or leave the weights out '
            "(graph.without_weights(), no --weights)"
        )
    _check_bounds(graph.weights)
    if request.weight_law == "counts":
        _check_counts(graph)
    if request.weight_law is None and not may_be_counts(graph):
        return replace(request, weight_law="amounts", law_chosen=NO_COUNTS)
    return request


def _check_bounds(weights: NDArray[np.float64]) -> None:
    least, most = (float(weights.min()), float(weights.max())) if len(weights) else (1.0, 1.0)
    if least < SMALLEST_WEIGHT or most > LARGEST_WEIGHT:
        raise InputError(
            f"the weights of links are from {least:g} to {most:g}, and must be from {SMALLEST_WEIGHT:g} to "
            f"{LARGEST_WEIGHT:g}: multiply or divide all of them, or leave the weights out"
        )


def may_be_counts(graph: Graph) -> bool:
    """Return whether all weights are whole numbers, and small on average."""
    weights = np.empty(0) if graph.weights is None else graph.weights
    whole = bool((weights == np.floor(weights)).all())
    return whole and graph.total_weight <= LARGEST_MEAN_COUNT * graph.n_edges


def _check_counts(graph: Graph) -> None:
    weights = np.empty(0) if graph.weights is None else graph.weights
    odd = np.flatnonzero(weights != np.floor(weights))
    remedy = 'take weight_law="amounts" (--weight-law amounts), or leave it out'
    if len(odd):
        row = int(np.searchsorted(graph.offsets, odd[0], side="right")) - 1
        ends = f"{graph.labels[row]!r} and {graph.labels[int(graph.neighbors[odd[0]])]!r}"
        raise InputError(
            f"counts are whole numbers, and the link between {ends:.120} has the weight {weights[odd[0]]:g}: {remedy}"
        )
    largest = float(np.add.reduceat(weights, graph.offsets[:-1][graph.degrees > 0]).max(initial=0.0))
    if largest > MOST_UNITS_OF_A_NODE:
        raise InputError(
            f"the counts of one node add up to {largest:,.0f}, and every unit of a count takes memory: {remedy}"
        )


def weights_of(request: FitRequest, data: HeldOut) -> dict[str, Any]:
    """Return what chains are told about the weights of held-out pairs: nothing where links have none."""
    return {} if request.weight_law is None else {"weights": data.weights}


def check_split(graph: Graph, data: HeldOut) -> None:
    """Refuse a split with weights of a network without, or the other way round."""
    if (graph.weights is None) != (data.training.weights is None):
        has = "has" if data.training.weights is not None else "has no"
        raise InputError(
            f"held_out is a split that {has} weights, other than the network: split the network that is fitted"
        )
