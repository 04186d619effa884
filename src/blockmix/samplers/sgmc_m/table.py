"""Rows of unequal length: the listed communities of each node, and one value for all the others.

Row a is the block of `count[a]` entries (community, phi) that begins at `start[a]`. Its first `active[a]` entries are
the active set, largest first; the others are the candidates. Every community that is not in the row has phi
`bulk[a]`, and `total[a]` is the sum over all K. A block has unused entries; a row that outgrows its block moves to the
end of the pool, and when the pool is full all rows are packed again into one that is large enough. So memory is
proportional to the number of listed communities, and no array of nodes times communities exists.

A mini-batch reads old rows and writes new ones to the buffers of its workers; `store_rows` then copies them to the
table. The position of a row has no influence on any result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.files import Damaged
from blockmix.numerics.compile import lean_kernel
from blockmix.stored import check_finite, check_layout, check_range
from blockmix.tables.layout import Rows, empty_rows


class SplitRows(NamedTuple):
    """Rows of all nodes, see the module's text; `used` is how many entries of the pool belong to rows."""

    start: NDArray[np.int64]
    capacity: NDArray[np.int32]
    count: NDArray[np.int32]  # type: ignore[assignment]  # tuple.count, which is never called
    active: NDArray[np.int32]
    bulk: NDArray[np.float64]
    total: NDArray[np.float64]
    community: NDArray[np.int32]
    phi: NDArray[np.float32]
    used: NDArray[np.int64]


class Fresh(NamedTuple):
    """New rows of a mini-batch: where each begins in its worker's buffers, and what else a row has."""

    start: NDArray[np.int64]
    count: NDArray[np.int32]  # type: ignore[assignment]
    active: NDArray[np.int32]
    bulk: NDArray[np.float64]
    total: NDArray[np.float64]


class Buffer(NamedTuple):
    """Entries of the new rows that one worker has made, and how many there are."""

    community: NDArray[np.int32]
    phi: NDArray[np.float32]
    used: NDArray[np.int64]


def new_fresh(nodes: int) -> Fresh:
    """Allocate arrays for the new rows of a mini-batch of so many nodes."""
    return Fresh(
        np.zeros(nodes, dtype=np.int64),
        np.zeros(nodes, dtype=np.int32),
        np.zeros(nodes, dtype=np.int32),
        np.zeros(nodes),
        np.zeros(nodes),
    )


def new_buffer(entries: int) -> Buffer:
    """Return an empty buffer."""
    return Buffer(
        np.empty(entries, dtype=np.int32), np.empty(entries, dtype=np.float32), np.zeros(1, np.int64)
    )


def larger_buffer(buffer: Buffer, entries: int) -> Buffer:
    """Return the same entries with space for twice as many and `entries` more."""
    larger, used = new_buffer(2 * len(buffer.community) + entries), int(buffer.used[0])
    larger.community[:used], larger.phi[:used] = buffer.community[:used], buffer.phi[:used]
    larger.used[0] = used
    return larger


def table_of(
    count: NDArray[np.int32],
    active: NDArray[np.int32],
    bulk: NDArray[np.float64],
    total: NDArray[np.float64],
    community: NDArray[np.int32],
    phi: NDArray[np.float32],
) -> SplitRows:
    """Return a table made from rows stored one after the other, each with unused entries behind it."""
    entries = np.array([len(community)], dtype=np.int64)
    packed = SplitRows(starts(count), count, count, active, bulk, total, community, phi, entries)
    return with_capacity(packed, 0)


def check_split_rows(arrays: Mapping[str, NDArray[Any]], nodes: int, communities: int) -> None:
    """Refuse arrays of a checkpoint that are not rows of this table, one after the other."""
    entries = len(arrays["community"]) if "community" in arrays and arrays["community"].ndim else 0
    layout: dict[str, Any] = {
        "count": (np.int32, (nodes,)), "active": (np.int32, (nodes,)), "bulk": (np.float64, (nodes,)),
        "total": (np.float64, (nodes,)), "community": (np.int32, (entries,)), "phi": (np.float32, (entries,)),
    }  # fmt: skip
    check_layout(arrays, layout)
    check_range("count", arrays["count"], communities + 1)
    check_range("community", arrays["community"], communities)
    for name in ("bulk", "total", "phi"):
        check_finite(name, arrays[name], 0.0)
    if arrays["count"].sum(dtype=np.int64) != entries or (arrays["active"] > arrays["count"]).any():
        raise Damaged("the rows do not add up: count, active and community differ")
    check_range("active", arrays["active"], communities + 1)
    row = np.repeat(np.arange(nodes), arrays["count"])
    order = np.lexsort((arrays["community"], row))
    same = (np.diff(row[order]) == 0) & (np.diff(arrays["community"][order]) == 0)
    if same.any():
        raise Damaged("community: a row names a community twice")


def starts(lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return where rows of these lengths begin, one after the other."""
    ends = np.cumsum(lengths, dtype=np.int64)
    return ends - lengths


def packed_entries(table: SplitRows) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the communities and phi of all rows one after the other, without the unused entries between them."""
    size = int(table.count.sum(dtype=np.int64))
    community, phi = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.float32)
    copy_rows(table, starts(table.count), community, phi)
    return community, phi


@lean_kernel
def capacity_of(count: int) -> int:
    """Return the capacity of a row of this length."""
    return count + count // 4 + 2


def with_capacity(table: SplitRows, extra: int) -> SplitRows:
    """Return the same rows in a new pool, each with unused entries behind it, and at least `extra` free at its end."""
    capacity = (table.count + table.count // 4 + 2).astype(np.int32)
    start, taken = starts(capacity), int(capacity.sum(dtype=np.int64))
    size = taken + taken // 8 + extra
    community, phi = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.float32)
    copy_rows(table, start, community, phi)
    return table._replace(
        start=start, capacity=capacity, community=community, phi=phi, used=np.array([taken])
    )


