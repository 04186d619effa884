"""Places for nodes in the plane: links pull, all nodes repel each other, a weak force keeps them together.

The force of a link grows with its length and its weight, that of repulsion is one over the distance, as in
ForceAtlas2 (Jacomy et al. 2014). Repulsion is summed node by node only within a grid cell and the eight around
it; a cell further away acts as one body at its centre of mass, so a round costs far less than N^2. Nothing
here is random but the start, which comes from the caller: the same start gives the same picture.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import kernel

Floats = NDArray[np.float64]

ROUNDS = 300
# Cells a side at most where discs are pushed apart.
_MOST_CELLS = 160
# Pull towards the centre, for every unit of distance; weaker along x, for pictures wider than they are tall.
_GRAVITY = (0.09, 0.13)
# Length of the longest move in the first and the last round, in shares of the picture.
_HOT, _COLD = 0.06, 0.0005
_NEAREST = 1e-3


class Grid(NamedTuple):
    """Nodes sorted by the cell they lie in, and the mass and centre of every cell."""

    side: int
    cell: NDArray[np.int64]
    begin: NDArray[np.int64]
    nodes: NDArray[np.int64]
    mass: Floats
    centre: Floats


def force_layout(
    links: NDArray[Any], weight: Floats, start: Floats, *, mass: Floats | None = None, rounds: int = ROUNDS
) -> Floats:
    """Move nodes from `start` (n x 2) until forces balance; `links` are pairs of rows of it.

    `mass` is how strongly a node repels others, 1 where it is not given.
    """
    place = np.array(start, dtype=np.float64)
    if len(place) < 2:
        return place
    mass = np.ones(len(place)) if mass is None else mass
    ends = np.ascontiguousarray(links, dtype=np.int64)
    span = float(np.sqrt(mass.sum() / _GRAVITY[0]))
    place *= 0.5 * span / max(float(np.abs(place - place.mean(axis=0)).max()), 1e-9)
    force = np.empty_like(place)
    for heat in np.geomspace(_HOT, _COLD, rounds):
        place -= np.average(place, axis=0, weights=mass)
        grid = make_grid(place, mass)
        _repel(place, mass, grid, force)
        _pull(place, ends, weight, force)
        force -= place * np.array(_GRAVITY) * mass[:, None]
        length = np.linalg.norm(force, axis=1, keepdims=True)
        place += force * (np.minimum(length / mass[:, None], heat * span) / np.maximum(length, 1e-12))
    return place


def push_apart(place: Floats, radius: Floats, gap: float, rounds: int = 60) -> Floats:
    """Move discs that overlap away from each other until they are `gap` apart, or rounds are over."""
    place = np.array(place, dtype=np.float64)
    if len(place) < 2:
        return place
    move = np.empty_like(place)
    reach = 2.0 * float(radius.max()) + gap
    for _ in range(rounds):
        grid = make_grid(place, np.ones(len(place)), reach)
        _separate(place, radius, gap, grid, move)
        if not np.abs(move).max() > 1e-3 * gap:
            break
        place += move
    return place


def make_grid(place: Floats, mass: Floats, reach: float = 0.0) -> Grid:
    """Sort the nodes into a square grid; with `reach` its cells are at least so wide, and as many as can be."""
    low = place.min(axis=0)
    width = max(float((place.max(axis=0) - low).max()), 1e-9)
    # With s cells a side a node meets s^2 cells and the 9N/s^2 nodes around it: least work at s^4 = 9N.
    side = max(1, int((9.0 * len(place)) ** 0.25))
    if reach > 0:
        side = max(1, min(_MOST_CELLS, int(width / reach)))
    cells = np.minimum((place - low) * (side / width), side - 1).astype(np.int64)
    cell = cells[:, 1] * side + cells[:, 0]
    nodes = np.argsort(cell, kind="stable")
    begin = np.zeros(side * side + 1, dtype=np.int64)
    np.cumsum(np.bincount(cell, minlength=side * side), out=begin[1:])
    total: Floats = np.bincount(cell, mass, side * side).astype(np.float64)
    centre = np.column_stack([np.bincount(cell, mass * place[:, i], side * side) for i in (0, 1)])
    return Grid(side, cell, begin, nodes, total, centre / np.maximum(total, 1e-12)[:, None])


@kernel
def _repel(place: Floats, mass: Floats, grid: Grid, force: Floats) -> None:
    """Compute the repulsion m_a m_b / d of every node: exact from the cells around it, lumped from others."""
    side, cell, begin, nodes, cell_mass, centre = grid
    for a in range(place.shape[0]):
        x, y = place[a, 0], place[a, 1]
        row, column = cell[a] // side, cell[a] % side
        fx, fy = 0.0, 0.0
        for r in range(side):
            for s in range(side):
                c = r * side + s
                if cell_mass[c] <= 0.0:
                    continue
                if abs(r - row) > 1 or abs(s - column) > 1:
                    dx, dy = x - centre[c, 0], y - centre[c, 1]
                    push = cell_mass[c] / max(dx * dx + dy * dy, _NEAREST * _NEAREST)
                    fx += dx * push
                    fy += dy * push
                    continue
                for i in range(begin[c], begin[c + 1]):
                    b = nodes[i]
                    if b == a:
                        continue
                    dx, dy = x - place[b, 0], y - place[b, 1]
                    if dx == 0.0 and dy == 0.0:
                        # Two nodes on one spot part along x, the first to the left.
                        dx = _NEAREST if a > b else -_NEAREST
                    push = mass[b] / max(dx * dx + dy * dy, _NEAREST * _NEAREST)
                    fx += dx * push
                    fy += dy * push
        force[a, 0] = fx * mass[a]
        force[a, 1] = fy * mass[a]


@kernel
def _pull(place: Floats, links: NDArray[np.int64], weight: Floats, force: Floats) -> None:
    """Add the pull of every link, its weight times its length, to both ends."""
    for e in range(links.shape[0]):
        a, b = links[e, 0], links[e, 1]
        for i in range(2):
            pull = weight[e] * (place[b, i] - place[a, i])
            force[a, i] += pull
            force[b, i] -= pull


@kernel
def _separate(place: Floats, radius: Floats, gap: float, grid: Grid, move: Floats) -> None:
    """Compute half of what each disc has to move to be clear of its neighbours; cells are wider than any reach."""
    side, cell, begin, nodes = grid.side, grid.cell, grid.begin, grid.nodes
    for a in range(place.shape[0]):
        move[a, 0] = 0.0
        move[a, 1] = 0.0
        row, column = cell[a] // side, cell[a] % side
        for r in range(max(row - 1, 0), min(row + 2, side)):
            for c in range(max(column - 1, 0), min(column + 2, side)):
                for i in range(begin[r * side + c], begin[r * side + c + 1]):
                    b = nodes[i]
                    if b == a:
                        continue
                    dx, dy = place[a, 0] - place[b, 0], place[a, 1] - place[b, 1]
                    distance = np.sqrt(dx * dx + dy * dy)
                    overlap = radius[a] + radius[b] + gap - distance
                    if overlap > 0.0:
                        if distance == 0.0:
                            dx = _NEAREST if a > b else -_NEAREST
                            distance = _NEAREST
                        move[a, 0] += 0.4 * overlap * dx / distance
                        move[a, 1] += 0.4 * overlap * dy / distance
