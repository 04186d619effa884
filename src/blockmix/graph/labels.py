"""Node labels: the names that the user gives to nodes, from the file that was read to the results.

Three kinds, chosen by what came in, none of them a list of Python objects: the numbers 0..N-1 (nothing is
stored), 64-bit integers, or text kept as one UTF-8 buffer with offsets, so that labels can be memory-mapped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError, readable

Label = int | str
_CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,18}")


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

    def __post_init__(self) -> None:
        for name in ("integers", "text", "text_offsets"):
            array = getattr(self, name)
            if array is not None:
                view = array.view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    @classmethod
    def range(cls, count: int) -> Labels:
        """Return the labels 0, 1, ..., count-1."""
        return cls(count)

    @classmethod
    def of(cls, values: Sequence[Label] | NDArray[Any]) -> Labels:
        """Make labels of integers or strings; turn anything else into text by str(). All must differ."""
        integers = _integers(values)
        if integers is None:
            return cls.from_text([v if isinstance(v, str) else str(v) for v in values])
        if np.array_equal(integers, np.arange(len(integers))):
            return cls(len(integers))
        ordered = np.sort(integers)
        if (ordered[1:] == ordered[:-1]).any():
            raise _twice(str(ordered[:-1][ordered[1:] == ordered[:-1]][0]))
        return cls(len(integers), integers=integers)

    @classmethod
    def from_text(cls, values: Sequence[str]) -> Labels:
        """Make text labels, stored as one UTF-8 buffer. All must differ."""
        if len(set(values)) < len(values):
            raise _twice(Counter(values).most_common(1)[0][0])
        encoded = [_encoded(v) for v in values]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(e) for e in encoded], out=offsets[1:])
        return cls(len(encoded), text=np.frombuffer(b"".join(encoded), dtype=np.uint8), text_offsets=offsets)

    @property
    def kind(self) -> str:
        """'range', 'integer' or 'text'."""
        if self.text_offsets is not None:
            return "text"
        return "range" if self.integers is None else "integer"

    def with_control(self) -> str | None:
        """Return the first label with a control character, such as a form feed; None where there is none."""
        blank = ord(" ")
        if self.text is None or self.text_offsets is None or self.text.min(initial=blank) >= blank:
            return None
        at = int(np.argmax(self.text < blank))
        return str(self[int(np.searchsorted(self.text_offsets, at, side="right")) - 1])

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, node: int) -> Label:
        if not -self.count <= node < self.count:
            raise IndexError(f"node {node} is not among the {self.count} nodes")
        node = int(node) % self.count
        if self.text_offsets is not None and self.text is not None:
            return self.text[self.text_offsets[node] : self.text_offsets[node + 1]].tobytes().decode("utf-8")
        return node if self.integers is None else int(self.integers[node])

    def take(self, nodes: Sequence[int] | NDArray[Any]) -> list[Label]:
        """Return the labels of many nodes at once.

        >>> Labels.of(["ann", "bob", "cem"]).take([2, 0])
        ['cem', 'ann']
        """
        wanted = np.asarray(nodes, dtype=np.int64)
        outside = (wanted < 0) | (wanted >= self.count)
        if outside.any():
            raise IndexError(f"node {wanted[outside][0]} is not among the {self.count} nodes")
        if self.text_offsets is None or self.text is None:
            return list(wanted.tolist() if self.integers is None else self.integers[wanted].tolist())
        text = self.text
        begins, ends = self.text_offsets[wanted].tolist(), self.text_offsets[wanted + 1].tolist()
        return [text[a:b].tobytes().decode("utf-8") for a, b in zip(begins, ends, strict=True)]

    def __iter__(self) -> Iterator[Label]:
        if self.text_offsets is not None and self.text is not None:
            text = self.text.tobytes()
            ends = self.text_offsets.tolist()
            return (text[a:b].decode("utf-8") for a, b in pairwise(ends))
        return iter(range(self.count) if self.integers is None else self.integers.tolist())

    @cached_property
    def _text_index(self) -> dict[str, int]:
        return {str(label): node for node, label in enumerate(self)}

    @cached_property
    def _integer_order(self) -> NDArray[np.int64]:
        assert self.integers is not None
        return np.argsort(self.integers, kind="stable")

    def index(self, label: Label) -> int:
        """Return the node with this label, or raise an `InputError` if there is none."""
        return int(self.indices([label])[0])

    def known(self, labels: Sequence[Label]) -> NDArray[np.bool_]:
        """Return which of these labels are labels of nodes.

        >>> Labels.of(["ann", "bob"]).known(["bob", "cem"]).tolist()
        [True, False]
        """
        if self.kind == "text":
            return np.array([str(label) in self._text_index for label in labels], dtype=np.bool_)
        spelled = [canonical_integer(str(label)) for label in labels]
        found = np.array([value is not None for value in spelled], dtype=np.bool_)
        whole = np.array([value for value in spelled if value is not None], dtype=np.int64)
        found[found] = self._integer_indices(whole) >= 0
        return found

    def indices(self, labels: Sequence[Label] | NDArray[Any]) -> NDArray[np.int64]:
        """Return the nodes with these labels. Integer labels may be given as text and the other way round."""
        if self.kind == "text":
            index = self._text_index
            nodes = np.array([index.get(str(label), -1) for label in labels], dtype=np.int64)
        else:
            nodes = self._integer_indices(labels)
        if (nodes < 0).any():
            missing = labels[int(np.argmax(nodes < 0))]
            raise InputError(
                f"no node is labelled {readable(str(missing))}; use labels as they are in the edge list"
            )
        return nodes

    def _integer_indices(self, labels: Sequence[Label] | NDArray[Any]) -> NDArray[np.int64]:
        wanted = np.asarray(labels)
        if wanted.dtype.kind != "i":
            wanted = np.array([_as_integer(label) for label in labels], dtype=np.int64)
        if self.integers is None:
            return np.where((wanted >= 0) & (wanted < self.count), wanted, -1)
        order = self._integer_order
        place = np.minimum(np.searchsorted(self.integers, wanted, sorter=order), self.count - 1)
        return np.where(self.integers[order[place]] == wanted, order[place], -1)


def _integers(values: Sequence[Label] | NDArray[Any]) -> NDArray[np.int64] | None:
    """Copy the values as 64-bit integers, or return None where they are none, do not fit or are no integers."""
    if len(values) == 0:
        return None
    if isinstance(values, np.ndarray) and values.dtype != object:
        fits = values.dtype.kind in "iu" and int(values.max()) <= np.iinfo(np.int64).max
        return np.array(values, dtype=np.int64) if fits else None
    if not all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in values):
        return None
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return None


def _twice(label: str) -> InputError:
    return InputError(f"the label {readable(label)} is given to two nodes; every node needs its own label")


def _encoded(label: str) -> bytes:
    try:
        return label.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"the label {readable(label)} is not valid Unicode text; remove its lone surrogates"
        ) from None


def _as_integer(label: object) -> int:
    """Return a label as a 64-bit integer: an integer, a whole float or the canonical spelling of an integer."""
    if isinstance(label, (int, np.integer)) and -(2**63) <= int(label) < 2**63:
        return int(label)
    if isinstance(label, (float, np.floating)) and float(label).is_integer() and abs(float(label)) < 2**53:
        return int(label)
    spelled = canonical_integer(label) if isinstance(label, str) else None
    if spelled is None:
        raise InputError(f"no node is labelled {readable(str(label))}: this network's labels are integers")
    return spelled


def canonical_integer(text: str) -> int | None:
    """Return the 64-bit integer this text spells in its one canonical way, or None: '007' and '+7' are names.

    >>> canonical_integer("-12"), canonical_integer("012"), canonical_integer(str(2**63))
    (-12, None, None)
    """
    if not _CANONICAL.fullmatch(text):
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None
