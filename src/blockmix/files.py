"""Files that appear whole or not at all, and manifests that name their format, version and writer.

Everything is written under a temporary name beside its place and then renamed, so that a full disk or a killed process
leaves nothing incomplete under a final name; `folders` does the same with folders.

A folder may come from somebody else. Inside the folder of a run blockmix therefore writes only to plain files and
folders: a symbolic link there is refused, and so is a pipe or a device (`check_own`). Reading follows links, because
archives such as git-annex keep files behind them, but only to plain files (`open_plain`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from blockmix._version import __version__
from blockmix.errors import InputError, printable

# Temporary names begin like this and end with a random part, so that nobody can put a link there first.
PARTIAL = ".partial-"
_PARTIAL_NAME = re.compile(re.escape(PARTIAL) + "[0-9a-f]{32}")
# A manifest is a few kilobytes; a longer one is not read into memory.
_LONGEST_MANIFEST = 1 << 26
_NO_FOLLOW, _NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)
_KINDS = (
    (stat.S_ISLNK, "a symbolic link"), (stat.S_ISDIR, "a folder"), (stat.S_ISREG, "a file"),
    (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"),
)  # fmt: skip


class Damaged(Exception):
    """A file that is not what was written, with its path and what is wrong with it."""


class Foreign(Damaged):
    """A manifest of another format."""


def reason(error: OSError) -> str:
    """Return the system's words for an error."""
    return str(error.strerror or error)


def temporary_name(path: Path) -> Path:
    """Return a name beside this one that nobody can know before."""
    return path.with_name(PARTIAL + uuid.uuid4().hex)


def is_temporary(name: str) -> bool:
    """Return whether a file or folder of this name was left by a process that was killed while it wrote."""
    return _PARTIAL_NAME.fullmatch(name) is not None


def check_own(path: Path, folder: bool = False) -> None:
    """Refuse what blockmix did not put into the folder of a run: links, pipes, devices, a folder where a file belongs.

    Nothing under this name is fine as well.
    """
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not (stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode)):
        raise InputError(
            f"{path}: this is {_kind(mode)}, and blockmix writes only to plain files and folders of its own; "
            "nothing was written. Look at where it comes from, and remove it"
        )


def _kind(mode: int) -> str:
    return next((name for test, name in _KINDS if test(mode)), "a device")


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file for reading; never wait for a pipe or read a device, which has no end.

    Raises OSError where there is no such file, and `Damaged` where it is not a plain one.
    """
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | getattr(os, "O_BINARY", 0))
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise Damaged(f"{path}: this is {_kind(mode)} and not a plain file")
    return os.fdopen(descriptor, "rb")


def open_own(path: Path, create: bool) -> int:
    """Open a plain file to read and write, and return its descriptor; a link or anything else is refused.

    A file with a second name is refused, too: the other name may be somebody else's.
    """
    check_own(path)
    flags = os.O_RDWR | (os.O_CREAT if create else 0) | _NO_FOLLOW | _NO_WAIT
    descriptor = os.open(path, flags, 0o666)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise InputError(f"{path}: this is not a plain file with one name; nothing was written. Remove it")
    return descriptor


def replace_text(
    path: Path, pieces: Iterable[str], errors: str = "strict", *, follow: bool = True, sync: bool = False
) -> None:
    """Write UTF-8 text in pieces; an OSError leaves the earlier file as it was.

    Where a person named the path, a device, a pipe or a symbolic link is written through and not replaced by a file.
    In the folder of a run (`follow` is False) it is refused. With `sync` the text is on the disk before it gets its
    name, and the name before this returns.
    """
    if not follow:
        check_own(path)
    through = follow and (path.is_symlink() or (path.exists() and not path.is_file()))
    target = path if through else temporary_name(path)
    try:
        with open(target, "w" if through else "x", encoding="utf-8", newline="", errors=errors) as out:
            out.writelines(pieces)
            if sync and not through:
                out.flush()
                os.fsync(out.fileno())
        if not through:
            os.replace(target, path)
            if sync:
                sync_path(path.absolute().parent)
    except BaseException:
        if not through:
            with suppress(OSError):
                target.unlink()
        raise


def write_pieces(path: Path, pieces: Iterable[str], *, follow: bool = True) -> None:
    """Write text in pieces as `replace_text` does; a failure is an `InputError` that names the file."""
    try:
        replace_text(path, pieces, follow=follow)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({reason(error)})") from error


def sync_path(path: Path) -> None:
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


def seal(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with its checksum as the last field."""
    return {**body, "checksum": checksum(body)}


def check_seal(path: Path, manifest: dict[str, Any]) -> None:
    """Take the checksum out of a manifest and refuse one that it does not match."""
    if manifest.pop("checksum", None) != checksum(manifest):
        raise Damaged(f"{path}: it does not match its checksum")


def read_sealed(path: Path, form: str, version: int, oldest: int | None = None) -> dict[str, Any]:
    """Return a manifest like `read_manifest`, compared with its checksum; version 1 may have none where it is old."""
    manifest = read_manifest(path, form, version, oldest)
    if oldest is None or manifest["version"] > oldest or "checksum" in manifest:
        check_seal(path, manifest)
    return manifest


def _plain(value: Any) -> Any:
    """Return a NumPy scalar, as a caller may have given for a setting, as a plain number."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} cannot be written to a manifest")


def _no_number(name: str) -> None:
    """Refuse NaN and infinities, which JSON does not have and blockmix does not write."""
    raise ValueError(f"{name} is not a value of JSON")


def read_manifest(path: Path, form: str, version: int, oldest: int | None = None) -> dict[str, Any]:
    """Return a manifest of this format and of this version, or one down to the `oldest` that can still be read.

    Raises FileNotFoundError or NotADirectoryError where there is none, `Foreign` where it is of another format,
    `Damaged` where it cannot be read, and `InputError` where another version of the format wrote it.
    """
    try:
        with open_plain(path) as file:
            text = file.read(_LONGEST_MANIFEST + 1)
        if len(text) > _LONGEST_MANIFEST:
            raise ValueError(f"it is longer than {_LONGEST_MANIFEST:,} bytes")
        manifest = json.loads(text.decode("utf-8"), parse_constant=_no_number)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise Damaged(f"{path.parent}: {path.name} cannot be read ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != form:
        raise Foreign(f"{path}: this is not the manifest of a {form}")
    found = manifest.get("version")
    if type(found) is not int or not (version if oldest is None else oldest) <= found <= version:
        raise InputError(
            f"{path}: written in version {found!r:.80} of the format, and this blockmix reads "
            f"version {version}; use the blockmix that wrote it ({printable(str(manifest.get('written_by')))[:80]})"
        )
    return manifest
