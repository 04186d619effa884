"""Attributes of nodes as arrays of a saved network: their names in its folder, and the checks when they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from blockmix.files import Damaged
from blockmix.graph.attributes import Attribute, NodeTable
from blockmix.graph.labels import Labels
from blockmix.stored import check_offsets

MOST_ATTRIBUTES = 10_000
# The ending of an array's name gives its type.
KINDS = {"_numbers": ("<f8",), "_codes": ("<i4",), "_text": ("|u1",), "_offsets": ("<i8",)}
_PREFIX = "attribute_"


def attribute_kinds(name: str) -> tuple[str, ...]:
    """Return the types that an array of this name may have."""
    return KINDS[name[name.rindex("_") :]]


def attribute_list(table: NodeTable | None) -> list[dict[str, str]]:
    """Return name and kind of every attribute, for the manifest."""
    columns = {} if table is None else table.columns
    return [{"name": name, "kind": attribute.kind} for name, attribute in columns.items()]


def attribute_arrays(table: NodeTable | None) -> dict[str, NDArray[Any]]:
    """Return all arrays of the attributes: numbers, or codes and the texts that they stand for."""
    arrays: dict[str, Any] = {}
    for place, attribute in enumerate([] if table is None else table.columns.values()):
        name = f"{_PREFIX}{place}"
        if attribute.numbers is not None:
            arrays[f"{name}_numbers"] = attribute.numbers
        elif attribute.categories is not None:
            arrays[f"{name}_codes"] = attribute.codes
            arrays[f"{name}_text"] = attribute.categories.text
            arrays[f"{name}_offsets"] = attribute.categories.text_offsets
    return arrays


def read_attributes(listed: Any, nodes: int, read: Callable[[str], NDArray[Any]]) -> NodeTable | None:
    """Return the attributes that a manifest lists; `read` gives an array by name. A wrong one is `Damaged`."""
    if not isinstance(listed, list) or len(listed) > MOST_ATTRIBUTES:
        raise Damaged("the attributes in the manifest are not a list")
    columns: dict[str, Attribute] = {}
    for place, entry in enumerate(listed):
        name, kind = (entry.get("name"), entry.get("kind")) if isinstance(entry, dict) else (None, None)
        if not isinstance(name, str) or kind not in ("number", "text") or name in columns:
            raise Damaged(f"attribute {place} of the manifest has no name and kind of its own")
        columns[name] = _attribute(f"{_PREFIX}{place}", kind, nodes, read)
    return NodeTable(columns, nodes) if columns else None


def _attribute(file: str, kind: str, nodes: int, read: Callable[[str], NDArray[Any]]) -> Attribute:
    if kind == "number":
        numbers = read(f"{file}_numbers")
        if len(numbers) != nodes:
            raise Damaged(f"{file}_numbers.npy has not one value per node")
        return Attribute(numbers=numbers)
    codes, text, ends = (read(f"{file}_{part}") for part in ("codes", "text", "offsets"))
    check_texts(file, len(ends) - 1, ends, text)
    if len(codes) != nodes:
        raise Damaged(f"{file}_codes.npy has not one value per node")
    if nodes and not (codes.min() >= -1 and codes.max() < len(ends) - 1):
        raise Damaged(f"{file}_codes.npy names a text that is not there")
    return Attribute(codes=codes, categories=Labels(len(ends) - 1, text=text, text_offsets=ends))


def check_texts(what: str, count: int, ends: NDArray[Any], text: NDArray[Any]) -> None:
    """Check that so many texts are UTF-8, and that none begins inside a character."""
    check_offsets(f"{what}_offsets.npy", ends, len(text))
    if len(ends) != count + 1:
        raise Damaged(f"{what}_offsets.npy has not one text for each entry")
    try:
        text.tobytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise Damaged(f"{what}_text.npy is not UTF-8 text ({error.reason} at {error.start})") from None
    begins = ends[ends < len(text)]
    if ((text[begins] & 0xC0) == 0x80).any():
        raise Damaged(f"{what}_offsets.npy cuts a character of {what}_text.npy in two")
