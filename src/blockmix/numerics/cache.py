"""Compiled kernels on disk with a checksum: a damaged file is noticed, named and written anew.

numba keeps an index of each kernel and one file for each of its signatures, and loads machine code from them as it is.
A changed bit there is an exception that says nothing, a crash, or a wrong number. Here every file ends with the SHA-256
of what is before it; a file that does not match counts as missing, and the kernel is compiled again. So does a file of
another version of blockmix that names types which this one does not have. The checksum tells damage and nothing else:
whoever can write to the cache can run code (SECURITY.md).
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeVar

from numba.core.caching import IndexDataCacheFile

from blockmix.files import reason

_Kernel = TypeVar("_Kernel")
# numba has no types here.
_CacheFile: Any = IndexDataCacheFile
_DIGEST_BYTES = hashlib.sha256().digest_size
# Files of this name end with a checksum; those that other versions of blockmix wrote are left alone.
_SUFFIX = "-sha256"
# What reading a file raises that names a module, or a type in one, that is gone since it was written.
_UNKNOWN_TYPES = (ImportError, AttributeError)


class CheckedFile(_CacheFile):  # type: ignore[misc]
    """The index and the files of one kernel; each is compared with its checksum before numba loads it."""

    def load(self, key: Any) -> Any:
        """Return what was saved under this key; None where it is missing or damaged."""
        overloads = self._load_index()
        name = overloads.get(key)
        if name is None or not self._whole(self._data_path(name)):
            return None
        try:
            return super().load(key)
        except _UNKNOWN_TYPES:
            return None

    def save(self, key: Any, data: Any) -> None:
        """Save a compiled kernel; where that fails it is compiled again by the next process."""
        try:
            super().save(key, data)
        except OSError as error:
            warnings.warn(
                f"{self._index_path}: the compiled kernel cannot be kept ({reason(error)}); "
                "it will be compiled again next time",
                RuntimeWarning,
                stacklevel=2,
            )

    def _load_index(self) -> Any:
        """Return the signatures of the index; none where it is missing, damaged, or names what is no longer there."""
        if not self._whole(self._index_path):
            return {}
        try:
            return super()._load_index()
        except _UNKNOWN_TYPES:
            # numba reads the types before it compares versions: an earlier version called one of them something else.
            return {}

    def _whole(self, path: str) -> bool:
        """Return whether a file matches its checksum; one that does not is named in a warning and removed."""
        try:
            with open(path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return False
        if hashlib.sha256(data[:-_DIGEST_BYTES]).digest() == data[-_DIGEST_BYTES:]:
            return True
        warnings.warn(
            f"{path}: this file of the compile cache is damaged; its kernel is compiled again",
            RuntimeWarning,
            stacklevel=2,
        )
        os.unlink(path)
        return False

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[_Hashed]:
        with super()._open_for_write(filepath) as file:
            hashed = _Hashed(file)
            yield hashed
            file.write(hashed.digest.digest())


class _Hashed:
    """A file to write to that computes the checksum on the way."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)


def checked(compiled: _Kernel) -> _Kernel:
    """Let a kernel that is cached on disk compare its files with their checksums."""
    cache: Any = getattr(compiled, "_cache", None)
    # With NUMBA_DISABLE_JIT there is neither a kernel nor a cache.
    if cache is not None:
        impl = cache._impl
        cache._cache_file = CheckedFile(
            cache_path=cache.cache_path,
            filename_base=impl.filename_base + _SUFFIX,
            source_stamp=impl.locator.get_source_stamp(),
        )
    return compiled
