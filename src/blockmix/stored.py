"""Arrays from a folder that somebody else may have made, checked before anything uses them.

Every array has a checksum in the manifest of its folder. It tells a damaged file from a whole one, and nothing about
who wrote it. Kernels check nothing: an index out of range would read or write memory that is not theirs. So whatever
is read from a folder is checked once, when it is read: that it is a plain file of one array with this checksum, its
type, byte order, dimensions and size, and the range of its entries. Every check raises `Damaged` with the name of the
array and what is wrong.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from blockmix.files import Damaged, open_plain

# A name of an array in a manifest: no part of a path, no control characters.
_NAME = re.compile(r"[A-Za-z0-9_]{1,80}")
# What an array may hold where its type is not known beforehand.
NUMBERS = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
# The header of an .npy file names a type and a shape; a longer one is not one of ours.
_LONGEST_HEADER = 4096
# The entries of an .npy file begin at a multiple of so many bytes; NumPy itself takes 64.
_ALIGNED = 16
# Bytes of entries that are read at once, for checksum and checks: few enough to stay in the cache between them.
_AT_ONCE = 1 << 18
# Bytes of which the checksum is computed in one call.
_HASHED_AT_ONCE = 1 << 20
# Threads that compute checksums and check entries.
_HASHED_BESIDE = 4

# Types without a sign, by their size.
_WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
# A check of a part of an array: the place of its first entry, and its entries.
PartCheck = Callable[[int, NDArray[Any]], None]
# What a manifest says of each file: {"sha256": ..., "bytes": ...}.
Files = dict[str, dict[str, Any]]


def check_name(name: object) -> str:
    """Return the name of an array in a manifest; one that could lead out of its folder is refused."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Damaged(f"{name!r:.80} is not the name of an array")
    return name


