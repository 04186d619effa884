"""Streams of numbers in one temporary file, for what does not fit in memory.

The file has no name, or is removed when it is closed: a process that is killed leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

# A stream is written in pieces of at least so many bytes, but for its last one.
_WRITTEN_AT_ONCE = 1 << 18
# Sorting more at once takes seconds in which Ctrl-C has no effect, and saves nothing: merging is cheap.
_MOST_SORTED = 1 << 30


class Budget(NamedTuple):
    """Bytes that parts of a conversion may take: sorting, tables of labels, and one window of what goes through them.

    `buffers` is shared by the streams that are written side by side.
    """

    sorting: int
    tables: int
    window: int
    buffers: int

    @classmethod
    def of(cls, memory: int) -> Budget:
        """Divide so many bytes: half for sorting, a quarter for tables, the rest for parsing."""
        return cls(
            min(memory // 2, _MOST_SORTED),
            memory // 4,
            max(memory // 64, 1 << 12),
            max(memory // 32, 1 << 12),
        )


class Spill:
    """Named streams that grow at their ends; use it as a context manager.

    >>> with Spill(Path()) as spill:
    ...     spill.append("a", np.array([1, 2]))
    ...     spill.append("b", np.array([7]))
    ...     spill.append("a", np.array([3]))
    ...     spill.reader("a", np.int64).take(9).tolist()
    [1, 2, 3]
    """

    def __init__(self, folder: Path, buffers: int = _WRITTEN_AT_ONCE, streams: int = 1) -> None:
        self._file = cast(Any, tempfile.TemporaryFile(dir=folder, buffering=0))  # noqa: SIM115 -- closed by __exit__
        self._end = 0
        self._at_once = max(min(_WRITTEN_AT_ONCE, buffers // max(streams, 1)), 1)
        self._extents: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
        self._waiting: dict[Hashable, list[bytes]] = defaultdict(list)
        self._sizes: dict[Hashable, int] = defaultdict(int)

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def append(self, name: Hashable, array: NDArray[Any]) -> None:
        """Add numbers at the end of a stream."""
        if array.nbytes >= self._at_once:
            self._flush(name)
            self._write(name, np.ascontiguousarray(array).data.cast("B"))
        elif array.nbytes:
            self._waiting[name].append(array.tobytes())
            self._sizes[name] += array.nbytes
            if self._sizes[name] >= self._at_once:
                self._flush(name)

    def _flush(self, name: Hashable) -> None:
        if self._sizes.pop(name, 0):
            self._write(name, memoryview(b"".join(self._waiting.pop(name))))

    def _write(self, name: Hashable, data: memoryview) -> None:
        extents = self._extents[name]
        if extents and sum(extents[-1]) == self._end:
            extents[-1] = (extents[-1][0], extents[-1][1] + len(data))
        else:
            extents.append((self._end, len(data)))
        self._file.seek(self._end)
        self._end += len(data)
        while len(data):
            data = data[self._file.write(data) :]

    def size(self, name: Hashable) -> int:
        """Return the bytes of a stream."""
        return self._sizes.get(name, 0) + sum(length for _, length in self._extents.get(name, ()))

    def reader(self, name: Hashable, dtype: DTypeLike) -> Reader:
        """Return what reads a stream from its beginning; it does not grow any more."""
        self._flush(name)
        return Reader(self, self._extents.get(name, []), np.dtype(dtype))

    def fill(self, at: int, out: memoryview) -> None:
        """Read bytes from a place of the file."""
        self._file.seek(at)
        while len(out):
            got = self._file.readinto(out)
            if not got:
                raise OSError("a temporary file became shorter")
            out = out[got:]


class Reader:
    """Reads a stream in order."""

    def __init__(self, spill: Spill, extents: list[tuple[int, int]], dtype: np.dtype[Any]) -> None:
        self._spill, self._extents, self._dtype = spill, extents, dtype
        self.left = sum(length for _, length in extents) // dtype.itemsize
        self._extent, self._inside = 0, 0

    def take(self, most: int) -> NDArray[Any]:
        """Return the next numbers, at most so many; none at the end."""
        found = np.empty(min(most, self.left), dtype=self._dtype)
        out = found.data.cast("B") if len(found) else memoryview(b"")
        self.left -= len(found)
        while len(out):
            begin, length = self._extents[self._extent]
            size = min(length - self._inside, len(out))
            self._spill.fill(begin + self._inside, out[:size])
            out = out[size:]
            self._inside += size
            if self._inside == length:
                self._extent, self._inside = self._extent + 1, 0
        return found
