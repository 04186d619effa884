"""What the page's script reads: communities, bridges, the drawing, the trace, and where the node data are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.report.communities import Findings
from blockmix.report.pictures.colours import PALETTE, REST
from blockmix.report.pictures.drawing import Drawing
from blockmix.report.pictures.pack import STEPS, Block, encode
from blockmix.report.traces import trace_data

# Rows of the tables; whatever is longer is cut, and the page says so.
MOST_COMMUNITIES, MOST_BRIDGES = 2_000, 300


def page_data(found: Findings, drawing: Drawing, colours: NDArray[np.int64], block: Block) -> dict[str, Any]:
    """Collect everything but the data of single nodes, which are in the block."""
    graph = found.post.graph
    certain = found.certain_members()
    listed = found.numbers[:MOST_COMMUNITIES].tolist()
    bridges = found.bridges[:MOST_BRIDGES].tolist()
    named = {*bridges, *(int(a) for k in listed for a in certain[k])}
    return {
        "kind": drawing.kind,
        "nodes": graph.n_nodes,
        "links": graph.n_edges,
        "threshold": found.threshold,
        "level": found.level,
        "palette": PALETTE,
        "rest": REST,
        "communities": _communities(found, listed, certain),
        "communities_in_all": len(found.numbers),
        "colours": {int(k): int(c) for k, c in zip(found.numbers, colours, strict=True)},
        "names": {a: graph.name_of(a) for a in sorted(named)},
        "bridges": [{"node": a, "shares": _shares(found, a)} for a in bridges],
        "bridges_in_all": len(found.bridges),
        "drawing": _drawing(drawing),
        "trace": trace_data(found.post),
        "block": {
            "sections": block.sections,
            "nodes": block.nodes,
            "links": block.links,
            "least": block.least,
            "steps": STEPS,
        },
    }


def _communities(found: Findings, listed: list[int], certain: dict[int, NDArray[np.int64]]) -> dict[str, Any]:
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
        "certain": [certain[k].tolist() for k in listed],
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
    return {
        "ids": encode(drawing.ids.astype(np.uint32)),
        "x": encode(drawing.place[:, 0].astype(np.float32)),
        "y": encode(drawing.place[:, 1].astype(np.float32)),
        "radius": encode(drawing.radius.astype(np.float32)),
        "links": encode(drawing.links.astype(np.uint32)),
        "weight": encode(np.rint(drawing.weight * 255).astype(np.uint8)),
        "links_in_all": drawing.links_in_all,
    }


def _digits(value: Any) -> float:
    return float(f"{float(value):.4g}")
