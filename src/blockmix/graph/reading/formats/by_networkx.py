"""GraphML, GEXF, GML and Pajek, by the readers of networkx (the extra `networkx`)."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from blockmix.errors import GraphFormatError, InputError, optional
from blockmix.graph.convert import from_networkx
from blockmix.graph.graph import Graph
from blockmix.graph.reading.source import Source

# networkx takes some hundred bytes of memory for every link.
MOST_BYTES = 2 << 30
TITLES = {"graphml": "GraphML", "gexf": "GEXF", "gml": "GML", "pajek": "Pajek"}
_PAJEK_UNREAD = re.compile(rb"^\*(arcslist|edgeslist|matrix)\b", re.IGNORECASE | re.MULTILINE)
_GRAPH = re.compile(r"^\s*graph\s*\[", re.IGNORECASE | re.MULTILINE)
_DECLARATIONS = re.compile(rb"<!(DOCTYPE|ENTITY)", re.IGNORECASE)


def read_by_networkx(
    source: Source, kind: str, weights: str | None = None, sides: str | None = None
) -> Graph:
    """Read a file of one of these formats, with the attributes of its nodes; `sides` as in `graph.sides.making`."""
    title = TITLES[kind]
    networkx = optional("networkx", f"reading {title}", 'pip install "blockmix[networkx]"')
    data = source.content(MOST_BYTES)
    if kind in ("graphml", "gexf") and _DECLARATIONS.search(data):
        raise GraphFormatError(
            "the XML declares entities of its own, which is not read: they can fill all memory",
            path=source.name,
            remedy="Remove the <!DOCTYPE ...> from the file.",
        )
    readers: dict[str, Callable[[Any, bytes], tuple[Any, str | None]]] = {
        "graphml": _graphml, "gexf": _gexf, "gml": _gml, "pajek": _pajek,
    }  # fmt: skip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            network, note = readers[kind](networkx, data)
        graph = from_networkx(network, weights, sides)
    except (MemoryError, RecursionError):
        raise
    except InputError as error:
        raise GraphFormatError(str(error), path=source.name, remedy="Correct the file.") from None
    except Exception as error:  # networkx and its parsers raise errors of many kinds
        raise GraphFormatError(
            f"networkx cannot read this {title} file ({type(error).__name__}: {_one_line(error)})",
            path=source.name,
            remedy="Open it with the program that wrote it and save it again, or write an edge list.",
        ) from None
    assert graph.summary is not None
    notes = (*source.notes, f"read as {title}", *([] if note is None else [note]), *graph.summary.notes)
    return replace(graph, summary=replace(graph.summary, source=source.name, notes=notes))


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())[:120]
    return "".join(c if c.isprintable() else "?" for c in text)


class _Types(dict[str, Any]):
    """The types of GraphML attributes; those of other programs, such as vector_float of graph-tool, are text."""

    def __missing__(self, name: str) -> type[str]:
        return str


def _graphml(networkx: Any, data: bytes) -> tuple[Any, str | None]:
    reader = networkx.GraphMLReader()
    reader.python_type = _Types(reader.python_type)
    found = list(reader(path=io.BytesIO(data)))
    # Without a graph the namespace may be missing, which this function mends.
    return found[0] if found else networkx.read_graphml(io.BytesIO(data)), None


def _gexf(networkx: Any, data: bytes) -> tuple[Any, str | None]:
    return networkx.read_gexf(io.BytesIO(data)), None


def _gml(networkx: Any, data: bytes) -> tuple[Any, str | None]:
    """Read GML by its labels, or by its ids where labels are missing or not all different."""
    text = _decoded(data)
    try:
        return _gml_text(networkx, text)
    except networkx.NetworkXError as error:
        if "duplicated" not in str(error) or not str(error).startswith("edge"):
            raise
        # networkx refuses repeated links, which many files have, unless they say so.
        return _gml_text(networkx, _GRAPH.sub(r"\g<0> multigraph 1", text, count=1))


def _gml_text(networkx: Any, text: str) -> tuple[Any, str | None]:
    lines = text.split("\n")
    try:
        return networkx.parse_gml(lines, label="label"), None
    except networkx.NetworkXError as error:
        labels = "duplicated" in str(error) and not str(error).startswith("edge")
        if not labels and "no 'label' attribute" not in str(error):
            raise
    return networkx.parse_gml(
        lines, label="id"
    ), "labels are missing or not all different: nodes are named by id"


def _pajek(networkx: Any, data: bytes) -> tuple[Any, str | None]:
    unread = _PAJEK_UNREAD.search(data)
    if unread:
        # networkx takes a line of neighbours for one link, and leaves a matrix out.
        raise InputError(
            f"the section *{unread[1].decode()} of this Pajek file is not read; write the links in a section *Edges, "
            "one a line"
        )
    return networkx.parse_pajek(_decoded(data).split("\n")), None


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"line {line:,} is not UTF-8 text; convert the file, for instance: iconv -f WINDOWS-1252 -t UTF-8"
        ) from None
