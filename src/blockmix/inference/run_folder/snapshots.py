"""Arrays and facts on disk, whole or not at all: one .npy per array, and a manifest with checksums.

    snapshots = Snapshots(folder, run="5f1c...")
    snapshots.write({"words": words}, {"sweep": 120})
    found = snapshots.newest()

Under its final name a snapshot is complete and on the disk (`folders.whole_folder`). The last two are kept. When it is
read everything is compared with its checksum, and a snapshot that does not match is named in a warning and passed over.
Nothing is ever unpickled.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.files import (
    Damaged,
    check_own,
    manifest_head,
    manifest_text,
    read_sealed,
    reason,
    seal,
)
from blockmix.folders import remove_arrays, remove_temporary, whole_folder
from blockmix.stored import check_files, check_name, read_array, save_arrays

FORMAT, VERSION = "blockmix checkpoint", 1
MANIFEST = "manifest.json"
KEPT = 2
_NUMBER = re.compile("[0-9]{6,9}")


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

    @property
    def any_whole(self) -> bool:
        """Whether one was written, or found whole when the run was resumed."""
        return bool(self._good)

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
        files = save_arrays(folder, arrays)
        body = manifest_head(FORMAT, VERSION) | {"run": run, "files": files, "facts": dict(facts)}
        (folder / MANIFEST).write_text(manifest_text(seal(body)), "utf-8")
    return sum(file["bytes"] for file in files.values())


def read_snapshot(path: Path, run: str | None = None) -> Snapshot:
    """Read a snapshot and compare everything with its checksums; `run` is the run it must belong to."""
    body = _manifest(path / MANIFEST)
    if run is not None and body["run"] != run:
        raise Damaged(f"{path}: it belongs to another run")
    try:
        arrays = {
            name: read_array(path / f"{check_name(name)}.npy", entry=body["files"][name])
            for name in body["files"]
        }
    except OSError as error:
        raise Damaged(f"{error.filename}: cannot be read ({reason(error)})") from None
    except Damaged as damage:
        raise Damaged(str(damage) if str(damage).startswith(str(path)) else f"{path}: {damage}") from None
    return Snapshot(path, body["run"], arrays, body["facts"])


def _manifest(file: Path) -> dict[str, Any]:
    try:
        body = read_sealed(file, FORMAT, VERSION)
    except OSError as error:
        raise Damaged(f"{file}: cannot be read ({error})") from None
    check_files(body.get("files"))
    if not isinstance(body.get("run"), str) or not isinstance(body.get("facts"), dict):
        raise Damaged(f"{file}: it is not the manifest of a checkpoint")
    return body
