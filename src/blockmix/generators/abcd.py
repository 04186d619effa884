"""Benchmark networks with overlapping communities, power-law degrees and sizes, outliers and noise.

The model is that of ABCD+o2 (Barrett, DePaolo, Kamiński, Prałat and Théberge 2025), written from its description:
nodes are points of a hidden space, communities are groups of near points that grow until they overlap, each node
gives a share of its links to the background and divides the rest equally among its communities, and links are drawn
by a configuration model in each community and in the background. It is no model that blockmix fits: a neutral test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.generators.draw import membership_matrix, stream
from blockmix.generators.planted import Planted
from blockmix.generators.simulate import check_sizes, graph_of

STREAM_ABCD = 100
# Rounds in which stubs that met in a loop or a link that is there already are paired again.
_ROUNDS = 30


def abcd(
    nodes: int,
    *,
    memberships: float = 1.25,
    noise: float = 0.1,
    outliers: int = 0,
    degree_range: tuple[int, int] | None = None,
    degree_exponent: float = 2.5,
    size_range: tuple[int, int] | None = None,
    size_exponent: float = 1.5,
    dimension: int = 2,
    seed: int = 0,
) -> Planted:
    """Draw a benchmark network with known overlapping communities, after ABCD+o2.

    Args:
        nodes: number of nodes.
        memberships: communities of a node that is no outlier, on average; one for no overlap.
        noise: share of a node's links that it gives to the background, where they go to any node.
        outliers: nodes in no community; all their links are noise.
        degree_range: smallest and largest degree; 5 and the root of the number of nodes by default.
        degree_exponent: degrees fall as degree^-exponent.
        size_range: smallest and largest community before it grows; 50 and nodes/5, at most 1,000, by default.
        size_exponent: sizes fall as size^-exponent.
        dimension: of the hidden space; the higher, the more communities a community meets.
        seed: the same seed and arguments give the same network.

    Example:
        >>> made = abcd(1000, memberships=1.5, outliers=20, seed=1)
        >>> made.graph.n_nodes, 0.9 < sum(map(len, made.covers)) / (1.5 * 980) < 1.1
        (1000, True)
    """
    nodes, _, seed = check_sizes(nodes, 1, None, seed)
    low, high = degree_range or (5, max(6, round(nodes**0.5)))
    small, large = size_range or (min(50, nodes // 2), max(min(1000, nodes // 5), min(50, nodes // 2)))
    _check(nodes, memberships, noise, outliers, (low, high), (small, large))
    rng = stream(seed, STREAM_ABCD)
    degrees = np.sort(_powerlaw_integers(rng, nodes, degree_exponent, low, high))[::-1]
    # Outliers are drawn among all degrees: they are no special nodes but for their links.
    alone = rng.choice(nodes, outliers, replace=False)
    inside = np.setdiff1d(np.arange(nodes), alone)
    sizes = _sizes(rng, len(inside), size_exponent, small, large)
    covers = [inside[members] for members in _grow(rng, sizes, memberships, dimension)]
    edges = _draw(rng, degrees, covers, noise, nodes)
    counts = np.zeros(nodes, dtype=np.int64)
    for members in covers:
        counts[members] += 1
    owner = np.concatenate([np.full(len(members), k) for k, members in enumerate(covers)])
    order = np.lexsort((owner, np.concatenate(covers)))
    shares = np.repeat(1.0 / np.maximum(counts, 1), counts).astype(np.float32)
    matrix = membership_matrix(counts, owner[order].astype(np.int32), shares, len(covers))
    parameters = {
        "generator": "abcd", "nodes": nodes, "memberships": memberships, "noise": noise, "outliers": outliers,
        "degree_range": [low, high], "degree_exponent": degree_exponent, "size_range": [small, large],
        "size_exponent": size_exponent, "dimension": dimension, "seed": seed, "communities": len(covers),
    }  # fmt: skip
    graph = graph_of(edges, nodes)
    within = np.array([_links_within(graph.edges(), members, nodes) for members in covers])
    pairs = np.array([len(members) * (len(members) - 1) / 2.0 for members in covers])
    background = noise * graph.density
    return Planted(graph, matrix, within / np.maximum(pairs, 1.0), background, parameters, covers)


def _check(
    nodes: int, memberships: float, noise: float, outliers: int, degrees: tuple[int, int], sizes: tuple[int, int]
) -> None:  # fmt: skip
    if not 0 <= noise <= 1:
        raise InputError(f"noise={noise!r}: the share of links in the background lies between 0 and 1")
    if not (isinstance(outliers, int | np.integer) and 0 <= outliers < nodes):
        raise InputError(f"outliers={outliers!r}: give a number of nodes from 0 to {nodes - 1}")
    if not 1 <= degrees[0] <= degrees[1] < nodes:
        raise InputError(
            f"degree_range={degrees!r}: give the smallest and the largest degree, 1 to {nodes - 1}"
        )
    if not 2 <= sizes[0] <= sizes[1] <= nodes - outliers:
        raise InputError(
            f"size_range={sizes!r}: give the smallest and the largest community, 2 to {nodes - outliers} nodes"
        )
    if not 1 <= memberships <= (nodes - outliers) / sizes[1]:
        raise InputError(
            f"memberships={memberships!r}: communities of a node, at least 1, and so few that the largest community "
            "stays smaller than the network"
        )


def _powerlaw_integers(
    rng: np.random.Generator, size: int, exponent: float, low: int, high: int
) -> NDArray[np.int64]:
    """Draw integers from low to high with probabilities that fall as value^-exponent."""
    values = np.arange(low, high + 1)
    weights = values.astype(np.float64) ** -exponent
    return np.asarray(rng.choice(values, size=size, p=weights / weights.sum()), dtype=np.int64)


def _sizes(
    rng: np.random.Generator, nodes: int, exponent: float, small: int, large: int
) -> NDArray[np.int64]:
    """Draw sizes until they fill the nodes; what the last one lacks or exceeds is spread over the others."""
    found: list[int] = []
    while sum(found) < nodes:
        found.append(int(_powerlaw_integers(rng, 1, exponent, small, large)[0]))
    sizes = np.sort(np.array(found))[::-1]
    surplus = int(sizes.sum()) - nodes
    if surplus >= sizes[-1] and len(sizes) > 1:
        surplus -= int(sizes[-1])
        sizes = sizes[:-1]
    while surplus > 0:
        reducible = np.flatnonzero(sizes > min(small, int(sizes.max()) - 1))
        take = rng.choice(reducible, min(surplus, len(reducible)), replace=False)
        sizes[take] -= 1
        surplus -= len(take)
    return np.asarray(np.sort(sizes)[::-1])


def _grow(
    rng: np.random.Generator, sizes: NDArray[np.int64], memberships: float, dimension: int
) -> list[NDArray[np.int64]]:
    """Return the communities: near points around the outermost one that is left, grown by their nearest others."""
    nodes = int(sizes.sum())
    points = rng.normal(size=(nodes, dimension))
    points *= (rng.random(nodes) ** (1.0 / dimension) / np.linalg.norm(points, axis=1))[:, None]
    left = np.arange(nodes)
    found = []
    for size in rng.permutation(sizes):
        outermost = left[np.argmax((points[left] ** 2).sum(axis=1))]
        distance = ((points[left] - points[outermost]) ** 2).sum(axis=1)
        nearest = np.argpartition(distance, size - 1)[:size]
        core = left[nearest]
        left = np.delete(left, nearest)
        grown = memberships * size
        extra = int(grown) - size + int(rng.random() < grown - int(grown))
        if extra > 0:
            distance = ((points - points[core].mean(axis=0)) ** 2).sum(axis=1)
            distance[core] = np.inf
            core = np.concatenate([core, np.argpartition(distance, extra - 1)[:extra]])
        found.append(np.sort(core))
    return sorted(found, key=len, reverse=True)


def _draw(
    rng: np.random.Generator, degrees: NDArray[np.int64], covers: list[NDArray[np.int64]], noise: float, nodes: int
) -> NDArray[np.int64]:  # fmt: skip
    """Draw the links of every community, then those of the background from all stubs that are left."""
    counts = np.zeros(nodes, dtype=np.int64)
    for members in covers:
        counts[members] += 1
    left = degrees.copy()
    wanted = np.where(counts > 0, (1.0 - noise) * degrees / np.maximum(counts, 1), 0.0)
    taken: set[int] = set()
    for members in covers:
        stubs = np.floor(wanted[members] + rng.random(len(members))).astype(np.int64)
        stubs = np.minimum(np.minimum(stubs, left[members]), len(members) - 1)
        if stubs.sum() % 2:
            stubs[np.argmax(stubs)] -= 1
        used = _pair(rng, np.repeat(members, stubs), nodes, taken)
        left -= np.bincount(used, minlength=nodes)
    _pair(rng, np.repeat(np.arange(nodes), np.maximum(left, 0)), nodes, taken)
    codes = np.fromiter(taken, dtype=np.int64, count=len(taken))
    codes.sort()
    return np.column_stack([codes // nodes, codes % nodes])


def _pair(
    rng: np.random.Generator, stubs: NDArray[np.int64], nodes: int, taken: set[int]
) -> NDArray[np.int64]:
    """Join stubs at random into links that are not there yet; return the nodes of those that were joined.

    Stubs that meet in a loop or a link that is there are shuffled and paired again, a few times.
    """
    used: list[int] = []
    for _ in range(_ROUNDS):
        if len(stubs) < 2:
            break
        stubs = rng.permutation(stubs)[: len(stubs) // 2 * 2]
        again: list[int] = []
        for a, b in zip(stubs[::2].tolist(), stubs[1::2].tolist(), strict=True):
            code = min(a, b) * nodes + max(a, b)
            if a == b or code in taken:
                again += (a, b)
            else:
                taken.add(code)
                used += (a, b)
        stubs = np.array(again, dtype=np.int64)
    return np.array(used, dtype=np.int64)


def _links_within(edges: NDArray[np.int64], members: NDArray[np.int64], nodes: int) -> float:
    """Count the links between members of a community."""
    inside = np.zeros(nodes, dtype=bool)
    inside[members] = True
    return float((inside[edges[:, 0]] & inside[edges[:, 1]]).sum())
