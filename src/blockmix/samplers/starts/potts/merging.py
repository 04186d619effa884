"""Groups of groups: parts become the groups of the next level, and where they are few, rows of a smaller network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.numerics.compile import kernel
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.potts.groups import Groups, Links, Table, clear, count_links

# Numbers of links of groups have 32 bits where the network has no more link ends than this.
MOST_SMALL = 2**31 - 1


def links_of(graph: Graph) -> Links:
    """Return the links of a network, all of weight one."""
    kind: type[np.signedinteger[Any]] = np.int32 if len(graph.neighbors) <= MOST_SMALL else np.int64
    inside = np.zeros(graph.n_nodes, dtype=kind)
    return Links(graph.offsets, graph.neighbors, np.ones(1, dtype=np.int32), 0, inside)


def weighted_links(
    offsets: NDArray[np.int64],
    neighbors: NDArray[Any],
    weights: NDArray[np.int32],
    inside: NDArray[np.signedinteger],
) -> Links:
    """Return a network with weights; read-only like a `Graph`, so that kernels are compiled once for both."""
    for array in (offsets, neighbors):
        array.flags.writeable = False
    return Links(offsets, neighbors, weights, -1, inside)


def single_groups(sizes: NDArray[np.signedinteger], links: Links, bound: NDArray[np.float32]) -> Groups:
    """Return one group for every row. Nothing is written into a group before it is merged, so arrays may be shared."""
    rows, first = np.arange(len(sizes), dtype=np.int32), np.arange(len(sizes) + 1, dtype=np.int32)
    # Rows that are single nodes have no links inside: the same zeros say that none leads back.
    own = links.inside if links.mask == 0 else np.zeros_like(links.inside)
    return Groups(rows, first, rows, sizes, links.inside, own, bound)


@kernel
def number_parts(part: np.ndarray, numbers: np.ndarray) -> int:
    """Replace the names of parts by 0, 1, ... in the order of their names; `numbers` has space for every name."""
    numbers[:] = 0
    for g in range(part.shape[0]):
        numbers[part[g]] = 1
    count = 0
    for p in range(numbers.shape[0]):
        if numbers[p]:
            numbers[p] = count
            count += 1
    for g in range(part.shape[0]):
        part[g] = numbers[part[g]]
    return count


@kernel
def sort_children(parents: np.ndarray, order: np.ndarray, first: np.ndarray) -> None:
    """Sort groups by their parent, by counting: the children of p are order[first[p]:first[p + 1]], in order."""
    first[:] = 0
    for g in range(parents.shape[0]):
        first[parents[g] + 1] += 1
    for p in range(1, first.shape[0]):
        first[p] += first[p - 1]
    for g in range(parents.shape[0]):
        p = parents[g]
        order[first[p]] = g
        first[p] += 1
    for p in range(first.shape[0] - 1, 0, -1):
        first[p] = first[p - 1]
    first[0] = 0


@kernel
def join_children(
    begin: int, end: int, order: np.ndarray, child: np.ndarray, old: Groups, new: Groups, fresh: np.ndarray
) -> None:
    """Fill the new groups [begin, end) from their children, order[child[p]:child[p + 1]]; `new.first` is set.

    The share of linked pairs with another group is no larger for a union than for the one of its members that has the
    largest: so a bound of the members is one of the group.
    """
    for p in range(begin, end):
        to, size, bound = new.first[p], 0, 0.0
        for c in range(child[p], child[p + 1]):
            g = order[c]
            size += old.sizes[g]
            bound = max(bound, old.bound[g])
            for m in range(old.first[g], old.first[g + 1]):
                row = old.members[m]
                new.members[to] = row
                new.of_row[row] = p
                to += 1
        new.sizes[p] = size
        new.bound[p] = bound
        fresh[p] = child[p + 1] - child[p] > 1
        if not fresh[p]:
            g = order[child[p]]
            new.inside[p] = old.inside[g]
            new.own[p] = old.own[g]


@kernel
def first_members(order: np.ndarray, child: np.ndarray, old: Groups, first: np.ndarray) -> None:
    """Set first[p] to the number of rows in all new groups before p."""
    first[0] = 0
    for p in range(child.shape[0] - 1):
        rows = 0
        for c in range(child[p], child[p + 1]):
            rows += old.first[order[c] + 1] - old.first[order[c]]
        first[p + 1] = first[p] + rows


def merged_groups(
    groups: Groups, parts: NDArray[np.int32], workers: Workers
) -> tuple[Groups, NDArray[np.int32], NDArray[np.uint8]]:
    """Make the parts of groups the new groups; return them, the new group of each group, and which have several.

    The new group of each group takes the place of its part.
    """
    parents = parts
    count = int(number_parts(parents, np.empty(len(parents), dtype=np.int32)))
    order, child = np.empty(len(parents), dtype=np.int32), np.empty(count + 1, dtype=np.int32)
    sort_children(parents, order, child)
    # Arrays of their own, since some are kept longer than others.
    inside, own = np.empty(count, dtype=groups.inside.dtype), np.empty(count, dtype=groups.own.dtype)
    new = Groups(
        np.empty_like(groups.members), np.empty(count + 1, dtype=np.int32), np.empty_like(groups.of_row),
        np.empty(count, dtype=groups.sizes.dtype), inside, own, np.empty(count, dtype=np.float32),
    )  # fmt: skip
    first_members(order, child, groups, new.first)
    fresh = np.empty(count, dtype=np.uint8)
    workers.share(count, lambda _, a, b: join_children(a, b, order, child, groups, new, fresh))
    return new, parents, fresh


@kernel
def count_neighbors(
    begin: int, end: int, groups: Groups, links: Links, table: Table, found: np.ndarray
) -> None:
    """Set found[g + 1] to the number of other groups that group g is linked to."""
    for g in range(begin, end):
        count = count_links(g, groups, links, groups.of_row, table)
        others = 0
        for t in range(count):
            others += table.parts[table.used[t]] != g
        clear(count, table)
        found[g + 1] = others


@kernel
def fill_rows(
    begin: int, end: int, groups: Groups, links: Links, table: Table,
    offsets: np.ndarray, neighbors: np.ndarray, weights: np.ndarray,
) -> None:  # fmt: skip
    """Write the links of the groups [begin, end) to other groups as rows of a network."""
    for g in range(begin, end):
        count = count_links(g, groups, links, groups.of_row, table)
        to = offsets[g]
        for t in range(count):
            place = table.used[t]
            if table.parts[place] != g:
                neighbors[to] = table.parts[place]
                weights[to] = table.links[place]
                to += 1
        clear(count, table)
