"""Local moving for the constant Potts model, in batches: every batch reads old parts and then moves at once.

A group moves to the part that raises links inside - resolution * pairs inside the most. The groups of a batch choose by
the parts as they are; what all of them chose is added up, in integers, and a group moves if that still helps when
everybody else who chose the same part has moved there. So the result depends on no order, and on no number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import exact_kernel, inlined_kernel, kernel
from blockmix.samplers.starts.potts.groups import Groups, Links, Table, clear, count_links, mixed

# A move must gain more than this: gains are sums of a few products of whole numbers with the resolution, each rounded.
LEAST_GAIN = 1e-9
# No rank is larger; the group that has this one is the first of a part only where it is the only one.
NOBODY = (1 << 32) - 1


class Turn(NamedTuple):
    """What a batch is moved by: groups in order of batches, the resolution, a salt for all that is random, the number
    of batches, and whether parts are named after groups, so that a group can leave for a part of its own."""

    order: NDArray[np.int32]
    resolution: float
    salt: int
    batches: int
    free: bool


class Parts(NamedTuple):
    """Where groups are: the part of each group and of each row, nodes of each part, and the groups to look at.

    `joining` and `first` are nodes that are about to join each part and the least rank among the groups that do; 0 and
    NOBODY between batches.
    """

    of_group: NDArray[np.int32]
    of_row: NDArray[np.int32]
    sizes: NDArray[np.signedinteger]
    active: NDArray[np.uint8]
    joining: NDArray[np.signedinteger]
    first: NDArray[np.uint32]


class Choices(NamedTuple):
    """What each group of a batch chose: a part or -1, its links there, and what staying is worth."""

    part: NDArray[np.int32]
    links: NDArray[np.int64]
    stay: NDArray[np.float64]

    def between(self, begin: int, end: int) -> Choices:
        """Return the choices begin .. end - 1: views, not copies."""
        return Choices(self.part[begin:end], self.links[begin:end], self.stay[begin:end])


@exact_kernel
def worth(links: int, resolution: float, size: int, others: int) -> float:
    """Compute links - resolution * size * others: what a group of `size` nodes adds to a part of `others` more."""
    return links - resolution * (np.float64(size) * np.float64(others))


@inlined_kernel
def rounded_up(value: float) -> np.float32:
    """Return the least number of 32 bits that is not below a value."""
    near = np.float32(value)
    return np.nextafter(near, np.float32(np.inf)) if np.float64(near) < value else near


@kernel
def measure(
    begin: int, end: int, resolution: float, fresh: np.ndarray, groups: Groups, links: Links, table: Table
) -> None:
    """Count the links inside of new groups; bring the bounds up to date of those that may move at this resolution."""
    for g in range(begin, end):
        if not (fresh[g] or groups.bound[g] > resolution):
            continue
        count = count_links(g, groups, links, groups.of_row, table)
        own, bound = 0, 0.0
        for t in range(count):
            place = table.used[t]
            other = table.parts[place]
            if other == g:
                own = table.links[place]
            else:
                pairs = np.float64(groups.sizes[g]) * np.float64(groups.sizes[other])
                bound = max(bound, table.links[place] / pairs)
        clear(count, table)
        groups.bound[g] = rounded_up(bound)
        if fresh[g]:
            groups.own[g] = own
            inside = own // 2
            for m in range(groups.first[g], groups.first[g + 1]):
                inside += links.inside[groups.members[m]]
            groups.inside[g] = inside


@kernel
def choose(
    begin: int, end: int, turn: Turn, groups: Groups, links: Links, parts: Parts, table: Table, choices: Choices
) -> None:  # fmt: skip
    """Let the active groups turn.order[begin:end] choose a part; the first of the choices is that of the first."""
    for i in range(begin, end):
        g = turn.order[i]
        choices.part[i - begin] = -1
        parts.active[g] = 0
        if groups.bound[g] <= turn.resolution:
            continue
        count = count_links(g, groups, links, parts.of_row, table)
        home, size = parts.of_group[g], groups.sizes[g]
        at_home = -groups.own[g]
        for t in range(count):
            if table.parts[table.used[t]] == home:
                at_home += table.links[table.used[t]]
        stay = worth(at_home, turn.resolution, size, parts.sizes[home] - size)
        best, best_links, most = -1, 0, stay + LEAST_GAIN
        for t in range(count):
            place = table.used[t]
            part = table.parts[place]
            if part == home:
                continue
            value = worth(table.links[place], turn.resolution, size, parts.sizes[part])
            if value > most or (
                value == most and best >= 0 and mixed(part, turn.salt) < mixed(best, turn.salt)
            ):
                best, best_links, most = part, table.links[place], value
        clear(count, table)
        if turn.free and most < 0.0 and parts.sizes[home] > size and parts.sizes[g] == 0:
            best, best_links = g, 0
        if turn.free and best >= 0 and _would_swap(g, best, turn, groups, parts):
            parts.active[g] = 1
            continue
        choices.part[i - begin] = best
        choices.links[i - begin] = best_links
        choices.stay[i - begin] = stay


@kernel
def _would_swap(g: int, part: int, turn: Turn, groups: Groups, parts: Parts) -> bool:
    """Say whether a lone group waits: it wants to join another one of its batch, which may want the same."""
    alone = parts.sizes[parts.of_group[g]] == groups.sizes[g]
    lone = parts.of_group[part] == part and parts.sizes[part] == groups.sizes[part]
    if not (alone and lone):
        return False
    mine, other = mixed(g, turn.salt), mixed(part, turn.salt)
    return bool(mine % turn.batches == other % turn.batches and other > mine)


@kernel
def agree(begin: int, end: int, turn: Turn, groups: Groups, parts: Parts, choices: Choices) -> int:
    """Move the groups turn.order[begin:end] to the parts they chose where that still helps; return how many moved.

    Of those that chose a part, the one of the least rank moves in any case; the others if they gain when all join it.
    """
    for i in range(begin, end):
        part = choices.part[i - begin]
        if part >= 0:
            g = turn.order[i]
            parts.joining[part] += groups.sizes[g]
            parts.first[part] = min(parts.first[part], mixed(g, turn.salt))
    moved = 0
    for i in range(begin, end):
        part = choices.part[i - begin]
        if part < 0:
            continue
        g = turn.order[i]
        size = groups.sizes[g]
        others = parts.sizes[part] + parts.joining[part] - size
        gained = worth(choices.links[i - begin], turn.resolution, size, others) - choices.stay[i - begin]
        if gained <= LEAST_GAIN and parts.first[part] != mixed(g, turn.salt):
            choices.part[i - begin] = -2 - part
            parts.active[g] = 1
    for i in range(begin, end):
        part = choices.part[i - begin]
        if part == -1:
            continue
        g = turn.order[i]
        chosen = part if part >= 0 else -2 - part
        parts.joining[chosen] = 0
        parts.first[chosen] = NOBODY
        if part >= 0:
            parts.sizes[parts.of_group[g]] -= groups.sizes[g]
            parts.sizes[part] += groups.sizes[g]
            parts.of_group[g] = part
            moved += 1
    return moved


@kernel
def relabel(begin: int, end: int, turn: Turn, groups: Groups, parts: Parts, choices: Choices) -> None:
    """Give the rows of the groups that moved their new part."""
    for i in range(begin, end):
        part = choices.part[i - begin]
        if part >= 0:
            g = turn.order[i]
            for m in range(groups.first[g], groups.first[g + 1]):
                parts.of_row[groups.members[m]] = part


@kernel
def wake(
    begin: int, end: int, turn: Turn, groups: Groups, links: Links, parts: Parts, choices: Choices
) -> None:
    """Make the groups active that are linked to a group that moved and are in another part than it."""
    for i in range(begin, end):
        part = choices.part[i - begin]
        if part < 0:
            continue
        g = turn.order[i]
        for m in range(groups.first[g], groups.first[g + 1]):
            row = groups.members[m]
            for j in range(links.offsets[row], links.offsets[row + 1]):
                other = links.neighbors[j]
                if parts.of_row[other] != part:
                    parts.active[groups.of_row[other]] = 1
