"""Compressed files as streams: recognised by their first bytes, never by their name, and with bounds.

A few kilobytes can be made to unpack to terabytes. Text of real networks is packed 3 to 20 times; a stream that has
given more than its `Bounds` allow, in bytes and in times what was read of the file, is refused. The memory that an .xz
or .zst file may ask for is bounded as well.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from typing import IO, Any, NamedTuple, cast

from blockmix.errors import GraphFormatError, InputError, optional, readable

MOST_WINDOW = 256 << 20
_PIECE = 1 << 18


class Bounds(NamedTuple):
    """Bytes that any compressed file may unpack to, and how many times its size a larger one may."""

    free: int
    ratio: int


# Of networks, and of files beside them (nodes, communities, pairs): these take much more memory than they have bytes.
NETWORK, BESIDE = Bounds(256 << 20, 250), Bounds(64 << 20, 50)

# How each kind of compressed file begins; the key is the usual ending of its name.
MAGIC = {
    ".gz": b"\x1f\x8b",
    ".bz2": b"BZh",
    ".xz": b"\xfd7zXZ\x00",
    ".zst": b"\x28\xb5\x2f\xfd",
    ".zip": b"PK\x03\x04",
}


def kind_of(head: bytes) -> str | None:
    """Return the ending of the compressed format that begins like this, or None.

    >>> kind_of(b"BZh91AY"), kind_of(b"1 2")
    ('.bz2', None)
    """
    if head.startswith(MAGIC[".bz2"]) and not (len(head) > 3 and 0x31 <= head[3] <= 0x39):
        # A label may begin with BZh; the format continues with the size of its blocks, 1 to 9.
        return None
    return next((ending for ending, magic in MAGIC.items() if head.startswith(magic)), None)


def unpacked(file: IO[bytes], kind: str, name: str, bounds: Bounds = NETWORK) -> IO[bytes]:
    """Return the text inside a compressed file, from its beginning, as a stream that is read once."""
    file.seek(0)
    inner: Any
    if kind == ".gz":
        inner = gzip.GzipFile(fileobj=file)
    elif kind == ".bz2":
        inner = bz2.BZ2File(file)
    elif kind == ".xz":
        inner = _Xz(file)
    elif kind == ".zst":
        zstandard = optional(
            "zstandard", f"reading {name}", 'pip install "blockmix[zstd]", or unpack the file'
        )
        inner = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW).stream_reader(
            file, read_across_frames=True
        )
    else:
        inner = _only_member(file, name)
    return cast(IO[bytes], io.BufferedReader(_Bounded(inner, file, name, bounds), _PIECE))


class _Bounded(io.RawIOBase):
    """A stream that refuses to unpack to a size that no network would have; it leaves the file open."""

    def __init__(self, inner: Any, file: IO[bytes], name: str, bounds: Bounds) -> None:
        self._inner, self._file, self._name, self._bounds = inner, file, name, bounds
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        view = memoryview(target)
        data = self._inner.read(len(view))
        self._given += len(data)
        free, ratio = self._bounds
        if self._given > free and self._given > ratio * max(1, self._file.tell()):
            raise GraphFormatError(
                f"the file unpacks to more than {ratio} times its size",
                path=self._name,
                remedy="No list of links or nodes does; if you trust it, unpack it first and read the plain file.",
            )
        view[: len(data)] = data
        return len(data)


class _Xz:
    """The streams of an .xz file one after another, with a bound on memory that `lzma.open` does not offer."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = self._new()
        self._rest = b""

    @staticmethod
    def _new() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MOST_WINDOW)

    def read(self, size: int) -> bytes:
        while True:
            if self._decoder.eof:
                # Streams may be followed by zeros, in fours.
                rest = (self._decoder.unused_data or self._file.read(_PIECE)).lstrip(b"\0")
                if not rest:
                    if not self._file.read(1):
                        return b""
                    self._file.seek(-1, io.SEEK_CUR)
                    continue
                self._decoder, self._rest = self._new(), rest
            if self._decoder.needs_input and not self._rest:
                self._rest = self._file.read(_PIECE)
                if not self._rest:
                    raise EOFError("the end of the stream is missing")
            data = self._decoder.decompress(self._rest, size)
            self._rest = b""
            if data:
                return data


def _only_member(file: IO[bytes], name: str) -> Any:
    """Open the one file of a zip archive."""
    try:
        archive = zipfile.ZipFile(file)
        members = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
        names = [member.filename for member in members]
    except (IndexError, ValueError, RuntimeError, KeyError, struct.error) as error:
        # zipfile has no error of its own for some damaged directories.
        raise zipfile.BadZipFile(str(error)) from None
    if "[Content_Types].xml" in names:
        raise GraphFormatError(
            "this is an office document, such as an Excel workbook",
            path=name,
            remedy="Save the sheet as CSV and read that.",
        )
    if names and all(entry.endswith(".npy") for entry in names):
        raise GraphFormatError(
            "this is a NumPy archive (.npz)",
            path=name,
            remedy="Load it with scipy.sparse.load_npz or numpy.load and give the matrix or the pairs to blockmix.",
        )
    if len(members) != 1:
        listed = ", ".join(readable(entry) for entry in names[:5]) or "none"
        raise GraphFormatError(
            f"a zip archive must hold one file, and this one has {len(members)} ({listed})",
            path=name,
            remedy="Unpack it and name the file with the links.",
        )
    if members[0].flag_bits & 1:
        raise GraphFormatError("the zip archive is encrypted", path=name, remedy="Unpack it first.")
    return archive.open(members[0])


def describe_damage(error: BaseException) -> str | None:
    """Return what is wrong with a compressed file, in words, if the error comes from unpacking one."""
    if isinstance(error, EOFError):
        return "is cut short"
    if isinstance(error, lzma.LZMAError) and "memory" in str(error).lower():
        return f"asks for more than {MOST_WINDOW >> 20} MiB of memory to unpack"
    known = (zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)
    if isinstance(error, known) or type(error).__name__ == "ZstdError":
        return f"is damaged ({error})"
    if isinstance(error, OSError) and error.errno is None and not isinstance(error, InputError):
        # bz2 has no error of its own.
        return f"is damaged ({error})"
    return None