class _Hashed:
    """A file to write to that computes the checksum on the way."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest, self.bytes = file, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        self.digest.update(data)
        self.bytes += len(data)
        return self._file.write(data)


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> Files:
    """Write each array to a file of its own, in the byte order of all manifests; return their checksums."""
    files: Files = {}
    for name, array in arrays.items():
        little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
        with open(folder / f"{name}.npy", "wb") as file:
            hashed = _Hashed(file)
            np.save(hashed, little.reshape(array.shape), allow_pickle=False)
        files[name] = {"sha256": hashed.digest.hexdigest(), "bytes": hashed.bytes}
    return files


def check_files(files: object) -> Files:
    """Return what a manifest says of its files; anything else than names with checksum and size is refused."""
    if not isinstance(files, dict) or not all(
        isinstance(entry, dict) and entry.keys() == {"sha256", "bytes"} and isinstance(entry["bytes"], int)
        for entry in files.values()
    ):
        raise Damaged("the manifest has no checksums of its files")
    return files


def file_entry(path: Path) -> dict[str, Any]:
    """Return the checksum and the size of a file."""
    with open_plain(path) as file:
        return {"sha256": _digest(file), "bytes": file.tell()}


def _digest(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := file.read(_HASHED_AT_ONCE):
        digest.update(block)
    return digest.hexdigest()


def _check_size(name: str, file: BinaryIO, entry: Mapping[str, Any]) -> None:
    size = os.fstat(file.fileno()).st_size
    if size != entry["bytes"]:
        raise Damaged(f"{name}: it does not match its checksum: {size:,} bytes of {entry['bytes']:,}")


def _compare(name: str, found: str, entry: Mapping[str, Any]) -> None:
    """Refuse a file that is not the one that was written."""
    if found != entry["sha256"]:
        raise Damaged(f"{name}: it does not match its checksum")


class _Pass:
    """One pass over a mapped file: its checksum, and the checks of its entries, part by part.

    A part is checked right after the checksum has read it, while it is in the cache of the processor: the way from
    memory takes longer than most checks.
    """

    def __init__(self, name: str, mapped: NDArray[np.uint8], entry: Mapping[str, Any]) -> None:
        self.name, self.entry, self.mapped = name, entry, mapped
        # Known when the header has been read: until then there are no entries.
        self.array: NDArray[Any] = mapped[len(mapped) :]
        self.checks: list[PartCheck] = []


def _run(one: _Pass) -> tuple[str, Damaged | None]:
    """Return the checksum of a file, and what the first check that failed found in it."""
    digest, damage = hashlib.sha256(one.mapped[: len(one.mapped) - one.array.nbytes].data), None
    for begin, part in _parts(one.array):
        digest.update(part.view(np.uint8).data)
        try:
            for check in one.checks if damage is None else ():
                check(begin, part)
        except Damaged as error:
            damage = error
    return digest.hexdigest(), damage


class Checksums:
    """Compares mapped files with their checksums on other threads, and checks their entries in the same pass.

    Use it in a `with` block. All passes are made at its end. A file that does not match its checksum is the error that
    counts, also where a check of its content, which may not rely on checksums, has failed before.
    """

    def __init__(self) -> None:
        self._passes: list[_Pass] = []

    def compare(self, name: str, mapped: NDArray[np.uint8], entry: Mapping[str, Any]) -> _Pass:
        """Compare a file that is mapped into memory with what its manifest says of it; return the pass over it."""
        self._passes.append(_Pass(name, mapped, entry))
        return self._passes[-1]

    def pass_over(self, array: NDArray[Any]) -> _Pass | None:
        """Return the pass in which this array will be read as a whole, if there is one."""
        return next((one for one in self._passes if _is_same(one.array, array)), None)

    def __enter__(self) -> Checksums:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, Exception):
            return
        pool = ThreadPoolExecutor(_HASHED_BESIDE, thread_name_prefix="blockmix-checksum")
        try:
            # The largest first: no thread is then left with a long pass at the end.
            order = sorted(self._passes, key=lambda one: -one.array.nbytes)
            found = list(zip(order, pool.map(_run, order), strict=True))
            for one, (digest, _) in found:
                _compare(one.name, digest, one.entry)
            for _, (_, damage) in found:
                if damage is not None and error is None:
                    raise damage
        finally:
            pool.shutdown(cancel_futures=True)


def _is_same(stored: NDArray[Any], array: NDArray[Any]) -> bool:
    """Return whether an array is all entries of a stored one, in their order and of their type."""
    return (
        array.size == stored.size
        and array.dtype == stored.dtype
        and array.flags.c_contiguous
        and array.__array_interface__["data"] == stored.__array_interface__["data"]
    )


def read_array(
    path: Path,
    types: tuple[str, ...] = NUMBERS,
    entry: Mapping[str, Any] | None = None,
    mapped_by: Checksums | None = None,
) -> NDArray[Any]:
    """Return the array of an .npy file; its type must be one of `types`, as `dtype.str` has them.

    It is read, or mapped into memory where `mapped_by` is given, which then compares the checksum. The file must match
    its `entry` in the manifest, where there is one, and its size that of its header, so that what is allocated is
    what is there. Raises OSError where there is no such file.
    """
    with open_plain(path) as file:
        if entry is not None:
            _check_size(path.name, file, entry)
        size = os.fstat(file.fileno()).st_size
        # Mapped once, for the checksum and for what follows: pages are found once.
        mapped = (
            np.asarray(np.memmap(file, dtype=np.uint8, mode="r")) if mapped_by is not None and size else None
        )
        one_pass = None
        if entry is not None and mapped_by is not None and mapped is not None:
            one_pass = mapped_by.compare(path.name, mapped, entry)
        elif entry is not None:
            _compare(path.name, _digest(file), entry)
        file.seek(0)
        dtype, shape = _read_header(path.name, file, types)
        begin, entries = file.tell(), math.prod(shape)
        if size - begin != entries * dtype.itemsize:
            raise Damaged(
                f"{path.name} cannot be read: it has {size - begin:,} bytes of entries, and its shape {shape} needs "
                f"{entries * dtype.itemsize:,}"
            )
        if mapped is not None and entries:
            array: NDArray[Any] = mapped[begin:].view(dtype)
            if one_pass is not None:
                one_pass.array = array
        else:
            array = np.fromfile(file, dtype=dtype, count=entries)
    return array.reshape(shape)


def _read_header(name: str, file: BinaryIO, types: tuple[str, ...]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the type and the shape of an .npy file that is open at its beginning."""
    try:
        major, _ = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file, max_header_size=_LONGEST_HEADER)
    except Exception as error:
        # The header is a Python literal, and what parsing a crafted one raises is not documented.
        raise Damaged(f"{name} cannot be read: it has no header of an array ({error})") from None
    if dtype.hasobject or dtype.str not in types:
        expected = "numbers" if types is NUMBERS else " or ".join(types)
        raise Damaged(f"{name} holds the type {dtype.str}, not {expected}")
    if fortran and len(shape) > 1:
        raise Damaged(f"{name} is stored by columns")
    if any(length < 0 for length in shape):
        raise Damaged(f"{name} has the shape {shape}")
    # Kernels are compiled for entries at multiples of their size; all that write such files see to that.
    if file.tell() % _ALIGNED:
        raise Damaged(
            f"{name} cannot be read: its entries begin at byte {file.tell()}, not at a multiple of {_ALIGNED}"
        )
    return dtype, shape


