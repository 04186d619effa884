"""A network on disk: a folder of memory-mappable .npy files and a manifest with checksums; nothing is unpickled."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.files import (
    Damaged,
    Foreign,
    manifest_head,
    manifest_text,
    read_manifest,
    read_sealed,
    reason,
    seal,
)
from blockmix.folders import remove_abandoned, whole_folder
from blockmix.graph.attribute_files import (
    attribute_arrays,
    attribute_kinds,
    attribute_list,
    check_texts,
    read_attributes,
)
from blockmix.graph.attributes import NodeTable
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.graph.sides.sides import Sides
from blockmix.graph.summary import ReadSummary
from blockmix.stored import (
    Checksums,
    Files,
    check_files,
    check_finite,
    check_offsets,
    check_range,
    read_array,
    save_arrays,
)

FORMAT = "blockmix graph"
# Version 1, of blockmix 0.1.0, has no checksums.
VERSION, OLDEST = 2, 1
MANIFEST = "manifest.json"
_ARRAYS = {
    "offsets": ("<i8",),
    "neighbors": ("<i4", "<i8"),
    "label_integers": ("<i8",),
    "label_text": ("|u1",),
    "label_offsets": ("<i8",),
    "weights": ("<f8",),
}
_OF_KIND = {"range": (), "integer": ("label_integers",), "text": ("label_text", "label_offsets")}


class Saved(NamedTuple):
    """Where a network is saved, and its fingerprint: what another process needs to open the same."""

    folder: str
    fingerprint: str


def saved_at(graph: Graph) -> Saved | None:
    """Return where a network was saved, or loaded from with its files verified."""
    found: Saved | None = vars(graph).get("saved_at")
    return found


def open_saved(saved: Saved) -> tuple[NDArray[Any], NDArray[Any]]:
    """Map offsets and neighbours of a network that another process has verified.

    Raises OSError where there is none, and `Damaged` where it is another one.
    """
    folder = Path(saved.folder)
    manifest = read_sealed(folder / MANIFEST, FORMAT, VERSION)
    if manifest.get("fingerprint") != saved.fingerprint:
        raise Damaged(f"{folder}: another network is saved there")
    with Checksums() as mapped:
        offsets, neighbors = (
            read_array(folder / f"{name}.npy", _ARRAYS[name], None, mapped)
            for name in ("offsets", "neighbors")
        )
    flat = offsets.ndim == neighbors.ndim == 1 and len(offsets) > 0
    if not flat or len(offsets) - 1 != manifest.get("nodes") or offsets[-1] != len(neighbors):
        raise Damaged(f"{folder}: the arrays are not as long as the manifest says")
    return offsets, neighbors


def save_graph(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write a network to a folder: whole or not at all. An earlier network there is replaced."""
    target = Path(path)
    refuse_foreign(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(target.absolute().parent)
        with whole_folder(target.absolute()) as folder:
            write_graph(graph, folder)
        vars(graph)["saved_at"] = Saved(str(target.resolve()), graph.fingerprint)
    except OSError as error:
        raise InputError(
            f"{target}: the network cannot be saved ({reason(error)}); remove the cause or choose another place"
        ) from error


def refuse_foreign(target: Path) -> None:
    """Refuse to replace anything but a saved network, whole or damaged, or an empty folder."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    try:
        read_manifest(target / MANIFEST, FORMAT, VERSION, OLDEST)
    except (OSError, Damaged):
        if not _looks_saved(target):
            raise InputError(
                f"{target}: exists and is not a saved network; choose another name or remove it"
            ) from None
    except InputError:
        # A network that another version of blockmix saved is one all the same.
        pass


def _looks_saved(target: Path) -> bool:
    """Return whether a folder has the files of a saved network and no others: then only its manifest is damaged."""
    names = {path.name for path in target.iterdir()} if target.is_dir() else set()
    needed = {MANIFEST, "offsets.npy", "neighbors.npy"}
    return needed <= names and all(name.endswith(".npy") for name in names - {MANIFEST})


def write_graph(graph: Graph, folder: Path) -> None:
    """Write the files of a network into an empty folder."""
    arrays = {
        "offsets": graph.offsets,
        "neighbors": graph.neighbors,
        "label_integers": graph.labels.integers,
        "label_text": graph.labels.text,
        "label_offsets": graph.labels.text_offsets,
        "weights": graph.weights,
    }
    stored = {name: array for name, array in arrays.items() if array is not None}
    stored |= attribute_arrays(graph.attributes)
    manifest = manifest_head(FORMAT, VERSION) | {
        "nodes": graph.n_nodes,
        "links": graph.n_edges,
        "labels": graph.labels.kind,
        "weights": graph.weights is not None,
        "fingerprint": graph.fingerprint,
        **({} if graph.sides is None else {"sides": asdict(graph.sides)}),
        "summary": None if graph.summary is None else asdict(graph.summary),
        "attributes": attribute_list(graph.attributes),
        "files": save_arrays(folder, stored),
    }
    (folder / MANIFEST).write_text(manifest_text(seal(manifest)), "utf-8")


def load_graph(path: str | os.PathLike[str], mmap: bool = True, verify: bool = True) -> Graph:
    """Open a saved network; its arrays are memory-mapped, or read where `mmap` is False.

    Sizes, offsets and the range of every entry are always checked; `verify` also compares every file with its checksum,
    or the content with its fingerprint where blockmix 0.1.0 wrote it without checksums.
    """
    folder = Path(path)
    manifest = _manifest(folder)
    kind = manifest.get("labels")
    if not isinstance(kind, str) or kind not in _OF_KIND:
        raise _damaged(folder, f"the manifest names an unknown kind of labels, {kind!r:.80}")
    files = _files(folder, manifest) if manifest["version"] > 1 else None
    names = ("offsets", "neighbors", *_OF_KIND[kind], *(("weights",) if manifest.get("weights") else ()))
    try:
        with Checksums() as sums:

            def read(name: str) -> NDArray[Any]:
                return _array(folder, name, sums if mmap else None, files if verify else None)

            arrays = {name: read(name) for name in names}
            _check(folder, manifest, arrays, sums)
            attributes = _attributes(folder, manifest, len(arrays["offsets"]) - 1, read)
    except Damaged as damage:
        raise _damaged(folder, str(damage)) from None
    count = len(arrays["offsets"]) - 1
    labels = Labels(
        count, arrays.get("label_integers"), arrays.get("label_text"), arrays.get("label_offsets")
    )
    summary = _summary(folder, manifest)
    sides = _sides(folder, manifest, arrays)
    if sides is not None and not sides.fits(labels):
        raise _damaged(folder, "the labels do not have the roles of their side")
    graph = Graph(
        arrays["offsets"], arrays["neighbors"], labels, summary, attributes, arrays.get("weights"), sides
    )
    vars(graph)["loaded_from"] = str(folder)
    if verify and files is not None:
        # It was computed when these files were written, and they have not changed since.
        vars(graph)["fingerprint"] = manifest.get("fingerprint")
        vars(graph)["saved_at"] = Saved(str(folder.resolve()), str(manifest.get("fingerprint")))
    if verify and graph.fingerprint != manifest.get("fingerprint"):
        raise _damaged(folder, "the content does not match its fingerprint")
    return graph


def _sides(folder: Path, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Sides | None:
    """Return the sides of a network that has some; every link must join the two."""
    stored = manifest.get("sides")
    if stored is None:
        return None
    nodes = len(arrays["offsets"]) - 1
    kinds = {"first": int, "directed": bool, "named": bool, "integers": bool}
    if (
        not isinstance(stored, dict)
        or {name: type(value) for name, value in stored.items()} != kinds
        or not 0 < stored["first"] < nodes
        or (stored["directed"] and nodes != 2 * stored["first"])
    ):
        raise _damaged(folder, f"the manifest names sides that there are not, {stored!r:.80}")
    sides, offsets, neighbors = Sides(**stored), arrays["offsets"], arrays["neighbors"]
    cut = int(offsets[sides.first])
    if (neighbors[:cut] < sides.first).any() or (neighbors[cut:] >= sides.first).any():
        raise _damaged(folder, "neighbors.npy has links between nodes of one side")
    return sides


def _files(folder: Path, manifest: dict[str, Any]) -> Files:
    """Return the checksums that a manifest has for its files."""
    try:
        if not isinstance(manifest.get("fingerprint"), str):
            raise Damaged("the manifest has no fingerprint")
        return check_files(manifest.get("files"))
    except Damaged as damage:
        raise _damaged(folder, str(damage)) from None


def _damaged(folder: Path, problem: str) -> InputError:
    return InputError(f"{folder}: {problem}; save the network again or restore the folder from a copy")


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        return read_sealed(folder / MANIFEST, FORMAT, VERSION, OLDEST)
    except OSError:
        raise InputError(
            f"{folder}: not a saved network: there is no {MANIFEST}; name a folder written by Graph.save, "
            "or use read_graph for an edge list"
        ) from None
    except Foreign:
        raise InputError(f"{folder}: not a saved network; name a folder written by Graph.save") from None
    except Damaged as damage:
        raise InputError(f"{damage}; save the network again or restore the folder from a copy") from None


def _array(folder: Path, name: str, sums: Checksums | None, files: Files | None) -> NDArray[Any]:
    file = folder / f"{name}.npy"
    try:
        if files is not None and name not in files:
            raise Damaged(f"{file.name} has no checksum in the manifest")
        kinds = _ARRAYS.get(name) or attribute_kinds(name)
        array = read_array(file, kinds, None if files is None else files[name], sums)
    except OSError as error:
        raise _damaged(folder, f"{file.name} cannot be read ({error})") from None
    except Damaged as damage:
        raise _damaged(folder, str(damage)) from None
    if array.ndim != 1:
        raise _damaged(folder, f"{file.name} has the shape {array.shape}, and must be one row")
    return array


def _check(folder: Path, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]], sums: Checksums) -> None:
    offsets, neighbors = arrays["offsets"], arrays["neighbors"]
    if len(offsets) - 1 != manifest.get("nodes") or len(neighbors) != 2 * _whole(manifest.get("links")):
        raise _damaged(folder, "the arrays are not as long as the manifest says")
    n_nodes = len(offsets) - 1
    if "label_integers" in arrays and len(arrays["label_integers"]) != n_nodes:
        raise _damaged(folder, "label_integers.npy has not one label per node")
    try:
        check_offsets("offsets.npy", offsets, len(neighbors))
        # Whether rows are in order and fit together is seen when they are used (`Graph.check_links`).
        check_range("neighbors.npy", neighbors, n_nodes, sums=sums)
        if "weights" in arrays:
            _check_weights(arrays["weights"], len(neighbors), sums)
        if "label_offsets" in arrays:
            check_texts("label", n_nodes, arrays["label_offsets"], arrays["label_text"])
    except Damaged as damage:
        raise _damaged(folder, str(damage)) from None


def _check_weights(weights: NDArray[Any], entries: int, sums: Checksums) -> None:
    if len(weights) != entries:
        raise Damaged("weights.npy has not one weight for each entry of neighbors.npy")
    check_finite("weights.npy", weights, np.finfo(np.float64).smallest_subnormal, sums=sums)


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
