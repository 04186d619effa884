"""What the kernels read besides arguments: `Frame` and other groups of eight-byte fields, as the source has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# The fields of `struct Frame` in source/frame.cu, in its order: p for pointers, i for integers, f for floats.
FRAME = (
    ("offsets", "p"), ("neighbors", "p"), ("hidden_offsets", "p"), ("hidden_neighbors", "p"), ("rows", "p"),
    ("total", "p"), ("fresh", "p"), ("fresh_total", "p"), ("sums", "p"), ("change", "p"), ("pairs", "p"),
    ("measured", "p"), ("value", "p"), ("strength_total", "p"), ("expansion", "p"), ("links", "p"), ("non_links", "p"),
    ("nodes", "i"), ("communities", "i"), ("alpha_unlinked", "f"), ("alpha_linked", "f"), ("smallest_unlinked", "f"),
    ("smallest_linked", "f"), ("cut", "f"), ("weight", "f"), ("low", "i"), ("high", "i"), ("sweep", "i"),
    ("first", "i"), ("stride", "i"), ("background", "f"),
)  # fmt: skip
# `struct Work` in source/redraw.cu.
WORK = (
    ("order", "p"), ("count", "p"), ("next", "p"), ("grab", "i"), ("left", "p"), ("left_count", "p"), ("scratch", "p"),
    ("bytes", "i"), ("capacity", "i"), ("table", "i"), ("links", "i"), ("largest", "i"),
)  # fmt: skip
# `struct StrengthMove` in source/strengths.cu.
MOVE = tuple(
    (name, "f")
    for name in (
        "link_prior", "non_link_prior", "background_link_prior", "background_non_link_prior", "step", "adapt",
        "all_links", "all_non_links", "most_background",
    )
)  # fmt: skip
# `struct Running` in source/tables.cu.
RUNNING = (
    ("community", "p"), ("mean", "p"), ("deviation", "p"), ("lost", "p"), ("entries", "i"), ("samples", "f"),
)  # fmt: skip


def words_of(fields: tuple[tuple[str, str], ...], values: dict[str, Any]) -> NDArray[np.int64]:
    """Return a group as the eight-byte words of its fields; each field has a value, and no other is given."""
    if {name for name, _ in fields} != set(values):
        raise KeyError(f"fields of a group: {set(values).symmetric_difference(name for name, _ in fields)}")
    words = np.empty(len(fields), dtype=np.int64)
    for at, (name, kind) in enumerate(fields):
        value = values[name]
        if kind == "f":
            words[at : at + 1].view(np.float64)[0] = value
        else:
            words[at] = address(value) if kind == "p" else value
    return words


def address(array: Any) -> int:
    """Return where the memory of an array begins, on the host or on the device; 0 for None, an address as it is."""
    if array is None or isinstance(array, int):
        return array or 0
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)
