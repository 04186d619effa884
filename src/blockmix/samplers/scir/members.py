"""The members of every community, listed in the order of nodes: exact sums over non-links go through them.

The members among a batch of nodes are listed again when the batch has moved: listing all costs the same once a sweep,
however many batches there are. A network that is swept node by node has one list a community, long enough for every
node, in which a node is moved to and fro. The order is that of nodes in either case, whatever happened before: sums
then have the same bits after a run is resumed.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.samplers.scir.frame import Batch, MemberLists
from blockmix.tables.layout import Index, Rows


def empty_lists(communities: int, batches: int, nodes: int, slots: int) -> MemberLists:
    """Allocate lists for batches of nodes. What is reserved beyond need is never touched, so it costs nothing."""
    most = batches * (-(-nodes // batches)) * slots
    return MemberLists(
        np.empty(most, dtype=np.int32), np.empty(most, dtype=np.float32),
        np.zeros((communities, batches), dtype=np.int64), np.zeros((communities, batches), dtype=np.int32),
    )  # fmt: skip


def empty_single_lists(communities: int, nodes: int) -> MemberLists:
    """Allocate one list a community, with space for every node."""
    lists = empty_lists(communities, 1, nodes, communities)
    lists.begin[:, 0] = nodes * np.arange(communities)
    return lists


@lean_kernel
def list_members(number: int, batch: Batch, count: int, rows: Rows, lists: MemberLists) -> None:
    """List the members among the nodes of batch `number`, which has `count` of them, anew."""
    size, begin, slots = lists.size, lists.begin, rows.words.shape[1] // 2
    for k in range(len(size)):
        size[k, number] = 0
    for i in range(count):
        place = batch.first + i * batch.stride
        for j in range(slots):
            k = rows.words[place, 2 * j]
            if k < 0:
                break
            size[k, number] += 1
    at = number * (len(lists.place) // size.shape[1])
    for k in range(len(size)):
        begin[k, number] = at
        at += size[k, number]
        size[k, number] = 0
    for i in range(count):
        place = batch.first + i * batch.stride
        for j in range(slots):
            k = rows.words[place, 2 * j]
            if k < 0:
                break
            at = begin[k, number] + size[k, number]
            lists.place[at], lists.weight[at] = place, rows.weights[place, 2 * j + 1]
            size[k, number] += 1


@lean_kernel
def list_single(rows: Rows, lists: MemberLists) -> None:
    """Fill the single lists of all communities."""
    for k in range(len(lists.size)):
        lists.size[k, 0] = 0
    for place in range(len(rows.total)):
        enter(place, rows, lists)


@inlined_lean_kernel
def leave(place: int, rows: Rows, lists: MemberLists) -> None:
    """Take a node out of the single lists of the communities in its row."""
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[place, 2 * j]
        if k < 0:
            break
        at, end = lists.begin[k, 0], lists.begin[k, 0] + lists.size[k, 0] - 1
        while lists.place[at] != place:
            at += 1
        while at < end:
            lists.place[at], lists.weight[at] = lists.place[at + 1], lists.weight[at + 1]
            at += 1
        lists.size[k, 0] -= 1


@inlined_lean_kernel
def enter(place: int, rows: Rows, lists: MemberLists) -> None:
    """Put a node into the single lists of the communities in its row, in the order of nodes."""
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[place, 2 * j]
        if k < 0:
            break
        at = lists.begin[k, 0] + lists.size[k, 0]
        while at > lists.begin[k, 0] and lists.place[at - 1] > place:
            lists.place[at], lists.weight[at] = lists.place[at - 1], lists.weight[at - 1]
            at -= 1
        lists.place[at], lists.weight[at] = place, rows.weights[place, 2 * j + 1]
        lists.size[k, 0] += 1


@inlined_lean_kernel
def members_of(k: Index, lists: MemberLists) -> int:
    """Return the number of members of a community."""
    count = 0
    for batch in range(lists.size.shape[1]):
        count += lists.size[k, batch]
    return count


@inlined_lean_kernel
def member_at(k: Index, rank: Index, lists: MemberLists) -> int:
    """Return the entry of the member of k with this rank, by batches."""
    batch = 0
    while rank >= lists.size[k, batch]:
        rank -= lists.size[k, batch]
        batch += 1
    return int(lists.begin[k, batch] + rank)
