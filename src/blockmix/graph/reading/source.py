"""The bytes of a plain or gzip-compressed file, in blocks of whole lines.

Blocks are read, not mapped: memory stays bounded by the blocks being parsed, and a file that shrinks while it is
read gives an error where a memory map would kill the process. A plain file is cut at fixed offsets, so blocks
can be fetched in any order by many threads; a compressed one is a stream.
"""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Generator
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import IO, Any, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError

BLOCK_BYTES = 4 << 20
# No edge list has longer lines; without a bound a file without line ends would be read into memory whole.
LONGEST_LINE = 16 << 20

Bytes = NDArray[np.uint8]
_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "bzip2-compressed",
    b"\xfd7zXZ\x00": "xz-compressed",
    b"\x28\xb5\x2f\xfd": "zstd-compressed",
    b"PAR1": "a Parquet file",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


class Source:
    """An open file of text lines; use it as a context manager."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = _open(self.path)
        self._lock = Lock()
        try:
            magic = self._read(0, 6)
            self.compressed = magic[:2] == b"\x1f\x8b"
            self._size = self._file.seek(0, os.SEEK_END)
            if self._size == 0:
                raise GraphFormatError(
                    "the file is empty", path=self.path, remedy="Write one link per line: two labels."
                )
            self._refuse_other_formats(self.head(6))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _refuse_other_formats(self, magic: bytes) -> None:
        for start, what in _OTHER_FORMATS.items():
            if magic.startswith(start):
                raise GraphFormatError(
                    f"this is {what}, not a text edge list",
                    path=self.path,
                    line=1,
                    column=1,
                    text=magic,
                    remedy="Unpack or convert it to UTF-8 text, plain or .gz.",
                )

    def _read(self, begin: int, size: int) -> bytes:
        with self._lock, _reading(self.path):
            self._file.seek(begin)
            return self._file.read(size)

    def head(self, size: int) -> bytes:
        """Return the first `size` bytes of text, fewer where the file ends earlier."""
        if not self.compressed:
            return self._read(0, size)
        with self._lock, _reading(self.path):
            self._file.seek(0)
            with gzip.GzipFile(fileobj=self._file) as stream:
                return stream.read(size)

    def blocks(self, begin: int) -> Generator[Callable[[], Bytes], None, None]:
        """Yield calls that give the text from byte `begin` on, in blocks of whole lines ended by a line feed.

        The calls of a plain file may be made from any thread; a block may be empty.
        """
        return self._streamed(begin) if self.compressed else self._cut(begin)

    def _cut(self, begin: int) -> Generator[Callable[[], Bytes], None, None]:
        for first in range(begin, self._size, BLOCK_BYTES):
            last = min(first + BLOCK_BYTES, self._size)
            yield lambda first=first, last=last: self._lines(begin, first, last)  # type: ignore[misc]

    def _lines(self, begin: int, first: int, last: int) -> Bytes:
        """Return the lines that start in [first, last): the last of them may end behind `last`."""
        behind = 1 << 12
        while True:
            start = max(begin, first - 1)
            buf = self._fill(start, min(last + behind, self._size) - start)
            skip = 0 if first == begin else _line_feed(buf, 0) + 1
            if start + skip >= last:
                return buf[:0]
            end = _line_feed(buf, last - 1 - start) + 1
            if end <= len(buf):
                return buf[skip:end]
            if last + behind >= self._size:
                return _ended(buf[skip:])
            behind *= 8
            if behind > 8 * LONGEST_LINE:
                raise self._endless()

    def _fill(self, start: int, size: int) -> Bytes:
        buf = np.empty(size + 1, dtype=np.uint8)
        with self._lock, _reading(self.path):
            self._file.seek(start)
            got = cast(Any, self._file).readinto(buf.data[:size])
        if got != size:
            raise GraphFormatError(
                "the file became shorter while it was read",
                path=self.path,
                remedy="Read it once it is whole.",
            )
        return buf[:size]

    def _streamed(self, begin: int) -> Generator[Callable[[], Bytes], None, None]:
        kept = b""
        with self._lock:
            self._file.seek(0)
            with gzip.GzipFile(fileobj=self._file) as stream:
                with _reading(self.path):
                    stream.read(begin)
                while True:
                    with _reading(self.path):
                        data = stream.read(BLOCK_BYTES)
                    whole = len(data) if not data else data.rfind(b"\n") + 1
                    block = np.frombuffer(kept + data[:whole] if whole else b"", dtype=np.uint8).copy()
                    if not data:
                        block = _ended(np.frombuffer(kept, dtype=np.uint8).copy())
                    kept = data[whole:] if whole else kept + data
                    if len(kept) > LONGEST_LINE:
                        raise self._endless()
                    yield lambda block=block: block  # type: ignore[misc]
                    if not data:
                        return

    def _endless(self) -> GraphFormatError:
        return GraphFormatError(
            f"a line is longer than {LONGEST_LINE >> 20} MiB",
            path=self.path,
            remedy="An edge list has one link per line, two labels each.",
        )


def _ended(buf: Bytes) -> Bytes:
    """Return the same text with a line feed behind a last line that lacks one."""
    if len(buf) == 0 or buf[-1] == 10:
        return buf
    return np.append(buf, np.uint8(10))


def _open(path: Path) -> IO[bytes]:
    with _reading(path):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise GraphFormatError("this is a folder", path=path, remedy="Name the edge list inside it.")
        if stat.S_ISFIFO(mode):
            return _spooled(path)
        if not stat.S_ISREG(mode):
            raise GraphFormatError("this is not a file", path=path, remedy="Name a file with an edge list.")
        return open(path, "rb", buffering=0)


def _spooled(path: Path) -> IO[bytes]:
    """Copy a pipe to a temporary file: a pipe can be read only once and in order."""
    spool = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - the Source closes it
    with open(path, "rb") as pipe:
        shutil.copyfileobj(pipe, spool, 1 << 20)
    return cast(IO[bytes], spool)


class _reading:
    """Turns errors of the system about a file into one GraphFormatError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, GraphFormatError) or error is None:
            return
        described = _describe_error(error)
        if described is not None:
            raise GraphFormatError(described[0], path=self.path, remedy=described[1]) from None


def _describe_error(error: BaseException) -> tuple[str, str] | None:
    if isinstance(error, FileNotFoundError):
        return "there is no such file", "Check the name and the folder."
    if isinstance(error, PermissionError):
        return "the file may not be read", "Ask for read permission (chmod +r)."
    if isinstance(error, EOFError):
        return "the .gz file is cut short", "Download or copy it again; check with gzip -t."
    if isinstance(error, (zlib.error, gzip.BadGzipFile)):
        return f"the .gz file is damaged ({error})", "Download or copy it again; check with gzip -t."
    if isinstance(error, OSError):
        return f"the file cannot be read ({error.strerror or error})", "Check the path and the disk."
    if isinstance(error, ValueError) and "null" in str(error):
        return "a path cannot hold a NUL character", "Check the name."
    return None


@njit(cache=True, nogil=True)
def _line_feed(buf, i):  # type: ignore[no-untyped-def]
    """Return the first line feed at or after i, or the length of the buffer."""
    while i < buf.shape[0] and buf[i] != 10:
        i += 1
    return i
