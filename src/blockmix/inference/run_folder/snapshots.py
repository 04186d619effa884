"""Arrays and facts on disk, whole or not at all: one .npy per array, and a manifest with checksums.

    snapshots = Snapshots(folder, run="5f1c...")
    snapshots.write({"words": words}, {"sweep": 120})
    found = snapshots.newest()

Under its final name a snapshot is complete and on the disk (`files.whole_folder`). The last two are kept. When it is
read everything is compared with its checksum, and a snapshot that does not match is named in a warning and passed over.
Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.files import (
    Damaged,
    check_own,
    checksum,
    manifest_head,
    manifest_text,
    open_plain,
    read_manifest,
    remove_arrays,
    remove_temporary,
    whole_folder,
)
from blockmix.stored import check_name, read_array

FORMAT, VERSION = "blockmix checkpoint", 1
MANIFEST = "manifest.json"
KEPT = 2
_NUMBER = re.compile("[0-9]{6,9}")
_READ_AT_ONCE = 1 << 20


class Snapshot(NamedTuple):
    """What was read back: the run it belongs to, arrays by name and the facts beside them."""

    path: Path
    run: str
    arrays: dict[str, NDArray[Any]]
    facts: dict[str, Any]


class Snapshots:
    """The snapshots of one run in one folder, numbered in the order they were written."""

    def __init__(self, folder: Path, run: str, newest: Path | None = None) -> None:
        self.folder, self.run = folder, run
        self._good = [] if newest is None else [newest]

    def write(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> int:
        """Write one more and remove those before the last two; return its size in bytes.

        Raises OSError where it cannot be written; the earlier ones are then as they were.
        """
        check_own(self.folder, folder=True)
        remove_temporary(self.folder)
        numbers = [number for number, _ in self._numbered()]
        target = self.folder / f"{max(numbers, default=0) + 1:06d}"
        size = write_snapshot(target, self.run, arrays, facts)
        self._good = [*self._good, target][-KEPT:]
        self._prune()
        return size

    def newest(self) -> Snapshot | None:
        """Return the last one that is whole; None where none was ever written.

        Each one that is not whole is named in a warning. It is an error if none is left, or if they are of another
        version of the format.
        """
        found = [path for _, path in reversed(self._numbered())]
        for path in found:
            try:
                snapshot = read_snapshot(path, self.run)
            except Damaged as damage:
                warnings.warn(f"{damage}: this checkpoint is not used", RuntimeWarning, stacklevel=2)
                continue
            return snapshot
        if found:
            raise InputError(
                f"{self.folder}: none of the checkpoints is whole; restore the folder from a copy, or fit again"
            )
        return None

    def _numbered(self) -> list[tuple[int, Path]]:
        return sorted(
            (int(path.name), path) for path in self.folder.iterdir() if _NUMBER.fullmatch(path.name)
        )

    def _prune(self) -> None:
        """Remove what is not among the last good ones, once there are two of these."""
        if len(self._good) == KEPT:
            for _, path in self._numbered():
                if path not in self._good:
                    remove_arrays(path)


def write_snapshot(
    target: Path, run: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]
) -> int:
    """Write a snapshot under this name, which must be free; return its size in bytes."""
    with whole_folder(target, sync=True) as folder:
        files = {name: _save(folder / f"{name}.npy", array) for name, array in arrays.items()}
        body = manifest_head(FORMAT, VERSION) | {"run": run, "files": files, "facts": dict(facts)}
        (folder / MANIFEST).write_text(manifest_text({"checksum": checksum(body), **body}), "utf-8")
    return sum(file["bytes"] for file in files.values())


def read_snapshot(path: Path, run: str | None = None) -> Snapshot:
    """Read a snapshot and compare everything with its checksums; `run` is the run it must belong to."""
    body = _manifest(path / MANIFEST)
    if run is not None and body["run"] != run:
        raise Damaged(f"{path}: it belongs to another run")
    try:
        arrays = {
            name: _load(path / f"{check_name(name)}.npy", body["files"][name]) for name in body["files"]
        }
    except Damaged as damage:
        raise Damaged(str(damage) if str(damage).startswith(str(path)) else f"{path}: {damage}") from None
    return Snapshot(path, body["run"], arrays, body["facts"])


def _manifest(file: Path) -> dict[str, Any]:
    try:
        body = read_manifest(file, FORMAT, VERSION)
    except OSError as error:
        raise Damaged(f"{file}: cannot be read ({error})") from None
    if body.pop("checksum", None) != checksum(body):
        raise Damaged(f"{file}: it does not match its checksum")
    files = body.get("files")
    if not isinstance(body.get("run"), str) or not isinstance(body.get("facts"), dict) or not _listed(files):
        raise Damaged(f"{file}: it is not the manifest of a checkpoint")
    return body


def _listed(files: object) -> bool:
    return isinstance(files, dict) and all(
        isinstance(entry, dict) and entry.keys() == {"sha256", "bytes"} and isinstance(entry["bytes"], int)
        for entry in files.values()
    )


class _Hashed:
    """A file to write to that computes the checksum on the way."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest, self.bytes = file, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        self.digest.update(data)
        self.bytes += len(data)
        return self._file.write(data)


def _save(path: Path, array: NDArray[Any]) -> dict[str, Any]:
    with open(path, "wb") as file:
        hashed = _Hashed(file)
        np.save(hashed, np.ascontiguousarray(array), allow_pickle=False)
    return {"sha256": hashed.digest.hexdigest(), "bytes": hashed.bytes}


def _load(path: Path, entry: Mapping[str, Any]) -> NDArray[Any]:
    digest = hashlib.sha256()
    try:
        with open_plain(path) as file:
            while block := file.read(_READ_AT_ONCE):
                digest.update(block)
        if digest.hexdigest() != entry["sha256"]:
            size = path.stat().st_size
            cut = f": {size:,} bytes of {entry['bytes']:,}" if size != entry["bytes"] else ""
            raise Damaged(f"{path}: it does not match its checksum{cut}")
        return read_array(path)
    except OSError as error:
        raise Damaged(f"{path}: cannot be read ({error})") from None
