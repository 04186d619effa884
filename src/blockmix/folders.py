"""Folders that appear whole or not at all, and what a process that was killed while it wrote one has left.

A folder is filled under a temporary name beside its place and then renamed. Until then its writer holds a lock on it,
the operating system's, which ends with the process: what nobody holds was left over, and the next command that writes
to this place removes it. In the folder of a run, which has a lock of its own, everything temporary was left over.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from blockmix.files import check_own, is_temporary, sync_path, temporary_name

# What a folder of arrays consists of; nothing else is removed from one.
_ARRAY_FILE = re.compile(r"\w+\.npy|manifest\.json")
# What is written last into a folder of arrays.
_MANIFEST = "manifest.json"
# Where a lock cannot tell, what is older than so many seconds was left by a process that is gone.
_ABANDONED = 24 * 3600.0
# Syncing files one by one waits for the disk once a file; in parallel the waits overlap.
_SYNCS_AT_ONCE = 16
# How a lock is refused because somebody else has it; other errors mean that this place has no locks.
_TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}


@contextmanager
def whole_folder(target: Path, sync: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill; when the block ends it takes the place of `target`.

    If the block or the renaming fails, what was at `target` before is there again. With `sync` everything is on the
    disk before it gets its name. A link or a file in its place is refused.
    """
    check_own(target, folder=True)
    with scratch_folder(target) as scratch:
        yield scratch
        if sync:
            sync_folder(scratch)
        _replace_folder(scratch, target)
        if sync:
            sync_path(target.parent)


@contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """Yield an empty folder beside this place, held until the block ends; then it is removed, if it is still there."""
    scratch, holder = _new_scratch(beside)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if holder is not None:
            os.close(holder)


def _new_scratch(beside: Path) -> tuple[Path, int | None]:
    """Make a folder and lock it; where there are no locks it has none."""
    while True:
        scratch = temporary_name(beside)
        scratch.mkdir()
        try:
            holder = _open_locked(scratch, wait=True)
        except OSError:
            holder = None
        if scratch.exists():
            return scratch, holder
        # Another process removed it before it was locked here: it looked as if nobody held it.
        if holder is not None:
            os.close(holder)


def _open_locked(folder: Path, wait: bool = False) -> int | None:
    """Lock a folder and return its descriptor, or None where the system has no locks of folders.

    Raises OSError where this place has no locks, or somebody else has this one (`_TAKEN`) and is not waited for.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _replace_folder(fresh: Path, target: Path) -> None:
    if not target.exists():
        os.rename(fresh, target)
        return
    old = temporary_name(target)
    os.rename(target, old)
    try:
        os.rename(fresh, target)
    except OSError:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def remove_temporary(folder: Path) -> None:
    """Remove all that a killed process has left in a folder that this process has locked; links are left alone."""
    for left in _temporary(folder):
        if left.is_dir(follow_symlinks=False):
            remove_arrays(Path(left))
        elif left.is_file(follow_symlinks=False):
            with suppress(OSError):
                os.unlink(left)


def remove_abandoned(folder: Path, remove: Callable[[Path], None] | None = None) -> None:
    """Remove what a killed process has left in a folder that others may be writing to as well.

    An unfinished folder that nobody holds goes at once. One with a manifest is whole: it may be all that there is of
    a folder that was being replaced. It goes when it is old, and so does what no lock can tell about. `remove` is
    `remove_arrays` by default.
    """
    for left in _temporary(folder):
        with suppress(OSError):
            old = time.time() - left.stat(follow_symlinks=False).st_mtime > _ABANDONED
            if left.is_dir(follow_symlinks=False):
                _remove_unless_held(Path(left), old, remove or remove_arrays)
            elif old and left.is_file(follow_symlinks=False):
                os.unlink(left)


def _remove_unless_held(scratch: Path, old: bool, remove: Callable[[Path], None]) -> None:
    try:
        holder = _open_locked(scratch)
    except OSError as error:
        if error.errno not in _TAKEN and old:
            remove(scratch)
        return
    unfinished = holder is not None and not (scratch / _MANIFEST).exists()
    if unfinished or old:
        remove(scratch)
    if holder is not None:
        os.close(holder)


def _temporary(folder: Path) -> list[os.DirEntry[str]]:
    """Return what is temporary in a folder and of this user: others could put links into theirs while it is removed."""
    with suppress(OSError), os.scandir(folder) as entries:
        return [entry for entry in entries if is_temporary(entry.name) and _is_own(entry)]
    return []


def _is_own(entry: os.DirEntry[str]) -> bool:
    return not hasattr(os, "geteuid") or entry.stat(follow_symlinks=False).st_uid == os.geteuid()


def remove_arrays(folder: Path) -> None:
    """Remove a folder of arrays and manifests; whatever blockmix did not put there stays, and the folder with it."""
    if folder.is_symlink():
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                remove_arrays(Path(entry))
            elif entry.is_file(follow_symlinks=False) and _ARRAY_FILE.fullmatch(entry.name):
                with suppress(OSError):
                    os.unlink(entry)
    with suppress(OSError):
        folder.rmdir()


def sync_folder(folder: Path) -> None:
    """Sync a folder and all files in it to the disk."""
    paths = list(folder.rglob("*"))
    with ThreadPoolExecutor(_SYNCS_AT_ONCE, thread_name_prefix="blockmix-sync") as pool:
        list(pool.map(sync_path, (path for path in paths if path.is_file())))
    for below in (*(path for path in paths if path.is_dir()), folder):
        sync_path(below)
