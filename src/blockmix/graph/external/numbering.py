"""What numbering nodes needs whatever their labels are: streams cut into parts that fit in memory, and joined again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.external.spill import Reader, Spill

Numbers = NDArray[np.int64]
# A part is named by a byte.
MOST_PARTS = 255
LABEL, WHICH, NUMBER = "label", "which", "number"


class Nodes(NamedTuple):
    """The nodes of a network: how many, what kind of labels, and what is odd about these.

    `control` is the first label with a control character, `odd_words` are labels that stand for no value or a sum,
    with their nodes.
    """

    total: int
    kind: str
    control: str | None = None
    odd_words: tuple[tuple[str, int], ...] = ()


def windows(reader: Reader, entries: int) -> Iterator[NDArray[np.generic]]:
    """Yield a stream in pieces of so many entries."""
    while reader.left:
        yield reader.take(entries)


def joined(spill: Spill, parts: int, entries: int) -> Iterator[Numbers]:
    """Yield the numbers of all labels in the order of the file, from those of the parts that the labels went to."""
    which = spill.reader(WHICH, np.uint8)
    numbers = [spill.reader((NUMBER, part), np.int64) for part in range(parts)]
    while which.left:
        owners = which.take(entries)
        found = np.empty(len(owners), dtype=np.int64)
        for part in np.unique(owners).tolist():
            mine = owners == part
            found[mine] = numbers[part].take(int(np.count_nonzero(mine)))
        yield found
