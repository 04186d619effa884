"""Everything about nodes, packed for the page: typed arrays in one compressed block, opened when needed.

The block is a zlib stream in base64. Inside, sections follow one another, each padded to four bytes; the
list of sections (name, type, length in bytes) travels with the rest of the page's data. What a file holds is
bounded: of a network with more than `MOST_NODES` nodes the best linked are there, of more than `MOST_LINKS`
links a sample, and the page says so.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.report.communities import Findings
from blockmix.report.markup import visible

MOST_NODES, MOST_LINKS = 400_000, 2_000_000
# Memberships that are listed for a node; in a file of very many nodes the smallest are left out.
_LEAST, _LEAST_OF_MANY, _MANY = 0.01, 0.03, 20_000
# Means and bounds are sent as whole numbers of this many steps.
STEPS = 10_000


@dataclass(frozen=True)
class Block:
    """The block of node data: its text, its sections, and how much of the network is in it."""

    text: str
    sections: list[tuple[str, str, int]]
    nodes: int
    links: int
    least: float


def encode(array: NDArray[Any]) -> str:
    """Encode a typed array as base64, little-endian."""
    return base64.b64encode(
        np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
    ).decode()


def pack_nodes(found: Findings, *, seed: int = 0) -> Block:
    """Pack labels, memberships with intervals, and links of the nodes."""
    graph = found.post.graph
    kept = _kept_nodes(graph.degrees)
    links = _kept_links(graph, kept, np.random.default_rng(seed))
    least = _LEAST if graph.n_nodes <= _MANY else _LEAST_OF_MANY
    if graph.attributes is None and len(kept) == graph.n_nodes:
        labels = [str(label) for label in graph.labels]
    else:
        labels = [graph.name_of(int(a)) for a in kept]
    if graph.labels.kind == "text" or graph.attributes is not None:
        labels = [visible(label) for label in labels]
    parts: list[tuple[str, str, bytes]] = [
        ("labels", "json", json.dumps(labels, ensure_ascii=False).encode("utf-8", errors="replace")),
        ("degree", "u32", graph.degrees[kept].astype("<u4").tobytes()),
    ]
    if len(kept) < graph.n_nodes:
        parts.append(("node", "u32", kept.astype("<u4").tobytes()))
    parts += _memberships(found, kept, least) + _rows(links, len(kept))
    body = b"".join(data + bytes(-len(data) % 4) for _, _, data in parts)
    sections = [(name, kind, len(data)) for name, kind, data in parts]
    text = base64.b64encode(zlib.compress(body, 6)).decode("ascii")
    return Block(text, sections, len(kept), len(links), least)


def _kept_nodes(degrees: NDArray[np.int64]) -> NDArray[np.int64]:
    """Choose all nodes, or the best linked if there are too many, in increasing order."""
    if len(degrees) <= MOST_NODES:
        return np.arange(len(degrees))
    return np.sort(np.argsort(-degrees, kind="stable")[:MOST_NODES])


def _kept_links(graph: Graph, kept: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return links between the nodes kept, as pairs of their positions; a sample if there are too many."""
    place = np.full(graph.n_nodes, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    links: NDArray[np.int64] = place[graph.edges()]
    links = links[(links >= 0).all(axis=1)]
    if len(links) > MOST_LINKS:
        links = links[np.sort(rng.choice(len(links), MOST_LINKS, replace=False))]
    return links


def _memberships(found: Findings, kept: NDArray[np.int64], least: float) -> list[tuple[str, str, bytes]]:
    """Return memberships of at least `least`, node by node: how many, then community, mean, lower, upper."""
    post = found.post
    place = np.full(post.graph.n_nodes, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    chosen = (np.asarray(post.mean) >= least) & (place[found.node] >= 0)
    counts = np.bincount(place[found.node[chosen]], minlength=len(kept))
    kind, code = ("<u2", "u16") if post.n_communities <= 2**16 else ("<u4", "u32")
    parts = [
        ("count", "u16", counts.astype("<u2").tobytes()),
        ("community", code, post.community[chosen].astype(kind).tobytes()),
    ]
    for name, values in (("mean", post.mean), ("lower", found.bounds[0]), ("upper", found.bounds[1])):
        steps = np.rint(np.asarray(values, dtype=np.float64)[chosen] * STEPS)
        parts.append((name, "u16", np.clip(steps, 0, STEPS).astype("<u2").tobytes()))
    return parts


def _rows(links: NDArray[np.int64], nodes: int) -> list[tuple[str, str, bytes]]:
    """Pack links a < b row by row: how many of each a, and by how much b exceeds a (small numbers pack well)."""
    counts = np.bincount(links[:, 0], minlength=nodes)
    return [
        ("later", "u32", counts.astype("<u4").tobytes()),
        ("step", "u32", (links[:, 1] - links[:, 0]).astype("<u4").tobytes()),
    ]
