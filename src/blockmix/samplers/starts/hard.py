"""`partition`: the hard partition that blockmix starts from, as a fast method of its own."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from blockmix.errors import InputError
from blockmix.graph.accept import as_graph
from blockmix.graph.labels import Label
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.choose import count_communities
from blockmix.samplers.starts.partition import parts_of
from blockmix.samplers.starts.potts.levels import Levels


def partition(
    network: Any, communities: int | Literal["auto"] = "auto", *, seed: int = 0, min_size: int = 1
) -> list[list[Label]]:
    """Find communities without overlap, fast: the partition that `fit` starts from, largest part first.

    Groups of groups are made by local moves at finer and coarser resolutions, and of all of them the partition with the
    highest integrated likelihood of a blockmodel is taken. There is no uncertainty in it: that is what `fit` is for.

    Arguments:
        network: the network, in any form that `as_graph` takes.
        communities: the most parts to allow, or "auto" for as many as the likelihood supports.
        seed: the same seed gives the same partition.
        min_size: parts with fewer nodes are left out; isolated nodes are each a part of their own.

    >>> cliques = [(a + c, b + c) for c in (0, 8) for a in range(8) for b in range(a)]
    >>> [len(part) for part in partition(cliques + [(0, 8)])]
    [8, 8]
    """
    graph = as_graph(network)
    if graph.n_edges == 0:
        raise InputError("the network has no links: there is nothing to learn from")
    salt = int(np.random.default_rng(seed).integers(0, 2**32))
    with Workers() as workers:
        levels = Levels(graph, salt, workers, kept=communities == "auto")
        if communities == "auto":
            communities = count_communities(levels)
        _check(communities)
        parts = parts_of(levels, int(communities)).astype(np.int64)
    # The start spreads isolated nodes over the parts at random; here each is by itself.
    isolated = np.flatnonzero(graph.degrees == 0)
    parts[isolated] = communities + np.arange(len(isolated))
    order = np.argsort(parts, kind="stable")
    _, begins = np.unique(parts[order], return_index=True)
    groups = [group for group in np.split(order, begins[1:]) if len(group) >= min_size]
    return [graph.labels.take(group) for group in sorted(groups, key=lambda g: (-len(g), g[0]))]


def _check(communities: Any) -> None:
    whole = isinstance(communities, int | np.integer) and not isinstance(communities, bool)
    if not whole or communities < 1:
        raise InputError(f"communities must be a whole number from 1 on, or 'auto', not {communities!r:.40}")
