"""A lock on the folder of a run: two runs never write to one folder.

The lock is the operating system's, on the file `.lock`, and ends with the process that holds it, however that
ends: a killed run leaves no lock behind, only the file. The file names the holder, for the error message of others.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from blockmix.errors import InputError, printable
from blockmix.files import Damaged, open_own, open_plain

LOCK = ".lock"
# `is_locked` holds the lock for microseconds: it is worth a second try.
_TRIES, _BETWEEN_TRIES = 5, 0.05
_TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
# Windows locks bytes against reading, too: one far behind the text.
_FAR_AWAY = 1 << 30
# The holder's note is one short line.
_LONGEST_TEXT = 1 << 12
# Characters of a fact in that note that are shown.
_LONGEST_FACT = 80


def _take(descriptor: int) -> None:
    """Lock an open file for this process alone, or raise an OSError at once."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, _FAR_AWAY, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FolderLock:
    """The lock of a folder, held from `acquire` to `release` or to the end of the process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock, or raise an error that names the process that has it.

        Raises OSError where the file system has no locks.
        """
        for _ in range(_TRIES):
            descriptor = open_own(self.folder / LOCK, create=True)
            try:
                _take(descriptor)
            except OSError as error:
                os.close(descriptor)
                if error.errno not in _TAKEN:
                    # A file system without locks: better no run than two in one folder.
                    raise
                time.sleep(_BETWEEN_TRIES)
                continue
            if self._is_current(descriptor):
                self._descriptor = descriptor
                self._sign()
                return
            os.close(descriptor)
        raise InputError(f"{self.folder}: another run is writing here{_named(holder(self.folder))}")

    def _is_current(self, descriptor: int) -> bool:
        """Return whether the locked file is still the one in the folder: its last holder may have removed it."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.lstat(self.folder / LOCK))
        except FileNotFoundError:
            return False

    def _sign(self) -> None:
        """Write into the file which process holds the lock."""
        assert self._descriptor is not None
        now = datetime.now(UTC).isoformat(timespec="seconds")
        text = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": now})
        # On a full disk the lock stays anonymous, and is a lock all the same.
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, text.encode())

    def release(self) -> None:
        """Release the lock and remove its file."""
        if self._descriptor is None:
            return
        with suppress(OSError):
            (self.folder / LOCK).unlink()
        os.close(self._descriptor)
        self._descriptor = None


def is_locked(folder: Path) -> bool:
    """Return whether a living process holds the lock of this folder."""
    try:
        descriptor = open_own(folder / LOCK, create=False)
    except (OSError, InputError):
        return False
    try:
        _take(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def holder(folder: Path) -> dict[str, Any]:
    """Return what the holder of the lock wrote: pid, host, since; empty where that cannot be read."""
    try:
        with open_plain(folder / LOCK) as file:
            found = json.loads(file.read(_LONGEST_TEXT).decode("utf-8"))
    except (OSError, ValueError, RecursionError, Damaged):
        return {}
    return found if isinstance(found, dict) else {}


def _named(who: dict[str, Any]) -> str:
    if not who:
        return "; wait for its end, or name another folder"
    pid, host, since = (printable(str(who.get(name)))[:_LONGEST_FACT] for name in ("pid", "host", "since"))
    place = "" if who.get("host") == socket.gethostname() else f" on {host}"
    return f": process {pid}{place}, since {since}; wait for its end, end it, or name another folder"
