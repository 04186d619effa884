"""What is known about the nodes beside their links: one value of each attribute for every node.

An attribute is a number (NaN where it is missing) or text, which is kept as a list of the different values and a code
for every node (-1 where it is missing), so that a million nodes do not need a million Python objects.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError, readable
from blockmix.graph.labels import Labels

_PLAIN_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_MISSING = {"", "na", "nan", "n/a", "none", "null"}
_LONGEST_NUMBER = 40
# Columns of a node table that name the node for people, where labels are numbers or codes; the first that is there.
NAME_COLUMNS = ("name", "full name", "fullname", "node name", "nodename", "title")


@dataclass(frozen=True, eq=False)
class Attribute:
    """One value for every node: `numbers`, or `codes` into the texts `categories`."""

    numbers: NDArray[np.float64] | None = None
    codes: NDArray[np.int32] | None = None
    categories: Labels | None = None

    def __post_init__(self) -> None:
        for name in ("numbers", "codes"):
            if getattr(self, name) is not None:
                view = getattr(self, name).view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    @property
    def kind(self) -> str:
        """'number' or 'text'."""
        return "text" if self.numbers is None else "number"

    def __len__(self) -> int:
        return len(self.codes if self.numbers is None else self.numbers)  # type: ignore[arg-type]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each node has a value."""
        if self.numbers is not None:
            return ~np.isnan(self.numbers)
        assert self.codes is not None
        return np.asarray(self.codes >= 0)

    def __getitem__(self, node: int) -> float | str | None:
        if self.numbers is not None:
            value = float(self.numbers[node])
            return None if math.isnan(value) else value
        assert self.codes is not None
        assert self.categories is not None
        code = int(self.codes[node])
        return None if code < 0 else str(self.categories[code])

    def values(self) -> list[float | str | None]:
        """Return the value of every node, None where it is missing."""
        if self.numbers is not None:
            return [None if math.isnan(value) else value for value in self.numbers.tolist()]
        assert self.codes is not None
        assert self.categories is not None
        texts: list[Any] = [*map(str, self.categories), None]
        return [texts[code] for code in self.codes.tolist()]

    def as_text(self) -> Attribute:
        """Return the same attribute with numbers as texts: for numbers that are codes of categories."""
        if self.numbers is None:
            return self
        return _texts([None if v is None else f"{v:g}" for v in self.values()])

    @classmethod
    def of(cls, values: Iterable[Any]) -> Attribute:
        """Make an attribute of Python values: numbers if all are, or are written like, numbers; else text.

        >>> Attribute.of(["1", "2.5", ""]).values(), Attribute.of(["red", None, "007"]).values()
        ([1.0, 2.5, None], ['red', None, '007'])
        """
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiu" and values.ndim == 1:
            return cls(numbers=values.astype(np.float64))
        listed = [_plain(value) for value in values]
        numbers = [_number(value) for value in listed]
        if any(number is not None for number in numbers) and all(
            number is not None or value is None for number, value in zip(numbers, listed, strict=True)
        ):
            return cls(numbers=np.array([math.nan if n is None else n for n in numbers], dtype=np.float64))
        return _texts([None if value is None else str(value) for value in listed])


def _plain(value: Any) -> Any:
    """Return a value without NumPy's or pandas' kinds of missing."""
    if value is None or (isinstance(value, str) and value.strip().lower() in _MISSING):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    try:
        return None if bool(value != value) else value
    except (TypeError, ValueError):
        # pandas.NA is neither equal to itself nor different.
        return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1e308 else None
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER:
        text = value.strip()
        if _PLAIN_NUMBER.fullmatch(text):
            found = float(text)
            return found if math.isfinite(found) else None
    return None


def _texts(values: Sequence[str | None]) -> Attribute:
    numbers: dict[str, int] = {}
    codes = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    return Attribute(codes=np.array(codes, dtype=np.int32), categories=Labels.from_text(list(numbers)))


