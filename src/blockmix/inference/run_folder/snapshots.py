"""Arrays and facts on disk, whole or not at all: one .npy per array, and a manifest with checksums.

    snapshots = Snapshots(folder, run="5f1c...")
    snapshots.write({"words": words}, {"sweep": 120})
    found = snapshots.newest()

A snapshot is written to a folder with a temporary name, brought to the disk, and then renamed: under its final
name it is complete. The last two are kept. When it is read everything is compared with its checksum, and a
snapshot that does not match is named in a warning and passed over. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix._version import __version__
from blockmix.errors import InputError

FORMAT, VERSION = "blockmix checkpoint", 1
MANIFEST = "manifest.json"
KEPT = 2
_PARTIAL = ".partial-"
# Bringing files to the disk one by one waits for the disk once a file; side by side the waits are shared.
_SYNCS_AT_ONCE = 16
_READ_AT_ONCE = 1 << 20


class Snapshot(NamedTuple):
    """What was read back: the run it belongs to, arrays by name and the facts beside them."""

    path: Path
    run: str
    arrays: dict[str, NDArray[Any]]
    facts: dict[str, Any]


class Damaged(Exception):
    """A snapshot that is not what was written, with the file and what is wrong with it."""


class Snapshots:
    """The snapshots of one run in one folder, numbered in the order they were written."""

    def __init__(self, folder: Path, run: str, newest: Path | None = None) -> None:
        self.folder, self.run = folder, run
        self._good = [] if newest is None else [newest]

    def write(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> int:
        """Write one more and let go of those before the last two; returns its size in bytes.

        Raises OSError where it cannot be written; the earlier ones are then as they were.
        """
        for left in self.folder.glob(_PARTIAL + "*"):
            # Of a process that was killed while it wrote.
            shutil.rmtree(left, ignore_errors=True)
        numbers = [number for number, _ in self._numbered()]
        target = self.folder / f"{max(numbers, default=0) + 1:06d}"
        size = write_snapshot(target, self.run, arrays, facts)
        self._good = [*self._good, target][-KEPT:]
        self._prune()
        return size

    def newest(self) -> Snapshot | None:
        """The last one that is whole; None where none was ever written.

        Each one that is not whole is named in a warning. An error says so if none is left, or if they are of
        another version of the format.
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
        return sorted((int(path.name), path) for path in self.folder.iterdir() if path.name.isdigit())

    def _prune(self) -> None:
        """Remove what is not among the last good ones, once there are two of these."""
        if len(self._good) == KEPT:
            for _, path in self._numbered():
                if path not in self._good:
                    shutil.rmtree(path, ignore_errors=True)


def write_snapshot(
    target: Path, run: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]
) -> int:
    """Write a snapshot under this name, which must be free; returns its size in bytes."""
    scratch = target.with_name(f"{_PARTIAL}{uuid.uuid4().hex}")
    scratch.mkdir()
    try:
        files = {name: _save(scratch / f"{name}.npy", array) for name, array in arrays.items()}
        body = {
            "format": FORMAT, "version": VERSION, "written_by": f"blockmix {__version__}", "run": run,
            "files": files, "facts": dict(facts),
        }  # fmt: skip
        text = json.dumps({"checksum": _checksum(body), **body}, indent=1, allow_nan=False, default=_plain)
        (scratch / MANIFEST).write_text(text + "\n", "utf-8")
        sync_folder(scratch)
        os.rename(scratch, target)
        _sync(target.parent)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return sum(file["bytes"] for file in files.values())


def read_snapshot(path: Path, run: str | None = None) -> Snapshot:
    """Read a snapshot and compare everything with its checksums; `run` is the run it must belong to."""
    body = _manifest(path)
    if run is not None and body["run"] != run:
        raise Damaged(f"{path}: it belongs to another run")
    arrays = {name: _load(path / f"{name}.npy", entry) for name, entry in body["files"].items()}
    return Snapshot(path, body["run"], arrays, body["facts"])


def _manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    try:
        body = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise Damaged(f"{file}: cannot be read ({error})") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise Damaged(f"{file}: this is not the manifest of a checkpoint")
    check_version(path, body, VERSION)
    if body.pop("checksum", None) != _checksum(body):
        raise Damaged(f"{file}: it does not match its checksum")
    return body


def check_version(path: Path, record: Mapping[str, Any], known: int) -> None:
    """Refuse what another version of the format wrote."""
    if record.get("version") != known:
        raise InputError(
            f"{path}: written in version {record.get('version')!r} of the format, and this blockmix reads "
            f"version {known}; use the blockmix that wrote it ({record.get('written_by')})"
        )


def _checksum(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, allow_nan=False, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """A NumPy scalar, as a caller may have given for a setting, as a plain number."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be written to a manifest")


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
        with open(path, "rb") as file:
            while block := file.read(_READ_AT_ONCE):
                digest.update(block)
        if digest.hexdigest() != entry["sha256"]:
            size = path.stat().st_size
            cut = f": {size:,} bytes of {entry['bytes']:,}" if size != entry["bytes"] else ""
            raise Damaged(f"{path}: it does not match its checksum{cut}")
        array: NDArray[Any] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise Damaged(f"{path}: cannot be read ({error})") from None
    return array


def sync_folder(folder: Path) -> None:
    """Bring a folder and all files in it to the disk."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    with ThreadPoolExecutor(_SYNCS_AT_ONCE, thread_name_prefix="blockmix-sync") as pool:
        list(pool.map(_sync, paths))
    for below in (*(path for path in folder.rglob("*") if path.is_dir()), folder):
        _sync(below)


def _sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    if os.name == "nt" and path.is_dir():
        # Windows writes names through, and cannot open a folder.
        return
    descriptor = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
