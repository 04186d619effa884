"""The number of communities, where the user gives none: that of a hard partition of the training network."""

from __future__ import annotations

from dataclasses import replace

from blockmix.graph.split import HeldOut
from blockmix.inference.request import FitRequest
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.choose import choose_communities

# The link models whose nodes may differ in how many links they have. The model that is still to be chosen is one: that
# choice is made by a short run of the popularity model.
BY_DEGREE = ("popularity", "auto")


def choose_number(request: FitRequest, data: HeldOut) -> int:
    """Return the number of communities in the partition that chains of the request's model start from."""
    with Workers(request.threads) as workers:
        by_degree = request.model in BY_DEGREE
        return choose_communities(data.training, request.seed, workers, by_degree)


def recount(request: FitRequest, data: HeldOut) -> FitRequest:
    """Return the request, whose model was chosen last, with the number of communities that goes with this model."""
    if not request.chosen or request.model in BY_DEGREE:
        return request
    return replace(request, communities=choose_number(request, data))
