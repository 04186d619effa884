"""What the two samplers that visit every pair share: limits on the size of a network, and a start."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.samplers.checks import check_choice
from blockmix.samplers.contract import ChainKey
from blockmix.samplers.starts.flat import flat_memberships, flat_strengths
from blockmix.samplers.starts.memberships import dense_rows, random_parts, start_rows, start_strengths
from blockmix.samplers.starts.partition import find_parts
from blockmix.tables.layout import Network, Prior, Strengths
from blockmix.tables.observed import count_pairs

# A community is a 16-bit word of the random stream.
MOST_COMMUNITIES = 2**16
STARTS = ("partition", "random", "flat")


def check_limits(options: Any) -> None:
    """Check the settings that both samplers have."""
    for name in ("most_gigabytes", "most_seconds"):
        value = getattr(options, name)
        if isinstance(value, bool) or not isinstance(value, float | int) or not value > 0:
            raise InputError(f"{name} must be a positive number, not {value!r}")
    check_choice("start", options.start, STARTS)


def prior_of(model: Model, nodes: int) -> Prior:
    """Return the prior as kernels read it."""
    (link, non_link), (background_link, background_non_link) = model.eta, model.prior_of_background(nodes)
    return Prior(float(link), float(non_link), float(background_link), float(background_non_link))


def fixed_background(model: Model) -> float:
    """Return the background where it is fixed, NaN where it is learned."""
    return math.nan if model.background is None else float(model.background)


def pairs_within_limits(
    name: str, data: HeldOut, communities: int, bytes_a_pair: int, bytes_a_node: int, seconds_a_pair: float,
    options: Any,
) -> int:  # fmt: skip
    """Return the number of training pairs, or raise an error with what a run would need."""
    if communities > MOST_COMMUNITIES:
        raise InputError(
            f"{name} takes at most {MOST_COMMUNITIES:,} communities, not {communities:,}; "
            "use sampler='scir', which has no such limit"
        )
    nodes = data.training.n_nodes
    pairs = data.training.n_pairs - len(data.hidden_neighbors) // 2
    gigabytes = (pairs * bytes_a_pair + nodes * bytes_a_node) / 1e9
    seconds = pairs * seconds_a_pair
    if gigabytes > options.most_gigabytes or seconds > options.most_seconds:
        raise InputError(
            f"{name} visits every pair of nodes: {pairs:,} pairs at {communities:,} communities need about "
            f"{gigabytes:.3g} GB of memory and {seconds:.3g} seconds a sweep, and the limits are "
            f"most_gigabytes={options.most_gigabytes:g} and most_seconds={options.most_seconds:g}; "
            "use sampler='scir', or raise the limits"
        )
    return pairs


def check_pairs(pairs: int, network: Network, nodes: int) -> None:
    """Check that the held-out rows name every pair from both ends and once: others would shift the list of pairs."""
    found = count_pairs(network, np.zeros(nodes, dtype=np.int8))
    if found != pairs:
        raise InputError(
            f"the held-out pairs are inconsistent: {pairs:,} training pairs expected, {found:,} found; "
            "make the split with hold_out"
        )


def start_memberships(
    graph: Graph, model: Model, kind: str, key: ChainKey
) -> tuple[NDArray[np.float64], Strengths]:
    """Return memberships (nodes x communities) and strengths to start at: those of a partition, or drawn at random."""
    rng = np.random.default_rng([int(key[0]), int(key[1])])
    k = model.communities
    if kind == "flat":
        return flat_memberships(graph.n_nodes, k, rng), flat_strengths(graph, model, rng)
    parts = random_parts(graph, k, rng) if kind == "random" else find_parts(graph, k, rng)
    rows = dense_rows(start_rows(graph, parts, model, min(k, 2), rng), k)
    return rows.weights[:, 1::2].astype(np.float64), start_strengths(graph, parts, model)
