"""What the strengths need of the pairs, memberships held: links by where they are made, and events of non-links.

Both are drawn at the end of a sweep, when all nodes have moved. The place of a link is drawn once, from the end with
the smaller name; sums over non-links and events are taken from both ends, each at half their weight or rate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.purposes import DRAW_INSIDE
from blockmix.numerics.variates import uniform32
from blockmix.samplers.scir.frame import (
    CURVED,
    LINKS_INSIDE,
    MEMBERS,
    MEMBERS_SQUARED,
    OVERLAP,
    Frame,
    Node,
    Scratch,
    Work,
    node_at,
    random_words,
)
from blockmix.samplers.scir.indicators.events import draw_event, propose_events
from blockmix.samplers.scir.non_links import curved_rest
from blockmix.samplers.scir.rows import leave_out, load_row
from blockmix.tables.layout import FIXED_POINT


class PairEvents(NamedTuple):
    """Events of pairs: event e has the entries first[e] to first[e + 1] of (community, pi_ak, pi_bk)."""

    first: NDArray[np.int64]
    community: NDArray[np.int32]
    pi_a: NDArray[np.float64]
    pi_b: NDArray[np.float64]


def empty_events(events: int, slots: int) -> PairEvents:
    """Allocate arrays for so many events."""
    entries = events * slots
    return PairEvents(
        np.zeros(events + 1, dtype=np.int64), np.zeros(entries, dtype=np.int32), np.zeros(entries), np.zeros(entries)
    )  # fmt: skip


@inlined_lean_kernel
def draw_inside(b: int, word: np.uint32, frame: Frame, work: Work) -> None:
    """(N6) Draw where the link to b is made: inside k, with weight beta_k pi_ak pi_bk, or outside of all."""
    rows, value, scratch = frame.rows, frame.strengths.value, work.scratch
    slots = rows.words.shape[1] // 2
    inside, meet = 0.0, 0.0
    for j in range(slots):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        at = scratch.position[k]
        if at >= 0:
            overlap = scratch.pi[at] * np.float64(rows.weights[b, 2 * j + 1])
            meet += overlap
            inside += value[k] * overlap
    u = uniform32(word) * (inside + value[-1] * max(1.0 - meet, 0.0))
    if u >= inside:
        return
    chosen = -1
    for j in range(slots):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        at = scratch.position[k]
        if at >= 0:
            chosen = k
            u -= value[k] * scratch.pi[at] * np.float64(rows.weights[b, 2 * j + 1])
            if u < 0.0:
                break
    work.statistics[chosen, LINKS_INSIDE] += 1


@inlined_lean_kernel
def sum_near(node: Node, frame: Frame, scratch: Scratch) -> None:
    """Sum what neighbours and held-out partners weigh in the node's communities."""
    network = frame.network
    for i in range(network.offsets[node.place], network.offsets[node.place + 1]):
        leave_out(network.neighbors[i], frame.rows, scratch)
    for i in range(network.hidden_offsets[node.place], network.hidden_offsets[node.place + 1]):
        leave_out(network.hidden_neighbors[i], frame.rows, scratch)


@inlined_lean_kernel
def set_rest(own: int, frame: Frame, scratch: Scratch) -> None:
    """(N4) Set R_k and R2_k of the node's communities: sums over members that are neither neighbours nor held out."""
    for at in range(own):
        k, pi = scratch.community[at], scratch.pi[at]
        rest = max(frame.members[k, MEMBERS] - pi - scratch.near[at], 0.0)
        squares = frame.members[k, MEMBERS_SQUARED] - pi * pi - scratch.near_squared[at]
        scratch.rest[at], scratch.squares[at] = rest, min(max(squares, 0.0), rest)


@inlined_lean_kernel
def count_links(node: Node, frame: Frame, work: Work) -> None:
    """Draw the places of the node's links to nodes with larger names."""
    network, begin = frame.network, frame.network.offsets[node.place]
    for i in range(node.degree):
        b = network.neighbors[begin + i]
        if frame.names[b] > node.name:
            word, _, _, _ = random_words(node, DRAW_INSIDE, 0, i, frame.key)
            draw_inside(b, word, frame, work)


@inlined_lean_kernel
def count_non_links(own: int, work: Work) -> None:
    """(N6) Add the node's half of the sums over its non-links."""
    scratch = work.scratch
    for at in range(own):
        k, pi, rest = scratch.community[at], scratch.pi[at], scratch.rest[at]
        curved = curved_rest(pi, rest, scratch.squares[at])
        work.statistics[k, OVERLAP] += np.int64(0.5 * pi * rest * FIXED_POINT)
        work.statistics[k, CURVED] += np.int64(0.5 * pi * curved * FIXED_POINT)


@inlined_lean_kernel
def write_event(b: int, at: int, frame: Frame, scratch: Scratch, events: PairEvents) -> None:
    """Write the pair with b as event number `at`: the communities that both are in."""
    rows, end = frame.rows, events.first[at]
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        position = scratch.position[k]
        if position >= 0:
            events.community[end], events.pi_a[end] = k, scratch.pi[position]
            events.pi_b[end] = np.float64(rows.weights[b, 2 * j + 1])
            end += 1
    events.first[at + 1] = end


@lean_kernel
def read_pairs_range(
    begin: int, end: int, used: int, most: float, frame: Frame, work: Work, events: PairEvents
) -> tuple[int, int]:
    """Look at the pairs of the nodes in places begin to end - 1; returns the first place not done, and how many events.

    A node whose events do not all fit is left to the next call, before anything of it is counted. Where a node
    has more than `most` proposals nothing more is looked at, and the number of events is -1.
    """
    scratch = work.scratch
    for place in range(begin, end):
        node = node_at(place, frame)
        own = load_row(frame.rows, place, scratch)
        sum_near(node, frame, scratch)
        set_rest(own, frame, scratch)
        proposals, total = propose_events(node, own, frame, scratch)
        fits = proposals <= most and used + proposals < len(events.first)
        if fits:
            count_links(node, frame, work)
            count_non_links(own, work)
            for number in range(proposals):
                b = draw_event(node, number, own, total, frame, scratch)
                if b >= 0:
                    write_event(b, used, frame, scratch, events)
                    used += 1
        for at in range(own):
            scratch.position[scratch.community[at]] = -1
        if proposals > most:
            return end, -1
        if not fits:
            return place, used
    return end, used