def _attribute(name: str, values: Any) -> Attribute:
    """Make an attribute of a column; what is no column of values is an error with its name."""
    dimensions = len(getattr(values, "shape", (0,)))
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping) or dimensions != 1:
        raise InputError(
            f"attribute {readable(name)} must be one value for each node, not {readable(str(values))}"
        )
    return Attribute.of(values)


@dataclass(frozen=True, eq=False)
class NodeTable(Mapping[str, Attribute]):
    """The attributes of the nodes of a network, by name; every one has a value, or a gap, for each node.

    >>> table = NodeTable.of({"club": ["a", "b", None], "age": [31, 42, 53]})
    >>> list(table), table["club"][1], table["age"].kind
    (['club', 'age'], 'b', 'number')
    """

    columns: dict[str, Attribute]
    n_nodes: int

    @classmethod
    def of(cls, columns: Mapping[str, Iterable[Any]], n_nodes: int | None = None) -> NodeTable:
        """Make a table of columns whose values are in the order of the nodes."""
        made = {str(name): _attribute(str(name), values) for name, values in columns.items()}
        count = n_nodes if n_nodes is not None else len(next(iter(made.values()), ()))
        for name, attribute in made.items():
            if len(attribute) != count:
                raise InputError(
                    f"attribute {readable(name)} has {len(attribute):,} values for {count:,} nodes"
                )
        return cls(made, count)

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self.columns[name]
        except KeyError:
            listed = ", ".join(map(readable, self.columns)) or "none"
            raise InputError(f"there is no attribute {readable(str(name))}; attributes: {listed}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} ({attribute.kind})" for name, attribute in self.columns.items())
        return f"NodeTable of {self.n_nodes:,} nodes: {listed}"

    def name_of(self, node: int, label: object) -> str:
        """Return what a node is called: the text of a column of names, with the label where others have the same name.

        >>> table = NodeTable.of({"Name": ["Ann", "Bo", "Bo", None]})
        >>> [table.name_of(node, label) for node, label in enumerate("wxyz")]
        ['Ann', 'Bo (x)', 'Bo (y)', 'z']
        """
        if self._names is None:
            return str(label)
        attribute, counts = self._names
        name = attribute[node]
        if name is None:
            return str(label)
        return str(name) if counts[attribute.codes[node]] == 1 else f"{name} ({label})"  # type: ignore[index]

    @cached_property
    def _names(self) -> tuple[Attribute, NDArray[np.int64]] | None:
        """The column of names, and how many nodes have each."""
        found = {" ".join(re.split(r"[\s_.-]+", name.strip().lower())): name for name in self.columns}
        for column in NAME_COLUMNS:
            attribute = self.columns.get(found.get(column, ""))
            if attribute is not None and attribute.codes is not None:
                return attribute, np.bincount(attribute.codes[attribute.codes >= 0])
        return None

    def taken(self, nodes: NDArray[np.int64]) -> NodeTable:
        """Return the table of some of the nodes, in this order."""
        made = {}
        for name, attribute in self.columns.items():
            if attribute.numbers is not None:
                made[name] = Attribute(numbers=attribute.numbers[nodes])
            elif attribute.codes is not None:
                made[name] = Attribute(codes=attribute.codes[nodes], categories=attribute.categories)
        return NodeTable(made, len(nodes))

    def rearranged(self, places: NDArray[np.int64], n_nodes: int) -> NodeTable:
        """Return the table of a network of `n_nodes` in which row i of this one is node places[i]."""
        made = {}
        for name, attribute in self.columns.items():
            if attribute.numbers is not None:
                numbers = np.full(n_nodes, np.nan)
                numbers[places] = attribute.numbers
                made[name] = Attribute(numbers=numbers)
            elif attribute.codes is not None:
                codes = np.full(n_nodes, -1, dtype=np.int32)
                codes[places] = attribute.codes
                made[name] = Attribute(codes=codes, categories=attribute.categories)
        return NodeTable(made, n_nodes)
