"""Results as text files that any program reads.

memberships.tsv, communities.txt, no_community.txt, held_out.tsv, and popularity.tsv of the popularity model.

Text is made in bulk, many rows to one formatting call: a network of 300,000 nodes takes seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.files import write_pieces
from blockmix.graph.attributes import NodeTable
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.posterior.posterior import Posterior

MEMBERSHIPS, COMMUNITIES, UNCLEAR, HELD_OUT = TEXT_FILES = (
    "memberships.tsv", "communities.txt", "no_community.txt", "held_out.tsv",
)  # fmt: skip
# Written in the popularity model only.
POPULARITY = "popularity.tsv"
# Rows formatted in one call: so many that the cost of a call does not matter, few enough to stay in cache.
_ROWS_AT_ONCE = 1 << 14
# A label with one of these would break a table; with a quote in front it would be taken for a quoted one.
_BREAKS_TABLE = re.compile(r'[\t\n\r]|^"')
_BREAKS_COVER = re.compile(r"[\t\n\r]")


def write_memberships(post: Posterior, path: Path, *, threshold: float = 0.0) -> None:
    """Write node, community, mean, sd, tab separated under a header, largest membership of a node first.

    The attributes of the node, where the network has some, are in further columns; of a network of two sides the role
    is one of them, and labels are without it.
    """
    nodes = np.repeat(np.arange(post.graph.n_nodes), np.diff(post.offsets))
    keep = np.asarray(post.mean) >= threshold
    columns = [
        plain_texts(post.graph)[nodes[keep]],
        post.community[keep],
        post.mean[keep],
        post.sd[keep],
    ]
    header, row = "node\tcommunity\tmean\tsd", "%s\t%d\t%.6f\t%.6f"
    for name, texts in attribute_texts(post.graph.attributes).items():
        header, row = f"{header}\t{_table_text(name)}", f"{row}\t%s"
        columns.append(texts[nodes[keep]])
    write_pieces(path, _table(header, row + "\n", columns), follow=False)


def write_communities(post: Posterior, path: Path, *, threshold: float = 0.1) -> None:
    """Write one community a line, its members in your labels separated by tabs, strongest member first.

    The communities are those of `Posterior.communities`, in their order. `blockmix.evaluate.read_covers` reads the
    file back.
    """
    names = label_texts(post.graph.labels, _BREAKS_COVER)
    covers = post.covers(threshold)
    write_pieces(path, (_cover_line(names[nodes].tolist()) for nodes in covers.values()), follow=False)


def write_unclear(post: Posterior, path: Path, *, threshold: float = 0.1) -> None:
    """Write the nodes that are in no clear community, one label a line."""
    names = label_texts(post.graph.labels, _BREAKS_COVER)
    write_pieces(path, (_cover_line([names[a]]) for a in post.unclear(threshold)), follow=False)


def write_popularity(post: Posterior, path: Path) -> None:
    """Write node, mean and sd of its popularity, tab separated under a header; with two sides the role as well."""
    columns: list[Any] = [plain_texts(post.graph), post.popularity_mean, post.popularity_sd]
    header, row = "node\tmean\tsd", "%s\t%.6g\t%.6g"
    if post.graph.sides is not None:
        header, row = f"{header}\trole", f"{row}\t%s"
        columns.append(np.array(post.graph.sides.roles(np.arange(post.graph.n_nodes)), dtype=object))
    write_pieces(path, _table(header, row + "\n", columns), follow=False)


def write_held_out(post: Posterior, path: Path) -> None:
    """Write node_a, node_b, link (1 or 0) and predicted probability; no rows if nothing was held out.

    Where links have weights the weight of the pair and the expected one follow. In a directed network the link is from
    node_a to node_b.
    """
    columns: list[NDArray[Any]] = []
    header, row = "node_a\tnode_b\tlink\tprobability", "%s\t%s\t%d\t%.6g"
    if post.weight_law is not None:
        header, row = f"{header}\tweight\texpected_weight", f"{row}\t%.10g\t%.6g"
    if post.held_out is not None:
        names, held_out = plain_texts(post.graph), post.held_out
        a, b = held_out.pairs[:, 0], held_out.pairs[:, 1]
        columns = [names[a], names[b], held_out.links.astype(np.int64), held_out.probability]
        if held_out.weights is not None:
            columns += [held_out.weights.weight, held_out.weights.expected]
    write_pieces(path, _table(header, row + "\n", columns), follow=False)


def prediction_table(
    graph: Graph, pairs: NDArray[np.int64], values: Mapping[str, NDArray[np.float64]]
) -> Iterator[str]:
    """Return the text of node_a, node_b and these values for pairs of node numbers, in pieces."""
    names = plain_texts(graph)
    columns = [names[pairs[:, 0]], names[pairs[:, 1]], *values.values()]
    header = "\t".join(("node_a", "node_b", *values))
    return _table(header, "\t".join(("%s", "%s", *["%.6g"] * len(values))) + "\n", columns)


def write_predictions(
    path: Path, graph: Graph, pairs: NDArray[np.int64], values: Mapping[str, NDArray[np.float64]]
) -> None:
    """Write node_a, node_b and these values, tab separated under a header."""
    write_pieces(path, prediction_table(graph, pairs, values))


def text_names(post: Posterior) -> tuple[str, ...]:
    """Return the names of the text files of this result."""
    return TEXT_FILES if post.popularity_mean is None else (*TEXT_FILES, POPULARITY)


def write_text_files(post: Posterior, folder: Path, *, threshold: float = 0.1) -> list[InputError]:
    """Write all of them; one that fails does not stop the others, and the failures are returned."""
    jobs: list[tuple[str, Callable[[Path], None]]] = [
        (MEMBERSHIPS, lambda path: write_memberships(post, path)),
        (COMMUNITIES, lambda path: write_communities(post, path, threshold=threshold)),
        (UNCLEAR, lambda path: write_unclear(post, path, threshold=threshold)),
        (HELD_OUT, lambda path: write_held_out(post, path)),
    ]
    if post.popularity_mean is not None:
        jobs.append((POPULARITY, lambda path: write_popularity(post, path)))
    failures = []
    for name, write in jobs:
        try:
            write(folder / name)
        except InputError as error:
            failures.append(error)
    return failures


def plain_texts(graph: Graph) -> NDArray[np.object_]:
    """Return the label of every node as text for a table, without the role that it may have."""
    if graph.sides is None or not graph.sides.named:
        return label_texts(graph.labels)
    return _safe(
        np.array([str(label) for label in graph.sides.plain(graph.labels)], dtype=object), _BREAKS_TABLE
    )


def label_texts(labels: Labels, breaking: re.Pattern[str] = _BREAKS_TABLE) -> NDArray[np.object_]:
    """Return every label as text. One that would break the file is quoted as in CSV.

    >>> label_texts(Labels.of(["ann", "b\\tob"])).tolist()
    ['ann', '"b\\tob"']
    """
    texts = np.empty(len(labels), dtype=object)
    texts[:] = list(map(str, labels))
    return _safe(texts, breaking) if labels.kind == "text" else texts


def _safe(texts: NDArray[np.object_], breaking: re.Pattern[str]) -> NDArray[np.object_]:
    """Quote texts that would break a file, in place."""
    for node in [i for i, text in enumerate(texts) if breaking.search(text)]:
        texts[node] = '"' + texts[node].replace('"', '""') + '"'
    return texts


def attribute_texts(table: NodeTable | None) -> dict[str, NDArray[np.object_]]:
    """Return the attributes of every node as texts of a table, by name; empty where a value is missing."""
    found = {}
    for name, attribute in (table or {}).items():
        if attribute.numbers is not None:
            values = ["" if value is None else f"{value:.10g}" for value in attribute.values()]
            texts = np.empty(len(values), dtype=object)
            texts[:] = values
        else:
            assert attribute.categories is not None
            known = np.empty(len(attribute.categories) + 1, dtype=object)
            known[:] = [*(_table_text(str(text)) for text in attribute.categories), ""]
            texts = known[attribute.codes]
        found[name] = texts
    return found


def _table_text(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _BREAKS_TABLE.search(text) else text


def _cover_line(names: list[str]) -> str:
    # A tab in front keeps a leading # from making the line a comment.
    return ("\t" if names[0].startswith("#") else "") + "\t".join(names) + "\n"


def _table(header: str, row: str, columns: list[NDArray[Any]]) -> Iterator[str]:
    """Yield the header and the rows, many at a time."""
    yield header + "\n"
    for begin in range(0, len(columns[0]) if columns else 0, _ROWS_AT_ONCE):
        parts = [column[begin : begin + _ROWS_AT_ONCE].tolist() for column in columns]
        values: list[Any] = [None] * (len(parts) * len(parts[0]))
        for i, part in enumerate(parts):
            values[i :: len(parts)] = part
        yield (row * len(parts[0])) % tuple(values)
