"""A network on disk: a folder of memory-mappable .npy files and a small manifest; nothing is unpickled."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.files import Damaged, Foreign, manifest_head, manifest_text, read_manifest, reason, whole_folder
from blockmix.graph.attribute_files import (
    attribute_arrays,
    attribute_kinds,
    attribute_list,
    read_attributes,
)
from blockmix.graph.attributes import NodeTable
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.graph.summary import ReadSummary
from blockmix.stored import check_offsets, check_rows, read_array

FORMAT = "blockmix graph"
VERSION = 1
_MANIFEST = "manifest.json"
_ARRAYS = {
    "offsets": ("<i8",),
    "neighbors": ("<i4", "<i8"),
    "label_integers": ("<i8",),
    "label_text": ("|u1",),
    "label_offsets": ("<i8",),
}
_OF_KIND = {"range": (), "integer": ("label_integers",), "text": ("label_text", "label_offsets")}


def save_graph(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write a network to a folder: whole or not at all. An earlier network there is replaced."""
    target = Path(path)
    _refuse_foreign(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_folder(target.absolute()) as folder:
            _write(graph, folder)
    except OSError as error:
        raise InputError(f"{target}: the network cannot be saved ({reason(error)})") from error


def _refuse_foreign(target: Path) -> None:
    """Refuse to replace anything but a saved network or an empty folder."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    try:
        read_manifest(target / _MANIFEST, FORMAT, VERSION)
    except (OSError, Damaged):
        raise InputError(
            f"{target}: exists and is not a saved network; choose another name or remove it"
        ) from None
    except InputError:
        # A network that another version of blockmix saved is one all the same.
        pass


def _write(graph: Graph, folder: Path) -> None:
    arrays = {
        "offsets": graph.offsets,
        "neighbors": graph.neighbors,
        "label_integers": graph.labels.integers,
        "label_text": graph.labels.text,
        "label_offsets": graph.labels.text_offsets,
    }
    stored = {name: array for name, array in arrays.items() if array is not None}
    stored |= attribute_arrays(graph.attributes)
    for name, array in stored.items():
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        np.save(folder / f"{name}.npy", little, allow_pickle=False)
    manifest = manifest_head(FORMAT, VERSION) | {
        "nodes": graph.n_nodes,
        "links": graph.n_edges,
        "labels": graph.labels.kind,
        "fingerprint": graph.fingerprint,
        "summary": None if graph.summary is None else asdict(graph.summary),
        "attributes": attribute_list(graph.attributes),
    }
    (folder / _MANIFEST).write_text(manifest_text(manifest), "utf-8")


def load_graph(path: str | os.PathLike[str], mmap: bool = True, verify: bool | None = None) -> Graph:
    """Open a saved network; its arrays are memory-mapped, or read where `mmap` is False.

    Sizes, offsets and the range of every entry are always checked; `verify` also compares the fingerprint. It is on by
    default where everything is read anyway, that is without `mmap`.
    """
    folder = Path(path)
    manifest = _manifest(folder)
    kind = manifest.get("labels")
    if not isinstance(kind, str) or kind not in _OF_KIND:
        raise _damaged(folder, f"the manifest names an unknown kind of labels, {kind!r:.80}")
    arrays = {name: _array(folder, name, mmap) for name in ("offsets", "neighbors", *_OF_KIND[kind])}
    _check(folder, manifest, arrays)
    count = len(arrays["offsets"]) - 1
    labels = Labels(
        count, arrays.get("label_integers"), arrays.get("label_text"), arrays.get("label_offsets")
    )
    attributes = _attributes(folder, manifest, count, lambda name: _array(folder, name, mmap))
    graph = Graph(arrays["offsets"], arrays["neighbors"], labels, _summary(folder, manifest), attributes)
    if (not mmap if verify is None else verify) and graph.fingerprint != manifest.get("fingerprint"):
        raise _damaged(folder, "the content does not match its fingerprint")
    return graph


def _damaged(folder: Path, problem: str) -> InputError:
    return InputError(f"{folder}: {problem}; save the network again or restore the folder from a copy")


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        return read_manifest(folder / _MANIFEST, FORMAT, VERSION)
    except OSError:
        raise InputError(
            f"{folder}: not a saved network: there is no {_MANIFEST}; name a folder written by Graph.save, "
            "or use read_graph for an edge list"
        ) from None
    except Foreign:
        raise InputError(f"{folder}: not a saved network; name a folder written by Graph.save") from None
    except Damaged as damage:
        raise InputError(f"{damage}; save the network again or restore the folder from a copy") from None


def _array(folder: Path, name: str, mmap: bool) -> NDArray[Any]:
    file = folder / f"{name}.npy"
    try:
        array = read_array(file, _ARRAYS.get(name) or attribute_kinds(name), mmap)
    except OSError as error:
        raise _damaged(folder, f"{file.name} cannot be read ({error})") from None
    except Damaged as damage:
        raise _damaged(folder, str(damage)) from None
    if array.ndim != 1:
        raise _damaged(folder, f"{file.name} has the shape {array.shape}, and must be one row")
    return array


def _check(folder: Path, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    offsets, neighbors = arrays["offsets"], arrays["neighbors"]
    if len(offsets) - 1 != manifest.get("nodes") or len(neighbors) != 2 * _whole(manifest.get("links")):
        raise _damaged(folder, "the arrays are not as long as the manifest says")
    n_nodes = len(offsets) - 1
    if "label_integers" in arrays and len(arrays["label_integers"]) != n_nodes:
        raise _damaged(folder, "label_integers.npy has not one label per node")
    try:
        check_offsets("offsets.npy", offsets, len(neighbors))
        check_rows("neighbors.npy", offsets, neighbors)
        if "label_offsets" in arrays:
            _check_texts(n_nodes, arrays["label_offsets"], arrays["label_text"])
    except Damaged as damage:
        raise _damaged(folder, str(damage)) from None


def _check_texts(nodes: int, ends: NDArray[Any], text: NDArray[Any]) -> None:
    """Check that labels are UTF-8, and that none begins inside a character."""
    check_offsets("label_offsets.npy", ends, len(text))
    if len(ends) != nodes + 1:
        raise Damaged("label_offsets.npy has not one label per node")
    try:
        text.tobytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise Damaged(f"label_text.npy is not UTF-8 text ({error.reason} at {error.start})") from None
    begins = ends[ends < len(text)]
    if ((text[begins] & 0xC0) == 0x80).any():
        raise Damaged("label_offsets.npy cuts a character of label_text.npy in two")


def _attributes(
    folder: Path, manifest: dict[str, Any], nodes: int, read: Callable[[str], NDArray[Any]]
) -> NodeTable | None:
    try:
        return read_attributes(manifest.get("attributes", []), nodes, read)
    except Damaged as damage:
        raise _damaged(folder, str(damage)) from None


def _whole(value: object) -> int:
    return value if isinstance(value, int) else -1


def _summary(folder: Path, manifest: dict[str, Any]) -> ReadSummary | None:
    stored = manifest.get("summary")
    if stored is None:
        return None
    try:
        lists = {name: tuple(stored.get(name, ())) for name in ("notes", "ignored_columns")}
        summary = ReadSummary(**{**stored, **lists})
        # Its text needs every field to be of its type.
        str(summary)
        return summary
    except (TypeError, AttributeError, ValueError):
        raise _damaged(folder, "the summary in the manifest is not readable") from None
