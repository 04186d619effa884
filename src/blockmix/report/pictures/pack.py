"""Everything about nodes, packed for the page: typed arrays in three compressed blocks, opened when they are needed.

- `map`: memberships and number of links of every node, enough to place, colour and describe it;
- `names`: labels;
- `links`: the links.

A block is a zlib stream in base64. Inside, sections follow one another, each padded to four bytes; arrays are stored
byte by byte (all lowest bytes first), which compresses better. A membership is a community and a row of a table of
means and intervals: in a large network means and standard deviations are rounded to hundredths, so that the table is
short. What a file holds is bounded (`MOST_BYTES`): small memberships are left out first, then labels of nodes with
few links, then links, picked at random; and the page says so.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.posterior.views import beta_median
from blockmix.report.communities import Findings, fast_interval
from blockmix.report.markup import visible

MOST_NODES, MOST_LINKS = 1_000_000, 3_000_000
# Bytes of the three blocks in base64: with scripts, tables and picture a file has less than 10 MB.
MOST_BYTES = 8_200_000
# Memberships that are listed for a node, and the next values tried where a file would be too large.
_LEAST, _LEAST_OF_MANY = (0.01, 0.03, 0.05, 0.1), 1
# Entries above which means and standard deviations are rounded to hundredths.
MANY = 60_000
# Means and bounds are sent as whole numbers of this many steps.
STEPS = 10_000
# Share of the bytes that the map may take, and of the rest that labels may.
_MAP_SHARE, _NAMES_SHARE = 0.75, 0.6
# Fewer links than this are not worth their place.
_FEW_LINKS = 100

Section = tuple[str, str, bytes]


@dataclass(frozen=True)
class Block:
    """One compressed block: its text and its sections (name, type, length in bytes)."""

    text: str
    sections: list[tuple[str, str, int]]


@dataclass(frozen=True)
class Packed:
    """The data of nodes, and how much of the network is in them."""

    blocks: dict[str, Block]
    nodes: int
    named: int
    links: int
    least: float
    kept: NDArray[np.int64] = field(repr=False)
    entries: Entries = field(repr=False)


@dataclass(frozen=True, eq=False)
class Entries:
    """Memberships as they are sent: position of the node, community, row of the table; and the table in steps."""

    node: NDArray[np.int64]
    community: NDArray[np.int64]
    code: NDArray[np.int64]
    table: NDArray[np.int64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Means as they are sent."""
        return np.asarray(self.table[self.code, 0] / STEPS, dtype=np.float64)


def encode(array: NDArray[Any]) -> str:
    """Encode a typed array as base64, little-endian."""
    return base64.b64encode(
        np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
    ).decode()


def pack_nodes(found: Findings, *, seed: int = 0) -> Packed:
    """Pack memberships with intervals, labels and links of the nodes into `MOST_BYTES`."""
    graph = found.post.graph
    kept = _kept_nodes(graph.degrees)
    blocks = {}
    for least in _LEAST[0 if graph.n_nodes <= 20_000 else _LEAST_OF_MANY :]:
        entries = _entries(found, kept, least)
        blocks["map"] = _block(_map_sections(found, kept, entries))
        if len(blocks["map"].text) <= _MAP_SHARE * MOST_BYTES:
            break
    left = MOST_BYTES - len(blocks["map"].text)
    blocks["names"], named = _names(graph, kept, int(_NAMES_SHARE * left))
    left -= len(blocks["names"].text)
    blocks["links"], links = _links(graph, kept, left, np.random.default_rng(seed))
    return Packed(blocks, len(kept), named, links, least, kept, entries)


def _block(parts: list[Section]) -> Block:
    body = b"".join(data + bytes(-len(data) % 4) for _, _, data in parts)
    text = base64.b64encode(zlib.compress(body, 6)).decode("ascii")
    return Block(text, [(name, kind, len(data)) for name, kind, data in parts])


def _array(name: str, values: NDArray[Any]) -> Section:
    """Return a section of whole numbers in as few bytes as they need, all lowest bytes first."""
    most = int(values.max(initial=0))
    width = 1 if most < 2**8 else 2 if most < 2**16 else 4
    planes = values.astype(f"<u{width}").view(np.uint8).reshape(-1, width).T
    return name, f"u{8 * width}", np.ascontiguousarray(planes).tobytes()


def _kept_nodes(degrees: NDArray[np.int64]) -> NDArray[np.int64]:
    """Choose all nodes, or the best linked if there are too many, in increasing order."""
    if len(degrees) <= MOST_NODES:
        return np.arange(len(degrees))
    return np.sort(np.argsort(-degrees, kind="stable")[:MOST_NODES])