@lean_kernel
def copy_rows(table: SplitRows, start: np.ndarray, community: np.ndarray, phi: np.ndarray) -> None:
    """Copy every row to the place given by `start`."""
    for a in range(len(start)):
        for j in range(table.count[a]):
            community[start[a] + j] = table.community[table.start[a] + j]
            phi[start[a] + j] = table.phi[table.start[a] + j]


@lean_kernel
def entries_wanted(count: int, nodes: np.ndarray, fresh: Fresh, table: SplitRows) -> int:
    """Return how many entries of the pool are needed by new rows that have outgrown their blocks."""
    wanted = 0
    for i in range(count):
        if fresh.count[i] > table.capacity[nodes[i]]:
            wanted += capacity_of(fresh.count[i])
    return wanted


@lean_kernel
def store_rows(
    begin: int,
    end: int,
    nodes: np.ndarray,
    fresh: Fresh,
    buffer: Buffer,
    table: SplitRows,
    represented: np.ndarray,
) -> None:
    """Copy the new rows [begin, end) of a mini-batch to the table, which has the entries wanted.

    `represented` counts the nodes that a community is active in.
    """
    for i in range(begin, end):
        a, count = nodes[i], fresh.count[i]
        move_active(-1, table.start[a], table.active[a], table.community, represented)
        if count > table.capacity[a]:
            table.start[a] = table.used[0]
            table.capacity[a] = capacity_of(count)
            table.used[0] += table.capacity[a]
        to, source = table.start[a], fresh.start[i]
        for j in range(count):
            table.community[to + j] = buffer.community[source + j]
            table.phi[to + j] = buffer.phi[source + j]
        table.count[a], table.active[a] = count, fresh.active[i]
        table.bulk[a], table.total[a] = fresh.bulk[i], fresh.total[i]
        move_active(1, to, table.active[a], table.community, represented)


@lean_kernel
def move_active(change: int, start: int, active: int, community: np.ndarray, represented: np.ndarray) -> None:
    """Add a row's active communities to the counts (+1), or subtract them (-1)."""
    for i in range(start, start + active):
        represented[community[i]] += change


@lean_kernel
def count_active(table: SplitRows, represented: np.ndarray) -> None:
    """Count in how many nodes each community is active, from the rows."""
    represented[:] = 0
    for a in range(len(table.count)):
        move_active(1, table.start[a], table.active[a], table.community, represented)


def list_all(table: SplitRows, communities: int) -> SplitRows:
    """Return the same rows with every community listed and active, in order, and nothing in the bulk."""
    nodes = len(table.count)
    phi = np.repeat(table.bulk.astype(np.float32), communities)
    write_listed_into(table, communities, phi)
    every = np.full(nodes, communities, dtype=np.int32)
    ids = np.tile(np.arange(communities, dtype=np.int32), nodes)
    return table_of(every, every.copy(), np.zeros(nodes), table.total, ids, phi)


@lean_kernel
def write_listed_into(table: SplitRows, communities: int, phi: np.ndarray) -> None:
    """Write the listed communities of node a to their places in phi[a K : (a + 1) K]."""
    for a in range(len(table.count)):
        for i in range(table.start[a], table.start[a] + table.count[a]):
            phi[a * communities + table.community[i]] = table.phi[i]


def memory_ratio(table: SplitRows, communities: int) -> float:
    """(A11) Return (|A| + |C| + 1)/K, the mean over nodes: stored values of phi over those of full rows."""
    stored = int(table.count.sum(dtype=np.int64)) + len(table.bulk)
    return stored / (len(table.count) * communities)


@lean_kernel
def list_unrepresented(represented: np.ndarray, pool: np.ndarray) -> int:
    """List the communities that are active nowhere, in increasing order; returns how many."""
    found = 0
    for k in range(len(represented)):
        if represented[k] == 0:
            pool[found] = k
            found += 1
    return found


def largest_entries(table: SplitRows, slots: int, communities: int) -> Rows:
    """Return rows of the `slots` largest listed communities of every node; the bulk is left out.

    Their weights are pi_ak, so a row sums to one less the membership in the bulk and in entries beyond `slots`.
    """
    rows = empty_rows(len(table.count), slots)
    write_largest(table, slots, np.empty(communities, dtype=np.int32), rows)
    return rows


@lean_kernel
def write_largest(table: SplitRows, slots: int, order: np.ndarray, rows: Rows) -> None:
    """Copy the largest entries of every row, largest first."""
    for a in range(len(table.count)):
        start, count = table.start[a], table.count[a]
        sort_entries(table.phi[start : start + count], count, order)
        total = table.total[a]
        rows.total[a] = total
        for j in range(min(count, slots)):
            rows.words[a, 2 * j] = table.community[start + order[j]]
            rows.weights[a, 2 * j + 1] = np.float64(table.phi[start + order[j]]) / total


@lean_kernel
def sort_entries(phi: np.ndarray, count: int, order: np.ndarray) -> None:
    """Compute the order that has phi[:count] largest first, by Shell's method with the gaps of Ciura (2001).

    In place and without allocation; rows are nearly sorted already, where this is about one pass.
    """
    for i in range(count):
        order[i] = i
    for gap in (1750, 701, 301, 132, 57, 23, 10, 4, 1):
        for i in range(gap, count):
            moving = order[i]
            j = i
            while j >= gap and phi[order[j - gap]] < phi[moving]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = moving
