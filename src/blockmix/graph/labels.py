"""Node labels: what the user calls the nodes, kept from the file that was read to the results.

Three kinds, chosen by what came in, none of them a list of Python objects: the numbers 0..N-1 (nothing is
stored), 64-bit integers, or text kept as one UTF-8 buffer with offsets, so that labels can be memory-mapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError, readable

Label = int | str


@dataclass(frozen=True, eq=False)
class Labels:
    """An immutable sequence of node labels with a look-up from label to node.

    >>> names = Labels.of(["ann", "bob"])
    >>> names[1], names.index("ann"), len(names)
    ('bob', 0, 2)
    """

    count: int
    integers: NDArray[np.int64] | None = None
    text: NDArray[np.uint8] | None = None
    text_offsets: NDArray[np.int64] | None = None

    @classmethod
    def range(cls, count: int) -> Labels:
        """The labels 0, 1, ..., count-1."""
        return cls(count)

    @classmethod
    def of(cls, values: Sequence[Label] | NDArray[Any]) -> Labels:
        """Labels from integers or strings; anything else is turned into text by str()."""
        array = np.asarray(values) if not isinstance(values, np.ndarray) else values
        if array.dtype.kind in "iu" and array.size:
            if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
                return cls.from_text([str(v) for v in array.tolist()])
            integers = np.ascontiguousarray(array, dtype=np.int64)
            if np.array_equal(integers, np.arange(len(integers))):
                return cls(len(integers))
            return cls(len(integers), integers=integers)
        return cls.from_text([v if isinstance(v, str) else str(v) for v in values])

    @classmethod
    def from_text(cls, values: Sequence[str]) -> Labels:
        """Text labels, stored as one UTF-8 buffer."""
        encoded = [v.encode("utf-8") for v in values]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(e) for e in encoded], out=offsets[1:])
        return cls(len(encoded), text=np.frombuffer(b"".join(encoded), dtype=np.uint8), text_offsets=offsets)

    @property
    def kind(self) -> str:
        """'range', 'integer' or 'text'."""
        if self.text_offsets is not None:
            return "text"
        return "range" if self.integers is None else "integer"

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, node: int) -> Label:
        if not -self.count <= node < self.count:
            raise IndexError(f"node {node} is not among the {self.count} nodes")
        node = int(node) % self.count
        if self.text_offsets is not None and self.text is not None:
            return self.text[self.text_offsets[node] : self.text_offsets[node + 1]].tobytes().decode("utf-8")
        return node if self.integers is None else int(self.integers[node])

    def __iter__(self) -> Iterator[Label]:
        return (self[node] for node in range(self.count))

    @cached_property
    def _text_index(self) -> dict[str, int]:
        return {str(label): node for node, label in enumerate(self)}

    @cached_property
    def _integer_order(self) -> NDArray[np.int64]:
        assert self.integers is not None
        return np.argsort(self.integers, kind="stable")

    def index(self, label: Label) -> int:
        """The node with this label; an `InputError` names a label that is not in the network."""
        return int(self.indices([label])[0])

    def indices(self, labels: Sequence[Label] | NDArray[Any]) -> NDArray[np.int64]:
        """The nodes with these labels. Integer labels may be given as text and the other way round."""
        if self.kind == "text":
            index = self._text_index
            nodes = np.array([index.get(str(label), -1) for label in labels], dtype=np.int64)
        else:
            nodes = self._integer_indices(labels)
        if (nodes < 0).any():
            missing = labels[int(np.argmax(nodes < 0))]
            raise InputError(
                f"no node is labelled {readable(str(missing))}; use labels as they stand in the edge list"
            )
        return nodes

    def _integer_indices(self, labels: Sequence[Label] | NDArray[Any]) -> NDArray[np.int64]:
        try:
            wanted = np.asarray(labels).astype(np.int64)
        except (ValueError, TypeError, OverflowError):
            bad = next(v for v in labels if not _is_integer(v))
            raise InputError(
                f"no node is labelled {readable(str(bad))}: this network's labels are integers"
            ) from None
        if self.integers is None:
            return np.where((wanted >= 0) & (wanted < self.count), wanted, -1)
        order = self._integer_order
        ordered = self.integers[order]
        place = np.minimum(np.searchsorted(ordered, wanted), self.count - 1)
        return np.where(ordered[place] == wanted, order[place], -1)


def _is_integer(value: object) -> bool:
    try:
        int(value)  # type: ignore[call-overload]
    except (ValueError, TypeError):
        return False
    return True
