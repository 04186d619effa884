"""Files and folders that appear whole or not at all, and manifests that name their format, version and writer.

Everything is written under a temporary name beside its place and then renamed, so that a full disk or a killed process
leaves nothing incomplete under a final name. Like `errors` this module is shared by all layers.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from blockmix._version import __version__
from blockmix.errors import InputError

# Temporary names: of a file its own name and this ending, of a folder this beginning and a random part.
PARTIAL_FILE, PARTIAL_FOLDER = ".partial", ".partial-"
# Syncing files one by one waits for the disk once a file; in parallel the waits overlap.
_SYNCS_AT_ONCE = 16


class Damaged(Exception):
    """A file that is not what was written, with its path and what is wrong with it."""


class Foreign(Damaged):
    """A manifest of another format."""


def reason(error: OSError) -> str:
    """Return the system's words for an error."""
    return str(error.strerror or error)


def replace_text(path: Path, pieces: Iterable[str], errors: str = "strict") -> None:
    """Write UTF-8 text in pieces; an OSError leaves the earlier file as it was."""
    # A device, a pipe or a symbolic link must be written through, not replaced by a file.
    through = path.is_symlink() or (path.exists() and not path.is_file())
    target = path if through else path.with_name(path.name + PARTIAL_FILE)
    try:
        with open(target, "w", encoding="utf-8", newline="", errors=errors) as out:
            out.writelines(pieces)
        if not through:
            os.replace(target, path)
    except OSError:
        if not through:
            with suppress(OSError):
                target.unlink()
        raise


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write text in pieces as `replace_text` does; a failure is an `InputError` that names the file."""
    try:
        replace_text(path, pieces)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({reason(error)})") from error


@contextmanager
def whole_folder(target: Path, sync: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill; when the block ends it takes the place of `target`.

    If the block or the renaming fails, what was at `target` before is there again. With `sync` everything is on the
    disk before it gets its name.
    """
    scratch = target.with_name(PARTIAL_FOLDER + uuid.uuid4().hex)
    scratch.mkdir()
    try:
        yield scratch
        if sync:
            sync_folder(scratch)
        _replace_folder(scratch, target)
        if sync:
            _sync(target.parent)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _replace_folder(fresh: Path, target: Path) -> None:
    if not target.exists():
        os.rename(fresh, target)
        return
    old = target.with_name(PARTIAL_FOLDER + uuid.uuid4().hex)
    os.rename(target, old)
    try:
        os.rename(fresh, target)
    except OSError:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def remove_partial_folders(folder: Path) -> None:
    """Remove what a process that was killed in `whole_folder` has left in this folder."""
    for left in folder.glob(PARTIAL_FOLDER + "*"):
        shutil.rmtree(left, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Sync a folder and all files in it to the disk."""
    paths = list(folder.rglob("*"))
    with ThreadPoolExecutor(_SYNCS_AT_ONCE, thread_name_prefix="blockmix-sync") as pool:
        list(pool.map(_sync, (path for path in paths if path.is_file())))
    for below in (*(path for path in paths if path.is_dir()), folder):
        _sync(below)


def _sync(path: Path) -> None:
    """Sync a file, or the names in a folder, to the disk."""
    if os.name == "nt" and path.is_dir():
        # Windows writes names through, and cannot open a folder.
        return
    descriptor = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def manifest_head(form: str, version: int) -> dict[str, Any]:
    """Return the fields that every manifest begins with."""
    return {"format": form, "version": version, "written_by": f"blockmix {__version__}"}


def manifest_text(body: Mapping[str, Any]) -> str:
    """Return a manifest as text."""
    return json.dumps(body, indent=2, allow_nan=False, default=_plain) + "\n"


def checksum(body: Mapping[str, Any]) -> str:
    """Return the checksum of a manifest: of its content, not of its text."""
    text = json.dumps(body, sort_keys=True, allow_nan=False, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Return a NumPy scalar, as a caller may have given for a setting, as a plain number."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} cannot be written to a manifest")


def read_manifest(path: Path, form: str, version: int) -> dict[str, Any]:
    """Return a manifest of this format and version.

    Raises FileNotFoundError or NotADirectoryError where there is none, `Foreign` where it is of another format,
    `Damaged` where it cannot be read, and `InputError` where another version of the format wrote it.
    """
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise Damaged(f"{path.parent}: {path.name} cannot be read ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != form:
        raise Foreign(f"{path}: this is not the manifest of a {form}")
    if manifest.get("version") != version:
        raise InputError(
            f"{path}: written in version {manifest.get('version')!r} of the format, and this blockmix reads "
            f"version {version}; use the blockmix that wrote it ({manifest.get('written_by')})"
        )
    return manifest
