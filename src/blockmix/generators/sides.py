"""Planted networks of two sides: directed ones, and those of two kinds of nodes.

The places of both sides are given communities and popularities, a network without sides is drawn of all of them (DC1),
and the links between the sides are kept: these follow the model of two sides (DC15).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.generators.draw import STREAM_MEMBERSHIPS, membership_matrix, stream
from blockmix.generators.popular import Degrees, draw_popularity
from blockmix.generators.simulate import Simulated, popular_network
from blockmix.graph.edges import from_edges
from blockmix.graph.sides.making import DIRECTED
from blockmix.graph.sides.sides import Sides

if TYPE_CHECKING:
    from blockmix.graph.graph import Graph

# Of the nodes of a directed network this share has the same communities in both roles; those of the others are
# drawn twice.
SAME_ROLES = 0.5


class Places(NamedTuple):
    """The kind of network, the nodes of its two sides, the communities, and the fewest and the most of a node."""

    kind: str
    nodes: tuple[int, int]
    communities: int
    overlap: tuple[int, int]

    def parameters(self) -> dict[str, Any]:
        """Return what a call of `planted` says of them."""
        found = {"generator": "planted", "kind": self.kind, "nodes": self.nodes[0]}
        second = {} if self.kind == DIRECTED else {"second_nodes": self.nodes[1]}
        return found | second | {"communities": self.communities, "overlap": list(self.overlap)}

    def check_degree(self, degree: float) -> None:
        """Refuse an expected number of links that a node of the first side cannot have."""
        most = self.nodes[1] - (self.kind == DIRECTED)
        if not 0 < degree <= most:
            raise InputError(f"degree={degree!r}: a node can have up to {most} links to the others")


def planted_places(
    places: Places, degree: float, mixing: float, popularities: tuple[Degrees, float], seed: int, threads: int | None
) -> tuple[Simulated, list[NDArray[np.int64]]]:  # fmt: skip
    """Draw a network of so many places on either side, and the places of every community.

    `degree` is the expected number of links of a place of the first side, `popularities` their law and its shape.
    """
    places.check_degree(degree)
    count, (degrees, rho) = sum(places.nodes), popularities
    memberships = _memberships(places, seed)
    found = draw_popularity(count, degrees, rho, seed)
    parameters = places.parameters() | {"degree": degree, "mixing": mixing, "degrees": degrees, "seed": seed}
    if degrees == "gamma":
        parameters["rho"] = rho
    # Of all pairs of places those across are kept; the share of the background is that of the wanted links.
    mass = np.asarray(memberships.sum(axis=0)).ravel()
    inside = float((mass**2).sum()) / count**2
    rates = np.append(np.full(places.communities, 1.0), mixing / (1.0 - mixing) * inside)
    popularity = np.ones(count) if found is None else found
    wanted = degree * count / places.nodes[1]
    made = popular_network(memberships, rates, popularity, wanted, parameters, threads)
    graph, kept = _across(
        made.graph, Sides(places.nodes[0], places.kind == DIRECTED, named=False), places.kind
    )
    memberships = memberships[kept]
    columns = memberships.tocsc()
    covers = [np.sort(part).astype(np.int64) for part in np.split(columns.indices, columns.indptr[1:-1])]
    popularities_kept = None if found is None else popularity[kept]
    return Simulated(
        graph, memberships, made.strengths, made.background, parameters, popularity=popularities_kept
    ), covers


def _across(graph: Graph, sides: Sides, kind: str) -> tuple[Graph, NDArray[np.int64]]:
    """Return the network of the links between the sides, and the places that it has."""
    links = graph.edges().astype(np.int64)
    links = links[sides.joins(links)]
    if kind == DIRECTED:
        found = from_edges(links - [0, sides.first], nodes=np.arange(sides.first), kind=kind)
        return found, np.arange(2 * sides.first)
    if not len(links):
        raise InputError("no link was drawn: give a larger degree")
    # Nodes without links are left out: nothing would tell in a file which kind they are.
    return from_edges(links, kind=kind), np.unique(links)


def _memberships(places: Places, seed: int) -> Any:
    """Draw the communities of every place: a few with equal weights."""
    rng, count, nodes = stream(seed, STREAM_MEMBERSHIPS), sum(places.nodes), places.nodes
    counts = rng.integers(*places.overlap, size=count, endpoint=True)
    order = rng.random((count, places.communities)).argsort(axis=1)
    if places.kind == DIRECTED:
        same = np.flatnonzero(rng.random(nodes[0]) < SAME_ROLES)
        counts[nodes[0] + same], order[nodes[0] + same] = counts[same], order[same]
    chosen = [np.sort(row[:few]) for row, few in zip(order, counts.tolist(), strict=True)]
    shares = np.repeat(1.0 / counts, counts).astype(np.float32)
    return membership_matrix(counts, np.concatenate(chosen).astype(np.int32), shares, places.communities)
