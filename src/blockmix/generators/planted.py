"""Benchmark networks with planted overlapping communities: every cover is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.generators.draw import (
    STREAM_MEMBERSHIPS,
    distinct,
    draw_links,
    membership_matrix,
    pairs_inside,
    stream,
)
from blockmix.generators.popular import Degrees, check_degrees, draw_popularity
from blockmix.generators.sides import Places, planted_places
from blockmix.generators.simulate import (
    Simulated,
    check_sizes,
    graph_of,
    popular_network,
    unreachable_degree,
)
from blockmix.graph.sides.making import BIPARTITE, chosen_kind

# Community sizes of real networks fall roughly as size^-2; a ratio of 50 keeps the smallest ones findable.
_SIZE_EXPONENT = 2.0
_SIZE_RATIO = 50.0
_LARGEST_STRENGTH = 1.0 - 1e-9


@dataclass(frozen=True, eq=False)
class Planted(Simulated):
    """A network with planted communities; `covers[k]` are the nodes of community k, in increasing order."""

    covers: list[NDArray[np.int64]]

    @property
    def true_covers(self) -> list[NDArray[np.int64]]:
        """The planted covers."""
        return self.covers


def planted(
    nodes: int,
    communities: int,
    *,
    degree: float = 20.0,
    overlap: tuple[int, int] = (1, 3),
    mixing: float = 0.1,
    sizes: Literal["equal", "powerlaw"] = "equal",
    degrees: Degrees = "equal",
    rho: float = 1.0,
    directed: bool = False,
    bipartite: bool = False,
    second_nodes: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Planted:
    """Draw a network in which every node belongs to a few known communities, with equal weight.

    The number of communities of a node is uniform over `overlap`, and the communities are chosen at random.
    Links follow (M1), so the model is true for it, and the expected average degree is exactly `degree`.

    Args:
        nodes: number of nodes.
        communities: number of communities.
        degree: expected average degree.
        overlap: fewest and most communities of a node.
        mixing: expected share of the links that the background makes.
        sizes: "equal": communities are chosen uniformly and are equally strong. "powerlaw": they are chosen
            with weights that fall as size^-2 over a range of 50, and strengths are inverse to the size, so
            that a member of a small community has as many links as one of a large community.
        degrees, rho: popularities of the nodes, as in `simulate`; links then follow (DC1), and the expected degree is
            met to about a percent.
        directed: links have directions. Every node has communities as one that sends links and as one that receives
            them, the same ones for half of the nodes; `degree` is the expected number of links that it sends.
        bipartite, second_nodes: `nodes` of one kind, with this expected degree, and so many of a second (as many if
        left
            out), with links between the kinds only. Nodes without a link are left out.
        seed: the same seed and arguments give the same network, whatever the number of threads.
        threads: number of threads; all cores when not given.

    Example:
        >>> made = planted(200, 4, degree=12, seed=1)
        >>> len(made.covers), sum(map(len, made.covers)) == made.memberships.nnz
        (4, True)
    """
    kind = chosen_kind(directed, bipartite)
    nodes, communities, seed = check_sizes(nodes, communities, None if kind else degree, seed)
    if second_nodes is not None and kind != BIPARTITE:
        raise InputError("second_nodes: only a bipartite network has nodes of a second kind (bipartite=True)")
    fewest, most = _check_options(communities, overlap, mixing, sizes)
    check_degrees(degrees, rho)
    if kind is not None:
        if sizes != "equal":
            raise InputError(f"sizes={sizes!r} has no effect on a {kind} network: its communities are equal")
        other = nodes if second_nodes is None else check_sizes(second_nodes, communities, None, seed)[0]
        places = Places(kind, (nodes, other), communities, (fewest, most))
        made, covers = planted_places(places, degree, mixing, (degrees, rho), seed, threads)
        return Planted(**vars(made), covers=covers)
    rng = stream(seed, STREAM_MEMBERSHIPS)
    counts = rng.integers(fewest, most, size=nodes, endpoint=True)
    weights = _size_weights(rng, communities, sizes)
    chosen = _choose(rng, counts, communities, weights)
    shares = np.repeat(1.0 / counts, counts).astype(np.float32)
    memberships = membership_matrix(counts, chosen, shares, communities)
    strengths, background = _strengths(memberships, degree, mixing, sizes)
    columns = memberships.tocsc()
    covers = [np.sort(part).astype(np.int64) for part in np.split(columns.indices, columns.indptr[1:-1])]
    parameters = {
        "generator": "planted",
        "nodes": nodes,
        "communities": communities,
        "degree": degree,
        "overlap": [fewest, most],
        "mixing": mixing,
        "sizes": sizes,
        "seed": seed,
    }
    popularity = draw_popularity(nodes, degrees, rho, seed)
    if popularity is not None:
        parameters |= {"degrees": degrees} | ({"rho": rho} if degrees == "gamma" else {})
        rates = -np.log1p(-np.append(strengths, background))
        made = popular_network(memberships, rates, popularity, degree, parameters, threads)
        return Planted(
            made.graph,
            memberships,
            made.strengths,
            made.background,
            parameters,
            covers,
            popularity=popularity,
        )
    edges = draw_links(memberships, strengths, background, seed=seed, threads=threads)
    return Planted(graph_of(edges, nodes), memberships, strengths, background, parameters, covers)


def _check_options(communities: int, overlap: tuple[int, int], mixing: float, sizes: str) -> tuple[int, int]:
    fewest, most = overlap
    if not (int(fewest) == fewest and int(most) == most and 1 <= fewest <= most <= communities):
        raise InputError(
            f"overlap={overlap!r}: give the fewest and the most communities of a node, "
            f"between 1 and the number of communities ({communities})"
        )
    if not 0 <= mixing < 1:
        raise InputError(f"mixing={mixing!r}: the share of background links is at least 0 and below 1")
    if sizes not in ("equal", "powerlaw"):
        raise InputError(f"sizes={sizes!r}: use 'equal' or 'powerlaw'")
    return int(fewest), int(most)


def _size_weights(rng: np.random.Generator, communities: int, sizes: str) -> NDArray[np.float64] | None:
    """Draw relative sizes from a power law by inverting its distribution function; None when equal."""
    if sizes == "equal":
        return None
    tail = 1.0 - _SIZE_EXPONENT
    drawn = (1.0 - rng.random(communities) * (1.0 - _SIZE_RATIO**tail)) ** (1.0 / tail)
    return np.asarray(drawn / drawn.sum())


def _choose(
    rng: np.random.Generator, counts: NDArray[np.int64], communities: int, weights: NDArray[np.float64] | None
) -> NDArray[np.int32]:
    """Choose distinct communities for every node, node by node."""
    if weights is None:
        chosen = distinct(counts, rng.random(int(counts.sum())), np.arange(communities, dtype=np.int32))
        return np.asarray(chosen, dtype=np.int32)
    cumulative = np.cumsum(weights)
    table = np.full((len(counts), int(counts.max())), -1, dtype=np.int32)
    for j in range(table.shape[1]):
        # A community drawn twice is drawn again; some other one is always left, since j < communities.
        waiting = np.flatnonzero(counts > j)
        while len(waiting):
            drawn = np.searchsorted(cumulative, rng.random(len(waiting)), side="right")
            drawn = np.minimum(drawn, communities - 1).astype(np.int32)
            fresh = (table[waiting, :j] != drawn[:, None]).all(axis=1)
            table[waiting[fresh], j] = drawn[fresh]
            waiting = waiting[~fresh]
    return table[table >= 0]


def _strengths(
    memberships: Any, degree: float, mixing: float, sizes: str
) -> tuple[NDArray[np.float64], float]:
    """Compute strengths and background that give the expected degree and share of background links."""
    nodes = memberships.shape[0]
    inside = pairs_inside(memberships)
    outside = nodes * (nodes - 1) / 2.0 - inside.sum()
    links = nodes * degree / 2.0
    background = mixing * links / max(outside, 1e-9)
    if background >= 1:
        raise InputError(
            f"mixing={mixing:g}: only {max(outside, 0.0):.4g} pairs lie between communities, too few for "
            f"{mixing * links:.4g} background links; use more communities, less mixing or a smaller degree"
        )
    if (1.0 - mixing) * links > inside.sum() * _LARGEST_STRENGTH:
        raise unreachable_degree(degree, 0.0, 2.0 * float(inside.sum()) / (1.0 - mixing) / nodes)
    mass = np.asarray(memberships.sum(axis=0, dtype=np.float64)).ravel()
    shape = np.ones(len(mass)) if sizes == "equal" else 1.0 / np.maximum(mass, 1.0)
    return _scaled(shape, inside, (1.0 - mixing) * links), background


def _scaled(shape: NDArray[np.float64], inside: NDArray[np.float64], links: float) -> NDArray[np.float64]:
    """Compute min(1, c * shape) with the c that gives the expected number of links inside communities."""
    scale = links / float((shape * inside).sum())
    if scale * shape.max() <= _LARGEST_STRENGTH:
        return scale * shape
    low, high = np.log(scale), np.log(1.0 / shape.min())
    for _ in range(100):
        middle = (low + high) / 2.0
        strengths = np.minimum(np.exp(middle) * shape, _LARGEST_STRENGTH)
        low, high = (middle, high) if (strengths * inside).sum() < links else (low, middle)
    return np.asarray(np.minimum(np.exp(high) * shape, _LARGEST_STRENGTH))
