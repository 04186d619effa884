"""Fast local moving for the constant Potts model: the inner loop of the starting partition."""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import kernel


@kernel
def local_moves(
    offsets: np.ndarray, neighbors: np.ndarray, weights: np.ndarray, sizes: np.ndarray, resolution: float,
    order: np.ndarray, parts: np.ndarray,
) -> int:  # fmt: skip
    """Move nodes between parts while that raises links inside - resolution * pairs inside; return the number of moves.

    Nodes are in a queue; a node that moves puts its neighbours in other parts back into the queue (Traag, Waltman
    and van Eck 2019, fast local moving). `sizes` are the numbers of original nodes in each node of an aggregated
    network; an entry of a node with itself is ignored, since it moves along.
    """
    nodes = len(sizes)
    part_size = np.zeros(nodes)
    for a in range(nodes):
        part_size[parts[a]] += sizes[a]
    queue = order.copy()
    waiting = np.ones(nodes, dtype=np.bool_)
    links = np.zeros(nodes)
    touched = np.empty(nodes, dtype=np.int64)
    head, length, moves = 0, nodes, 0
    most = 20 * nodes
    while length > 0 and most > 0:
        most -= 1
        a = queue[head]
        head = head + 1 if head + 1 < nodes else 0
        length -= 1
        waiting[a] = False
        home = parts[a]
        count = 0
        for i in range(offsets[a], offsets[a + 1]):
            b = neighbors[i]
            if b != a:
                part = parts[b]
                if links[part] == 0.0:
                    touched[count] = part
                    count += 1
                links[part] += weights[i]
        part_size[home] -= sizes[a]
        best, gain = home, links[home] - resolution * sizes[a] * part_size[home]
        for t in range(count):
            part = touched[t]
            value = links[part] - resolution * sizes[a] * part_size[part]
            if value > gain + 1e-12:
                best, gain = part, value
        for t in range(count):
            links[touched[t]] = 0.0
        part_size[best] += sizes[a]
        if best == home:
            continue
        parts[a] = best
        moves += 1
        for i in range(offsets[a], offsets[a + 1]):
            b = neighbors[i]
            if not waiting[b] and parts[b] != best:
                tail = head + length
                queue[tail if tail < nodes else tail - nodes] = b
                length += 1
                waiting[b] = True
    return moves
