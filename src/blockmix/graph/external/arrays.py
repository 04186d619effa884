"""Arrays that are written to .npy files piece by piece, before their length is known."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from blockmix.graph.graph import fingerprint_of

# The header of an array of one dimension: NumPy pads it for any length.
_HEADER = 128
_READ_AT_ONCE = 1 << 17


class ArrayWriter:
    """Writes one array, the same bytes as `numpy.save`; use it as a context manager."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 -- closed by __exit__
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.length = 0
        self._file.write(bytes(_HEADER))

    def __enter__(self) -> ArrayWriter:
        return self

    def append(self, values: NDArray[Any]) -> None:
        """Add entries at the end."""
        self._file.write(np.ascontiguousarray(values, dtype=self.dtype).data)
        self.length += len(values)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the header and close the file."""
        try:
            if error is None:
                self._file.seek(0)
                self._file.write(header(self.dtype, self.length))
        finally:
            self._file.close()


def header(dtype: np.dtype[Any], length: int) -> bytes:
    """Return the bytes before the entries of an array of one dimension."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)}
    )
    assert out.tell() == _HEADER
    return out.getvalue()


class StoredArray:
    """An array in a file that `ArrayWriter` wrote, read in pieces; `entry` is what a manifest says of the file."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.path, self.dtype = path, np.dtype(dtype).newbyteorder("<")
        self._digest, self._bytes = hashlib.sha256(), 0

    def pieces(self) -> Iterator[NDArray[Any]]:
        """Yield the entries, and compute the checksum of the file on the way."""
        with open(self.path, "rb", buffering=0) as file:
            head = file.read(_HEADER)
            self._note(head)
            while len(piece := np.fromfile(file, dtype=self.dtype, count=_READ_AT_ONCE)):
                self._note(piece.data)
                yield piece

    def _note(self, data: Any) -> None:
        self._digest.update(data)
        self._bytes += memoryview(data).nbytes

    def some(self, first: int, count: int) -> NDArray[Any]:
        """Return a few entries."""
        return np.fromfile(
            self.path, dtype=self.dtype, count=count, offset=_HEADER + first * self.dtype.itemsize
        )

    @property
    def entry(self) -> dict[str, Any]:
        """Checksum and size of the file, once all pieces were read."""
        return {"sha256": self._digest.hexdigest(), "bytes": self._bytes}


def digests(arrays: list[StoredArray]) -> str:
    """Read all arrays once, in the order of a fingerprint; return it, and leave each with the checksum of its file."""
    return fingerprint_of(piece for array in arrays for piece in array.pieces())
