"""The bytes of a plain or compressed file, in blocks of whole lines.

Blocks are read, not mapped: memory stays bounded by the blocks being parsed, and a file that shrinks while it is
read gives an error where a memory map would kill the process. A plain file is cut at fixed offsets, so blocks
can be fetched in any order by many threads; a compressed one is a stream.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import PurePath
from threading import Lock
from types import TracebackType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError, InputError
from blockmix.graph.reading.compression import MAGIC, NETWORK, Bounds, describe_damage, kind_of, unpacked
from blockmix.graph.reading.opening import FileLike, is_file_object, name_of, open_input
from blockmix.numerics.compile import checked_njit as njit

BLOCK_BYTES = 4 << 20
# No edge list has longer lines; without a bound a file without line ends would be read into memory whole.
LONGEST_LINE = 16 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Bytes = NDArray[np.uint8]


class Source:
    """An open file of text lines; use it as a context manager.

    `kind` is the ending of its compressed format, or None. `notes` are remarks for the summary.
    """

    def __init__(self, given: FileLike, allow_empty: bool = False, bounds: Bounds = NETWORK) -> None:
        self.name = name_of(given)
        self._bounds = bounds
        with _reading(self):
            self._file = open_input(given)
        self._lock = Lock()
        self.kind: str | None = None
        try:
            self.size = self._file.seek(0, os.SEEK_END)
            self.kind = kind_of(self._read(0, 6))
            if self.size == 0 and not allow_empty:
                raise GraphFormatError(
                    "the file is empty",
                    path=self.name,
                    remedy="If it was read before, go back to its beginning: file.seek(0)."
                    if is_file_object(given)
                    else "Write one link per line: two labels.",
                )
            self.head(6)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def suffix(self) -> str:
        """The ending of the name that tells the format, in lower case: ".csv" of edges.CSV.gz."""
        path = PurePath(self.name.split("?")[0])
        return PurePath(path.stem).suffix.lower() if path.suffix.lower() in MAGIC else path.suffix.lower()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the file as a whole."""
        ending = PurePath(self.name).suffix.lower()
        if self.kind is None and ending in MAGIC:
            return (f"the name ends in {ending}, but the file is not compressed: read as it is",)
        return ()

    def _read(self, begin: int, size: int) -> bytes:
        with self._lock, _reading(self):
            self._file.seek(begin)
            return self._file.read(size)

    def head(self, size: int) -> bytes:
        """Return the first `size` bytes of text, fewer where the file ends earlier."""
        if self.kind is None:
            return self._read(0, size)
        with self._lock, _reading(self):
            return unpacked(self._file, self.kind, self.name, self._bounds).read(size)

    def content(self, most: int) -> bytes:
        """Return the whole text, for readers that need it at once; refuse more than `most` bytes."""
        data = self.head(most + 1)
        if len(data) > most:
            raise GraphFormatError(
                f"the file has more than {most >> 20:,} MiB, too much for this format",
                path=self.name,
                remedy="Write the network as an edge list: two labels a line.",
            )
        return data

    def lines(self, longest: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield every line with its number from 1, without its line end and without a byte order mark."""
        number = 0
        for load in self.blocks(0, longest):
            block = load().tobytes()
            if number == 0:
                block = block.removeprefix(BYTE_ORDER_MARK)
            for line in block.split(b"\n")[:-1]:
                number += 1
                yield number, line.removesuffix(b"\r")

    def blocks(self, begin: int, longest: int | None = None) -> Generator[Callable[[], Bytes], None, None]:
        """Yield calls that give the text from byte `begin` on, in blocks of whole lines ended by a line feed.

        The calls of a plain file may be made from any thread; a block may be empty. A line of more than `longest`
        bytes is refused.
        """
        longest = LONGEST_LINE if longest is None else longest
        return self._cut(begin, longest) if self.kind is None else self._streamed(begin, longest)

    def _cut(self, begin: int, longest: int) -> Generator[Callable[[], Bytes], None, None]:
        for first in range(begin, self.size, BLOCK_BYTES):
            last = min(first + BLOCK_BYTES, self.size)
            yield lambda first=first, last=last: self._lines(begin, first, last, longest)  # type: ignore[misc]

    def _lines(self, begin: int, first: int, last: int, longest: int) -> Bytes:
        """Return the lines that start in [first, last): the last of them may end behind `last`."""
        behind = 1 << 12
        while True:
            start = max(begin, first - 1)
            buf = self._fill(start, min(last + behind, self.size) - start)
            skip = 0 if first == begin else _line_feed(buf, 0) + 1
            if start + skip >= last:
                return buf[:0]
            end = _line_feed(buf, last - 1 - start) + 1
            if end <= len(buf):
                return buf[skip:end]
            if last + behind >= self.size:
                return _ended(buf[skip:])
            behind *= 8
            if behind > 8 * longest:
                raise self._endless(longest)

    def _fill(self, start: int, size: int) -> Bytes:
        buf = np.empty(size + 1, dtype=np.uint8)
        with self._lock, _reading(self):
            self._file.seek(start)
            got = cast(Any, self._file).readinto(buf.data[:size])
        if got != size:
            raise GraphFormatError(
                "the file became shorter while it was read",
                path=self.name,
                remedy="Read it once it is whole.",
            )
        return buf[:size]

    def _streamed(self, begin: int, longest: int) -> Generator[Callable[[], Bytes], None, None]:
        kept: list[bytes] = []
        with self._lock:
            with _reading(self):
                stream = unpacked(self._file, cast(str, self.kind), self.name, self._bounds)
                stream.read(begin)
            while True:
                with _reading(self):
                    data = stream.read(BLOCK_BYTES)
                whole = data.rfind(b"\n") + 1
                if whole or not data:
                    block = _ended(np.frombuffer(b"".join((*kept, data[:whole])), dtype=np.uint8).copy())
                    kept = [data[whole:]]
                    yield lambda block=block: block  # type: ignore[misc]
                else:
                    kept.append(data)
                if sum(map(len, kept)) > longest:
                    raise self._endless(longest)
                if not data:
                    return

    def _endless(self, longest: int) -> GraphFormatError:
        return GraphFormatError(
            f"a line is longer than {longest >> 20} MiB",
            path=self.name,
            remedy="An edge list has one link per line, two labels each.",
        )


def _ended(buf: Bytes) -> Bytes:
    """Return the same text with a line feed behind a last line that lacks one."""
    if len(buf) == 0 or buf[-1] == 10:
        return buf
    return np.append(buf, np.uint8(10))


class _reading:
    """Turns errors of the system about a file into one GraphFormatError."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, InputError) or error is None:
            return
        described = _describe_error(error, getattr(self.source, "kind", None))
        if described is not None:
            raise GraphFormatError(described[0], path=self.source.name, remedy=described[1]) from None


def _describe_error(error: BaseException, kind: str | None) -> tuple[str, str] | None:
    if isinstance(error, FileNotFoundError):
        return "there is no such file", "Check the name and the folder."
    if isinstance(error, PermissionError):
        return "the file may not be read", "Ask for read permission (chmod +r)."
    damage = None if kind is None else describe_damage(error)
    if damage is not None:
        test = "; check with gzip -t" if kind == ".gz" else ""
        return f"the {kind} file {damage}", f"Download or copy it again{test}."
    if isinstance(error, OSError):
        return f"the file cannot be read ({error.strerror or error})", "Check the path and the disk."
    if isinstance(error, ValueError) and "closed file" in str(error):
        return "the file is closed", "Open it again, and close it after it was read."
    if isinstance(error, ValueError) and "null" in str(error):
        return "a path cannot hold a NUL character", "Check the name."
    if isinstance(error, UnicodeError):
        return f"the file cannot be opened as text ({error})", "Open it in binary mode."
    return None


@njit(cache=True, nogil=True)
def _line_feed(buf, i):  # type: ignore[no-untyped-def]
    """Return the first line feed at or after i, or the length of the buffer."""
    while i < buf.shape[0] and buf[i] != 10:
        i += 1
    return i
