"""Events of non-links, (N3): they make up for what the bound (N2) takes away, so that the law of strengths is exact.

Events are Poisson: a pair has them at the rate by which log(1 - v) exceeds the bound. They are drawn fresh for every
update of the strengths and forgotten after it.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_EVENT
from blockmix.numerics.variates import poisson, uniform32
from blockmix.samplers.scir.frame import Frame, Node, Scratch, random_words
from blockmix.samplers.scir.members import member_at, members_of
from blockmix.samplers.scir.non_links import curved_rest, gap_of, is_non_link, overlap_factor

# Proposals of one node that can be counted; far fewer are ever looked at.
MOST_PROPOSALS = 1e15
# Attempts at drawing a partner by rejection before all members are gone through: more where there are more of them.
LEAST_TRIES, MEMBERS_A_TRY, MOST_TRIES = 4, 4, 64


@inlined_lean_kernel
def set_rates(own: int, frame: Frame, scratch: Scratch) -> float:
    """(N3) Set the rate at which each of the node's communities has proposals of events; returns their sum.

    It is g_k pi_ak times the sum of pi_bk m_k over non-links, an upper bound of the gaps' part in k.
    """
    total = 0.0
    for at in range(own):
        pi = scratch.pi[at]
        rate = frame.bounds.curve[scratch.community[at]] * pi
        rate *= curved_rest(pi, scratch.rest[at], scratch.squares[at])
        scratch.gain[at] = rate * frame.settings.non_link_weight
        total += scratch.gain[at]
    return total


@inlined_lean_kernel
def walk_rates(u: float, own: int, scratch: Scratch) -> int:
    """Return the position among the node's communities on which u falls, each as long as its rate."""
    chosen = 0
    for at in range(own):
        if scratch.gain[at] > 0.0:
            chosen = at
            u -= scratch.gain[at]
            if u < 0.0:
                break
    return chosen


@inlined_lean_kernel
def draw_partner(node: Node, at: int, proposal: int, frame: Frame, scratch: Scratch) -> int:
    """(N3) Draw a member b of a community in proportion to pi_bk m_k among the node's non-links; -1 if there is none.

    By rejection, and where most members are neighbours, so that it would take long, by going through all of them.
    """
    k, pi, lists = scratch.community[at], scratch.pi[at], frame.lists
    most = max(pi, 1.0 - pi)
    members = members_of(k, lists)
    for attempt in range(min(LEAST_TRIES + members // MEMBERS_A_TRY, MOST_TRIES)):
        _, w1, w2, _ = random_words(node, DRAW_EVENT, attempt + 1, proposal, frame.key)
        rank = np.int64((np.uint64(w1) * np.uint64(members)) >> np.uint64(32))
        entry = member_at(k, rank, lists)
        b, pi_b = lists.place[entry], np.float64(lists.weight[entry])
        kept = uniform32(w2) * most < pi_b * overlap_factor(pi, pi_b)
        if kept and is_non_link(node.place, b, frame.network):
            return int(b)
    _, _, _, w3 = random_words(node, DRAW_EVENT, 0, proposal, frame.key)
    left = uniform32(w3) * curved_rest(pi, scratch.rest[at], scratch.squares[at])
    chosen = -1
    for batch in range(lists.size.shape[1]):
        for entry in range(lists.begin[k, batch], lists.begin[k, batch] + lists.size[k, batch]):
            b, pi_b = lists.place[entry], np.float64(lists.weight[entry])
            if is_non_link(node.place, b, frame.network):
                chosen = int(b)
                left -= pi_b * overlap_factor(pi, pi_b)
                if left < 0.0:
                    return chosen
    return chosen


@inlined_lean_kernel
def is_kept(b: int, u: float, frame: Frame, scratch: Scratch) -> bool:
    """(N3) Return whether the event of the pair with b is kept: with probability gap/(upper bound)."""
    rows, bounds = frame.rows, frame.bounds
    v, curved = 0.0, 0.0
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        at = scratch.position[k]
        if at >= 0:
            pi, pi_b = scratch.pi[at], np.float64(rows.weights[b, 2 * j + 1])
            v += bounds.slope[k] * pi * pi_b
            curved += bounds.curve[k] * pi * pi_b * overlap_factor(pi, pi_b)
    kept: bool = u * curved < gap_of(v, curved)
    return kept


@inlined_lean_kernel
def propose_events(node: Node, own: int, frame: Frame, scratch: Scratch) -> tuple[int, float]:
    """(N3) Return how many events are proposed for the node's non-links, at half their rate, and the sum of rates."""
    key, total = frame.key, set_rates(own, frame, scratch)
    word = stream_word(DRAW_EVENT, MOST_TRIES + 1)
    proposals = poisson(0.5 * total, key.low, key.high, node.name, key.sweep, word, np.uint32(0))
    return int(min(proposals, MOST_PROPOSALS)), total


@inlined_lean_kernel
def draw_event(node: Node, number: int, own: int, total: float, frame: Frame, scratch: Scratch) -> int:
    """(N3) Draw the partner of proposal `number`, or -1 where it is no event."""
    w0, _, w2, _ = random_words(node, DRAW_EVENT, 0, number, frame.key)
    at = walk_rates(uniform32(w0) * total, own, scratch)
    b = draw_partner(node, at, number, frame, scratch)
    if b >= 0 and not is_kept(b, uniform32(w2), frame, scratch):
        return -1
    return b
