"""Networks of two sides, directed or bipartite: which model and device they need."""

from __future__ import annotations

from dataclasses import asdict

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.inference.request import FitRequest
from blockmix.samplers import default_sampler

MODEL = "popularity"


def for_sides(request: FitRequest, graph: Graph) -> FitRequest:
    """Return the request with the model that such networks need, if it was left open; another one is an error."""
    if graph.sides is None:
        return request
    what = "links have directions" if graph.directed else "there are two kinds of nodes"
    remedy = (
        "merge the directions (no directed=True, --directed)"
        if graph.directed
        else "read it as an ordinary network (no bipartite=True, --bipartite)"
    )
    if request.device not in ("cpu", "auto", "reference"):
        raise InputError(
            f"device={request.device!r} (--device): {what}, which only the CPU can use: give device='cpu', or {remedy}"
        )
    if request.model != MODEL and not (request.auto_model or request.model_open):
        raise InputError(
            f"model={request.model!r} (--model): {what}, which only the model with popularities uses: fit with "
            f'model="{MODEL}" (--model {MODEL}), leave the model out, or {remedy}'
        )
    if request.sampler != default_sampler(MODEL):
        raise InputError(
            f"sampler={request.sampler!r} (--sampler): {what}, which only the sampler {default_sampler(MODEL)!r} uses: "
            f"leave the sampler out, or {remedy}"
        )
    if request.init is not None:
        raise InputError(f"init: {what}, and a given start has no roles: leave init out, or {remedy}")
    if request.device == "auto":
        request = request.on_cpu(f"{what}, which only the CPU can use")
    if request.model == MODEL:
        return request
    return request.with_needed_model(MODEL, f"{what}, which only this model uses")


def check_sides(graph: Graph, data: HeldOut) -> None:
    """Refuse a split of a network with other sides."""
    sides = [None if part.sides is None else asdict(part.sides) for part in (graph, data.training)]
    if sides[0] != sides[1]:
        raise InputError(
            "held_out is a split of a network with other directions or kinds of nodes: split the network that is fitted"
        )