def _entries(found: Findings, kept: NDArray[np.int64], least: float) -> Entries:
    """Choose the memberships of at least `least`, and make the table of their means and intervals."""
    post = found.post
    position = np.full(post.graph.n_nodes, -1, dtype=np.int64)
    position[kept] = np.arange(len(kept))
    chosen = np.flatnonzero((np.asarray(post.mean) >= least) & (position[found.node] >= 0))
    mean, sd = (np.asarray(values, dtype=np.float64)[chosen] for values in (post.mean, post.sd))
    if len(chosen) > MANY:
        key = np.rint(mean * 100).astype(np.int64) * 101 + np.rint(sd * 100).astype(np.int64)
        rows, code = np.unique(key, return_inverse=True)
        mean, sd = rows // 101 / 100.0, rows % 101 / 100.0
    else:
        code = np.arange(len(chosen))
    lower, upper = fast_interval(mean, sd, found.level)
    steps = np.rint(np.column_stack([mean, lower, upper, beta_median(mean, sd)]) * STEPS)
    table, again = np.unique(np.clip(steps, 0, STEPS).astype(np.int64), axis=0, return_inverse=True)
    return Entries(
        position[found.node[chosen]],
        post.community[chosen].astype(np.int64),
        again.ravel()[code],
        table,
    )


def _map_sections(found: Findings, kept: NDArray[np.int64], entries: Entries) -> list[Section]:
    parts = [
        _array("count", np.bincount(entries.node, minlength=len(kept))),
        _array("community", entries.community),
        _array("code", entries.code),
        _array("table", entries.table.T.ravel()),
        _array("degree", found.post.graph.degrees[kept]),
    ]
    if len(kept) < found.post.graph.n_nodes:
        parts.append(_array("node", kept))
    return parts


def _names(graph: Graph, kept: NDArray[np.int64], most: int) -> tuple[Block, int]:
    """Pack the labels, of the best linked nodes only where all would take more than `most` bytes."""
    block = _block(_name_sections(graph, kept))
    if len(block.text) <= most:
        return block, len(kept)
    count = max(1, int(0.85 * len(kept) * most / len(block.text)))
    named = np.sort(np.argsort(-graph.degrees[kept], kind="stable")[:count])
    return _block([*_name_sections(graph, kept[named]), _array("named", named)]), count


def _name_sections(graph: Graph, nodes: NDArray[np.int64]) -> list[Section]:
    """Return the names as JSON, or as steps from each to the next where they are numbers that grow."""
    if graph.attributes is not None:
        return [_texts([graph.name_of(int(a)) for a in nodes])]
    every = len(nodes) == graph.n_nodes
    labels = list(graph.labels) if every else [graph.labels[int(a)] for a in nodes]
    if graph.labels.kind != "text":
        values = np.array(labels, dtype=np.int64) if labels else np.zeros(0, dtype=np.int64)
        steps = np.diff(values, prepend=0)
        if len(values) and values.min() >= 0 and steps.min() >= 0 and values.max() < 2**32:
            return [_array("label_step", steps)]
    return [_texts([str(label) for label in labels])]


def _texts(names: list[str]) -> Section:
    texts = [visible(name) for name in names]
    return "label", "json", json.dumps(texts, ensure_ascii=False).encode("utf-8", errors="replace")


def _links(graph: Graph, kept: NDArray[np.int64], most: int, rng: np.random.Generator) -> tuple[Block, int]:
    """Pack links a < b between the nodes kept as pairs of positions; a sample of them where there are too many."""
    links = np.asarray(graph.edges(), dtype=np.int64)
    if len(kept) < graph.n_nodes:
        position = np.full(graph.n_nodes, -1, dtype=np.int64)
        position[kept] = np.arange(len(kept))
        links = position[links]
        links = links[(links >= 0).all(axis=1)]
    # A smaller sample is the beginning of a larger one.
    order = rng.permutation(len(links))
    wanted = min(len(links), MOST_LINKS)
    while True:
        some = links if wanted == len(links) else links[np.sort(order[:wanted])]
        block = _block(_rows(some, len(kept)))
        if len(block.text) <= most or not wanted:
            return block, wanted
        wanted = int(wanted * min(0.9, 0.95 * most / len(block.text))) if wanted > _FEW_LINKS else 0


def _rows(links: NDArray[np.int64], nodes: int) -> list[Section]:
    """Pack links row by row: how many of each a, and by how much b exceeds a (small numbers pack well)."""
    return [
        _array("later", np.bincount(links[:, 0], minlength=nodes)),
        _array("step", links[:, 1] - links[:, 0]),
    ]
