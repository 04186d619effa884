"""Sorting more words than fit in memory: sorted runs in a file, merged until one is left. Equal words become one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.external.spill import Reader, Spill
from blockmix.numerics.compile import checked_njit as njit

Words = NDArray[np.uint64]
# Words of a run that are read at once, at least: fewer would make the disk seek all the time.
_LEAST_READ = 1 << 12
# While runs are merged there are their heads, the words to give next, and these once more, sorted.
_COPIES = 3


class Sorter:
    """Takes unsigned words in any order and gives them sorted, each once; use it as a context manager.

    `memory` is in bytes; `least` words of each run are read at once. `runs` counts the runs that were written, and
    `passes` how often runs were merged into longer ones before the last merge.

    >>> with Sorter(Path(), 64) as sorter:
    ...     sorter.add(np.array([5, 3, 5, 1], dtype=np.uint64))
    ...     np.concatenate(list(sorter.merged())).tolist()
    [1, 3, 5]
    """

    def __init__(self, folder: Path, memory: int, least: int = _LEAST_READ) -> None:
        self._folder, self._least = folder, least
        self._most = max(memory // 8, 2)
        self._fan_in = max(self._most // (_COPIES * least), 2)
        self._buffer = np.empty(self._most, dtype=np.uint64)
        self._filled = 0
        self._spill: Spill | None = None
        self.runs = self.passes = 0

    def __enter__(self) -> Sorter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._spill is not None:
            self._spill.__exit__(None, None, None)

    def add(self, words: Words) -> None:
        """Take in words."""
        while len(words):
            space = self._buffer[self._filled : self._filled + len(words)]
            space[:] = words[: len(space)]
            self._filled += len(space)
            words = words[len(space) :]
            if self._filled == self._most:
                self._write_run()

    def _sorted(self) -> Words:
        full = self._buffer[: self._filled]
        full.sort()
        self._filled = 0
        return full[: drop_repeats(full)]

    def _write_run(self) -> None:
        if self._spill is None:
            self._spill = Spill(self._folder)
        self._spill.append((0, self.runs), self._sorted())
        self.runs += 1

    def merged(self) -> Iterator[Words]:
        """Yield all words in increasing order, each once, piece by piece."""
        if self._spill is None:
            # Everything is in memory.
            words = self._sorted()
            yield from (words[i : i + self._least] for i in range(0, len(words), self._least))
            return
        if self._filled:
            self._write_run()
        self._buffer = np.empty(0, dtype=np.uint64)
        names = [(0, run) for run in range(self.runs)]
        while len(names) > self._fan_in:
            names = self._merge_into_longer(names)
        yield from self._merge([self._spill.reader(name, np.uint64) for name in names])

    def _merge_into_longer(self, names: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Merge runs, as many at a time as memory allows, into a new file."""
        assert self._spill is not None
        self.passes += 1
        longer: list[tuple[int, int]] = []
        fresh = Spill(self._folder)
        try:
            for first in range(0, len(names), self._fan_in):
                group = names[first : first + self._fan_in]
                longer.append((self.passes, len(longer)))
                for words in self._merge([self._spill.reader(name, np.uint64) for name in group]):
                    fresh.append(longer[-1], words)
        except BaseException:
            fresh.__exit__(None, None, None)
            raise
        self._spill.__exit__(None, None, None)
        self._spill = fresh
        return longer

    def _merge(self, readers: list[Reader]) -> Iterator[Words]:
        """Merge sorted runs: what is not above the lowest of the last words read is next."""
        size = max(self._most // (_COPIES * len(readers)), 1)
        heads = [(reader.take(size), reader) for reader in readers]
        while heads := [(head, reader) for head, reader in heads if len(head)]:
            bound = min(head[-1] for head, _ in heads)
            cuts = [int(np.searchsorted(head, bound, side="right")) for head, _ in heads]
            words = np.concatenate([head[:cut] for (head, _), cut in zip(heads, cuts, strict=True)])
            heads = [
                (head[cut:] if cut < len(head) else reader.take(size), reader)
                for (head, reader), cut in zip(heads, cuts, strict=True)
            ]
            words.sort()
            yield words[: drop_repeats(words)]


@njit(cache=True, nogil=True)
def drop_repeats(words):  # type: ignore[no-untyped-def]
    """Keep one of equal neighbours of a sorted array, in place; return how many are left."""
    kept = 0
    for i in range(words.shape[0]):
        if i == 0 or words[i] != words[i - 1]:
            words[kept] = words[i]
            kept += 1
    return kept
