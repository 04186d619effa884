"""The halo of a process: rows of other processes that it reads, ghosts, and its own rows that others read.

After each batch the new rows of that batch are sent, used slots only: a message is a list of rows, each its number of
used slots, its total, and so many pairs (community, weight). Sender and receiver go through the same nodes in the order
of their names.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Comm
from blockmix.engines.shards import Part
from blockmix.numerics.compile import kernel
from blockmix.numerics.prefetch import prefetch_row
from blockmix.tables.layout import Rows

# Words of a packed row beside its slots.
HEAD = 2
# Rows are asked for so many places ahead: each is a cache miss, and several are on their way at once.
AHEAD = 16


class Partner(NamedTuple):
    """What goes between this process and one other after a batch: places of the rows to send, and of those to come."""

    rank: int
    send: NDArray[np.int64]
    receive: NDArray[np.int64]


class Halo:
    """Who reads what: `partners[batch]` has an entry for every rank to send to or to receive from."""

    def __init__(self, partners: list[list[Partner]]) -> None:
        self.partners = partners

    @classmethod
    def of(cls, part: Part, comm: Comm) -> Halo:
        """Agree with all other ranks on what is sent after each batch."""
        shard = part.shard
        assert shard.starts is not None
        batches, ghosts = len(shard.starts) - 1, shard.names[shard.own :].astype(np.int64)
        wanted = [np.flatnonzero(part.owners == rank) for rank in range(comm.size)]
        asked = comm.swap([ghosts[which] for which in wanted])
        own = shard.names[: shard.own].astype(np.int64)
        by_name = np.argsort(own)
        partners: list[list[Partner]] = [[] for _ in range(batches)]
        for rank in range(comm.size):
            places = by_name[np.searchsorted(own, asked[rank], sorter=by_name)]
            for batch in range(batches):
                send = places[asked[rank] % batches == batch]
                receive = shard.own + wanted[rank][ghosts[wanted[rank]] % batches == batch]
                if len(send) or len(receive):
                    partners[batch].append(Partner(rank, send, receive))
        return cls(partners)

    @property
    def rows_sent(self) -> int:
        """How many rows are sent in a sweep; one that several ranks read counts for each."""
        return sum(len(partner.send) for batch in self.partners for partner in batch)


def message(rows: int, words: int) -> NDArray[np.int32]:
    """Allocate a message of so many rows, each of so many words."""
    return np.empty(rows * (HEAD + words), dtype=np.int32)


@kernel
def pack_rows(places: np.ndarray, words: np.ndarray, total: np.ndarray, out: np.ndarray) -> int:
    """Write the used slots of some rows one after the other; return how many words there are. `total` is in bits."""
    at = 0
    for i in range(len(places)):
        if i + AHEAD < len(places):
            prefetch_row(words, places[i + AHEAD])
            prefetch_row(total, places[i + AHEAD])
        place = places[i]
        head = at
        at += HEAD
        used = 0
        while used < words.shape[1] // 2 and words[place, 2 * used] >= 0:
            out[at], out[at + 1] = words[place, 2 * used], words[place, 2 * used + 1]
            at += 2
            used += 1
        out[head], out[head + 1] = used, total[place, 0]
    return at


@kernel
def unpack_rows(places: np.ndarray, packed: np.ndarray, words: np.ndarray, total: np.ndarray) -> None:
    """Write packed rows into the table, at these places."""
    at = 0
    for i in range(len(places)):
        if i + AHEAD < len(places):
            prefetch_row(words, places[i + AHEAD])
            prefetch_row(total, places[i + AHEAD])
        place = places[i]
        used = packed[at]
        total[place, 0] = packed[at + 1]
        at += HEAD
        for word in range(2 * used):
            words[place, word] = packed[at + word]
        at += 2 * used
        if 2 * used < words.shape[1]:
            words[place, 2 * used] = -1


def bits(rows: Rows) -> NDArray[np.int32]:
    """Return the totals of rows as the words that they are stored in, one a row."""
    return rows.total.view(np.int32).reshape(-1, 1)
