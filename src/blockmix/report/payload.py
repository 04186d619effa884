"""What the page's script reads: communities, bridges, the drawing, the trace, and where the node data are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.report.communities import Findings
from blockmix.report.pictures.colours import PALETTE, REST
from blockmix.report.pictures.drawing import Drawing
from blockmix.report.pictures.ghosts import ghost_links
from blockmix.report.pictures.pack import STEPS, Packed, encode
from blockmix.report.pictures.regions import make_regions
from blockmix.report.traces import trace_data

# Rows of the tables; whatever is longer is cut, and the page says so.
MOST_COMMUNITIES, MOST_BRIDGES = 2_000, 300
# A label in the page's own data is cut to this length; the block of labels has it whole.
_LONGEST = 120


def page_data(
    found: Findings, drawing: Drawing, colours: NDArray[np.int64], packed: Packed, *, seed: int = 0
) -> dict[str, Any]:
    """Collect everything but the data of single nodes, which are in the blocks."""
    graph = found.post.graph
    listed = found.numbers[:MOST_COMMUNITIES].tolist()
    bridges = found.bridges[:MOST_BRIDGES].tolist()
    ghosts, probability = ghost_links(found.post)
    named = {*bridges, *(int(a) for k in listed for a in found.certain[k]), *ghosts.ravel().tolist()}
    return {
        "kind": drawing.kind,
        "nodes": graph.n_nodes,
        "links": graph.n_edges,
        "sides": None if graph.sides is None else {"first": graph.sides.first, "directed": graph.directed},
        "threshold": found.threshold,
        "level": found.level,
        "palette": PALETTE,
        "rest": REST,
        "communities": _communities(found, listed),
        "communities_in_all": len(found.numbers),
        "colours": {int(k): int(c) for k, c in zip(found.numbers, colours, strict=True)},
        "names": {a: graph.name_of(a)[:_LONGEST] for a in sorted(named)},
        "bridges": [{"node": a, "shares": _shares(found, a)} for a in bridges],
        "bridges_in_all": len(found.bridges),
        "ghosts": {"pairs": ghosts, "probability": [_digits(p) for p in probability]},
        "drawing": _drawing(drawing),
        "regions": _regions(found, seed),
        "trace": trace_data(found.post),
        "block": {
            "sections": {name: block.sections for name, block in packed.blocks.items()},
            "nodes": packed.nodes,
            "named": packed.named,
            "links": packed.links,
            "least": packed.least,
            "steps": STEPS,
        },
    }


def _communities(found: Findings, listed: list[int]) -> dict[str, Any]:
    strengths = found.post.strengths(level=found.level)
    shared = found.shared_bridges()
    return {
        "number": listed,
        "size": [_digits(found.post.sizes[k]) for k in listed],
        "members": [len(found.covers[k]) for k in listed],
        "strength": [_digits(strengths.mean[k]) for k in listed],
        "lower": [_digits(strengths.lower[k]) for k in listed],
        "upper": [_digits(strengths.upper[k]) for k in listed],
        "evidence": [
            None if np.isnan(found.post.evidence[k]) else _digits(found.post.evidence[k]) for k in listed
        ],
        "certain": [found.certain[k].tolist() for k in listed],
        "shared": [shared[k] for k in listed],
    }


def _shares(found: Findings, node: int) -> list[list[float]]:
    """Return community, mean, lower and upper bound of the memberships of a node that are worth a mention."""
    post, (lower, upper) = found.post, found.bounds
    row = range(int(post.offsets[node]), int(post.offsets[node + 1]))
    return [
        [int(post.community[j]), _digits(post.mean[j]), _digits(lower[j]), _digits(upper[j])]
        for j in row
        if post.mean[j] >= found.threshold
    ]


def _drawing(drawing: Drawing) -> dict[str, Any]:
    """Encode places: of nodes in a network, of discs in a map, whose last disc is for nodes in no community."""
    place, radius = drawing.place, drawing.radius
    if drawing.places is not None:
        place, radius = drawing.places.centre, drawing.places.radius
    return {
        "ids": encode(drawing.ids.astype(np.uint32)),
        "x": encode(place[:, 0].astype(np.float32)),
        "y": encode(place[:, 1].astype(np.float32)),
        "radius": encode(radius.astype(np.float32)),
        "links": encode(drawing.links.astype(np.uint32)),
        "weight": encode(np.rint(drawing.weight * 255).astype(np.uint8)),
        "unit": None if drawing.places is None else _digits(drawing.places.unit),
    }


def _regions(found: Findings, seed: int) -> list[list[int]] | None:
    """Return the communities of every region of the contents list, or nothing where a plain list is short enough."""
    count = min(len(found.numbers), MOST_COMMUNITIES)
    links, weight = found.community_links(count)
    regions = make_regions(links, weight, found.post.sizes[found.numbers[:count]], seed=seed)
    if regions is None:
        return None
    return [found.numbers[:count][regions == r].tolist() for r in range(int(regions.max()) + 1)]


def _digits(value: Any) -> float:
    return float(f"{float(value):.4g}")
