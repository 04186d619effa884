"""Whatever may be given as a file, as one open file that can be read at any place.

A path, a pipe, "-" for standard input, an https address, or an object with a `read` method. What can be read only
once and in order is copied to a temporary file first.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from blockmix.errors import GraphFormatError, InputError

STANDARD_INPUT = "standard input"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PIECE = 1 << 20

FileLike = str | os.PathLike[str] | IO[Any]


def is_address(given: object) -> bool:
    """Return whether this names something to be downloaded rather than a file.

    >>> is_address("https://example.org/net.txt"), is_address("C:/net.txt"), is_address("net.txt")
    (True, False, False)
    """
    return isinstance(given, str) and _SCHEME.match(given) is not None


def is_file_object(given: object) -> bool:
    """Return whether this is an open file: something with a `read` method."""
    return callable(getattr(given, "read", None))


def name_of(given: FileLike) -> str:
    """Return how messages call this file."""
    if is_file_object(given):
        name = getattr(given, "name", None)
        return name if isinstance(name, str) else "file object"
    text = os.fspath(cast(Any, given))
    if not isinstance(text, str):
        raise InputError(f"the name of a file must be text, not {type(text).__name__}")
    if is_address(text):
        return "".join(c if c.isprintable() else "?" for c in text[:300])
    return STANDARD_INPUT if text == "-" else text


def open_input(given: FileLike) -> IO[bytes]:
    """Open what was given; the caller closes it. A file object of the user is read to its end and left open."""
    if is_file_object(given):
        return _spooled(_pieces(cast(IO[Any], given)))
    text = os.fspath(cast(Any, given))
    if text == "-":
        return _spooled(_pieces(sys.stdin.buffer))
    if is_address(text):
        from blockmix.graph.reading.fetch import fetch

        spool = _spool()
        try:
            fetch(text, spool)
        except BaseException:
            spool.close()
            raise
        return spool
    path = Path(text)
    return _open_path(path.expanduser() if text.startswith("~") and not path.exists() else path)


def _open_path(path: Path) -> IO[bytes]:
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise GraphFormatError("this is a folder", path=path, remedy="Name the edge list inside it.")
    if stat.S_ISFIFO(mode):
        with open(path, "rb") as pipe:
            return _spooled(_pieces(pipe))
    if not stat.S_ISREG(mode):
        raise GraphFormatError("this is not a file", path=path, remedy="Name a file with an edge list.")
    return open(path, "rb", buffering=0)


def _spool() -> IO[bytes]:
    return cast(IO[bytes], tempfile.TemporaryFile(buffering=0))


def _spooled(pieces: Iterator[bytes]) -> IO[bytes]:
    spool = _spool()
    try:
        for piece in pieces:
            spool.write(piece)
    except BaseException:
        spool.close()
        raise
    return spool


def _pieces(file: IO[Any]) -> Iterator[bytes]:
    """Read a file object to its end, binary or text."""
    while True:
        piece = file.read(_PIECE)
        if isinstance(piece, str):
            piece = piece.encode("utf-8", errors="surrogateescape")
        if not isinstance(piece, bytes | bytearray | memoryview):
            raise InputError(
                f"{name_of(file)}: read() gave {type(piece).__name__}; open the file for reading, binary or text"
            )
        if not piece:
            return
        yield bytes(piece)
