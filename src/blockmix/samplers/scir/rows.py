"""Rows of slots: reading a node's memberships into the local lists, writing them back, and the sums kept of them.

The local lists in `Scratch` hold the communities that one update looks at: first those in the node's slots, then
those of its neighbours, then births.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.samplers.scir.frame import (
    EXPOSURE,
    LINKS_INSIDE,
    MEMBERS,
    MEMBERS_SQUARED,
    Batch,
    Frame,
    Node,
    Scratch,
)
from blockmix.tables.layout import FIXED_POINT, Index, Rows, Strengths


@inlined_lean_kernel
def add_local(k: Index, phi: float, pi: float, at: int, scratch: Scratch) -> None:
    """Append community k to the local lists."""
    scratch.position[k] = at
    scratch.community[at] = k
    scratch.phi[at] = phi
    scratch.pi[at] = pi
    scratch.gain[at] = 0.0
    scratch.near[at] = 0.0
    scratch.near_squared[at] = 0.0


@inlined_lean_kernel
def load_row(rows: Rows, place: int, scratch: Scratch) -> int:
    """Copy the node's slots to the local lists; returns how many there are."""
    slots = rows.words.shape[1] // 2
    total = np.float64(rows.total[place])
    count = 0
    for j in range(slots):
        k = rows.words[place, 2 * j]
        if k < 0:
            break
        pi = np.float64(rows.weights[place, 2 * j + 1])
        add_local(k, pi * total, pi, count, scratch)
        count += 1
    return count


@inlined_lean_kernel
def weight_in(b: int, k: Index, rows: Rows) -> float:
    """Return pi_bk, which is 0 unless the row of b has community k."""
    for j in range(rows.words.shape[1] // 2):
        if rows.words[b, 2 * j] == k:
            return np.float64(rows.weights[b, 2 * j + 1])
        if rows.words[b, 2 * j] < 0:
            break
    return 0.0


@inlined_lean_kernel
def leave_out(b: int, rows: Rows, scratch: Scratch) -> None:
    """Add what b weighs in the local communities to the sums over those that are no non-neighbours."""
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        at = scratch.position[k]
        if at >= 0:
            pi_b = np.float64(rows.weights[b, 2 * j + 1])
            scratch.near[at] += pi_b
            scratch.near_squared[at] += pi_b * pi_b


@inlined_lean_kernel
def leave_out_hidden(node: Node, frame: Frame, scratch: Scratch) -> None:
    """Count held-out partners with the neighbours that (S3) leaves out: they are no non-neighbours either."""
    network = frame.network
    for i in range(network.hidden_offsets[node.place], network.hidden_offsets[node.place + 1]):
        leave_out(network.hidden_neighbors[i], frame.rows, scratch)


@inlined_lean_kernel
def leave_sums(own: int, scratch: Scratch, statistics: np.ndarray) -> None:
    """Take the node's old memberships out of the sums over nodes."""
    for at in range(own):
        k, pi = scratch.community[at], scratch.pi[at]
        statistics[k, MEMBERS] -= np.int64(pi * FIXED_POINT)
        statistics[k, MEMBERS_SQUARED] -= np.int64(pi * pi * FIXED_POINT)


@inlined_lean_kernel
def gather_statistics(own: int, strengths: Strengths, scratch: Scratch, statistics: np.ndarray) -> float:
    """(S6) Add this node's half of the pairs inside each of its communities; returns that of the links."""
    leave_sums(own, scratch, statistics)
    inside = 0.0
    for at in range(own):
        k = scratch.community[at]
        pi = scratch.pi[at]
        links = 0.5 * pi * strengths.value[k] * scratch.gain[at]
        inside += links
        statistics[k, LINKS_INSIDE] += np.int64(links * FIXED_POINT)
        statistics[k, EXPOSURE] += np.int64(0.5 * pi * scratch.exposure[at] * FIXED_POINT)
    return inside


@inlined_lean_kernel
def write_row(kept: int, at: int, fresh: Rows, scratch: Scratch, statistics: np.ndarray) -> None:
    """Store the new memberships and add them to the sums over nodes."""
    total = 0.0
    for j in range(kept):
        total += scratch.phi[j]
    fresh.total[at] = total
    for j in range(kept):
        pi = np.float32(scratch.phi[j] / total)
        k = scratch.community[j]
        fresh.words[at, 2 * j] = k
        fresh.weights[at, 2 * j + 1] = pi
        statistics[k, MEMBERS] += np.int64(np.float64(pi) * FIXED_POINT)
        statistics[k, MEMBERS_SQUARED] += np.int64(np.float64(pi) * np.float64(pi) * FIXED_POINT)
    if kept < fresh.words.shape[1] // 2:
        fresh.words[at, 2 * kept] = -1


@lean_kernel
def commit_range(begin: int, end: int, batch: Batch, rows: Rows, fresh: Rows) -> None:
    """Copy a batch's new rows into the table, once every worker has finished reading the old ones."""
    for i in range(begin, end):
        place = batch.first + i * batch.stride
        rows.total[place] = fresh.total[i]
        for j in range(rows.words.shape[1]):
            rows.words[place, j] = fresh.words[i, j]


@lean_kernel
def sum_members(rows: Rows, sums: np.ndarray) -> None:
    """Add the memberships of all rows, and their squares, to the sums over nodes."""
    for place in range(rows.words.shape[0]):
        for j in range(rows.words.shape[1] // 2):
            k = rows.words[place, 2 * j]
            if k < 0:
                break
            pi = np.float64(rows.weights[place, 2 * j + 1])
            sums[k, MEMBERS] += np.int64(pi * FIXED_POINT)
            sums[k, MEMBERS_SQUARED] += np.int64(pi * pi * FIXED_POINT)


@lean_kernel
def merge_members(statistics: np.ndarray, sums: np.ndarray, members: np.ndarray) -> None:
    """Add the workers' changes of S_k and Q_k to the running sums, and give these as float64."""
    for k in range(len(sums)):
        for column in range(2):
            for worker in range(len(statistics)):
                sums[k, column] += statistics[worker, k, column]
                statistics[worker, k, column] = 0
            members[k, column] = sums[k, column] / FIXED_POINT
