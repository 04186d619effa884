"""Groups of the nodes of a network, links between them counted exactly: what local moving works on.

A group is a list of rows of a network. Its links to other groups are found by going through the links of its rows, so
that a coarser network need not be stored. Where groups have become few, `merged_network` makes one row of each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_kernel, kernel

# The table of a worker has this many places at least; it is twice as large as the number of parts a group can touch.
LEAST_PLACES = 16


class Links(NamedTuple):
    """A weighted network in rows: `weights[i & mask]` links to `neighbors[i]`, so that mask 0 makes every weight the
    same. `inside` are the links inside every row, where a row stands for several nodes, in the type that all numbers of
    links of groups have."""

    offsets: NDArray[np.int64]
    neighbors: NDArray[np.integer]
    weights: NDArray[np.int32]
    mask: int
    inside: NDArray[np.signedinteger]


class Groups(NamedTuple):
    """Groups of rows: the rows of group g are `members[first[g]:first[g + 1]]`, the group of row a is `of_row[a]`.

    `sizes` are nodes, `inside` links inside, `own` entries of the rows of a group that lead into it again. `bound`
    is at least the largest share of linked pairs that the group has with any other: at resolutions from there on it
    stays where it is. Where every row is a group, arrays with the same numbers are one: `members` is `of_row`.
    """

    members: NDArray[np.int32]
    first: NDArray[np.int32]
    of_row: NDArray[np.int32]
    sizes: NDArray[np.signedinteger]
    inside: NDArray[np.signedinteger]
    own: NDArray[np.signedinteger]
    bound: NDArray[np.float32]


class Table(NamedTuple):
    """Links of one group by part, in a hash table: -1 is a free place; `used` lists the places that are not."""

    parts: NDArray[np.int32]
    links: NDArray[np.int64]
    used: NDArray[np.int32]


def new_table(parts: int) -> Table:
    """Return an empty table with space for so many parts."""
    places = LEAST_PLACES
    while places < 2 * parts:
        places *= 2
    return Table(
        np.full(places, -1, dtype=np.int32),
        np.zeros(places, dtype=np.int64),
        np.empty(places, dtype=np.int32),
    )


@inlined_kernel
def mixed(number: int, salt: int) -> int:
    """Return a number from 0 to 2^32 - 1 that looks random; different numbers below 2^32 give different ones."""
    x = (number ^ salt) & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    return x ^ (x >> 16)


@kernel
def count_links(group: int, groups: Groups, links: Links, part_of: np.ndarray, table: Table) -> int:
    """Add up the links of a group to every part, `part_of` being the part of each row; return the number of parts.

    The places of the parts are in `table.used`, in the order in which they are met. `clear` empties the table.
    """
    begin, end = groups.first[group], groups.first[group + 1]
    entries = 0
    for m in range(begin, end):
        row = groups.members[m]
        entries += links.offsets[row + 1] - links.offsets[row]
    last = LEAST_PLACES - 1
    most = table.parts.shape[0] - 1
    while last < 2 * entries and last < most:
        last = 2 * last + 1
    count = 0
    for m in range(begin, end):
        row = groups.members[m]
        stop = links.offsets[row + 1]
        for i in range(links.offsets[row], stop):
            part = part_of[links.neighbors[i]]
            place = (part * 0x9E3779B1 >> 7) & last
            while table.parts[place] != part and table.parts[place] >= 0:
                place = (place + 1) & last
            if table.parts[place] < 0:
                table.parts[place] = part
                table.used[count] = place
                count += 1
            table.links[place] += links.weights[i & links.mask]
    return count


@inlined_kernel
def clear(count: int, table: Table) -> None:
    """Empty a table in which so many places are used."""
    for t in range(count):
        place = table.used[t]
        table.parts[place] = -1
        table.links[place] = 0