def check_layout(
    arrays: Mapping[str, NDArray[Any]], expected: Mapping[str, tuple[Any, tuple[int, ...]]]
) -> None:
    """Refuse arrays of which one is missing or has another type or shape than expected; -1 is any length."""
    for name, (dtype, shape) in expected.items():
        if name not in arrays:
            raise Damaged(f"the array {name} is missing")
        array = arrays[name]
        fits = len(array.shape) == len(shape) and all(
            n in (-1, m) for m, n in zip(array.shape, shape, strict=True)
        )
        if array.dtype != np.dtype(dtype) or not fits:
            raise Damaged(
                f"{name} is {array.dtype} of the shape {array.shape}, not {np.dtype(dtype)} of {shape}"
            )


def _parts(array: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    flat, entries = array.reshape(-1), _AT_ONCE // array.itemsize
    for begin in range(0, len(flat), entries):
        yield begin, flat[begin : begin + entries]


def _largest_word(array: NDArray[Any]) -> int:
    """Return the largest of the entries, each read as bits without a sign; 0 where there are none.

    A number below zero, an infinity and what is not a number all are above every allowed one then, so that one pass
    shows whether all entries are inside a range that begins at zero.
    """
    return int(np.maximum.reduce(array.reshape(-1).view(_WORDS[array.itemsize]), initial=0))


def _check_parts(array: NDArray[Any], check: PartCheck, sums: Checksums | None) -> None:
    """Check an array part by part: when its checksum is computed, where it is long and that is to come, or else now."""
    one_pass = None if sums is None or array.nbytes < _AT_ONCE else sums.pass_over(array)
    if one_pass is not None:
        one_pass.checks.append(check)
        return
    for begin, part in _parts(array):
        check(begin, part)


def check_range(
    name: str, array: NDArray[Any], end: int, least: int = 0, sums: Checksums | None = None
) -> None:
    """Refuse integers outside least .. end - 1; with `sums`, in the pass over their file."""
    by_words = least == 0 and end <= np.iinfo(array.dtype).max

    def check(begin: int, part: NDArray[Any]) -> None:
        if by_words and _largest_word(part) < end:
            return
        if part.max() >= end or part.min() < least:
            at = int(np.argmax((part < least) | (part >= end)))
            raise Damaged(f"{name}: entry {begin + at} is {part[at]}, outside {least} .. {end - 1}")

    _check_parts(array, check, sums)


def check_finite(
    name: str,
    array: NDArray[Any],
    least: float = -np.inf,
    most: float = np.inf,
    sums: Checksums | None = None,
) -> None:
    """Refuse numbers that are not finite or outside least .. most; with `sums`, in the pass over their file."""
    largest = -1
    if array.dtype.kind == "f" and least == 0.0:
        # Floats from zero on are in the order of their bits. A minus zero is not: it is compared as a number.
        largest = _largest_word(
            np.array([np.finfo(array.dtype).max if most == np.inf else most], dtype=array.dtype)
        )

    def check(begin: int, part: NDArray[Any]) -> None:
        if largest >= 0 and _largest_word(part) <= largest:
            return
        low, high = part.min(), part.max()
        if not (np.isfinite(low) and np.isfinite(high) and low >= least and high <= most):
            at = int(np.argmax(~((part >= least) & (part <= most) & np.isfinite(part))))
            raise Damaged(f"{name}: entry {begin + at} is {part[at]}, not a number of {least:g} .. {most:g}")

    _check_parts(array, check, sums)


def check_offsets(name: str, offsets: NDArray[Any], end: int) -> None:
    """Refuse offsets that do not rise from 0 to `end`."""
    rises = len(offsets) and offsets[0] == 0 and offsets[-1] == end
    # Compared, not subtracted: a difference of crafted numbers could overflow.
    if not rises or not (offsets[1:] >= offsets[:-1]).all():
        raise Damaged(f"{name} does not fit its entries: it must rise from 0 to {end}")
