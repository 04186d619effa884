"""The update of one node in `sgmc-m`: its listed communities one by one, its bulk as one number, (A2) to (A7).

With p_a = (bulk value)/(total of row a) every sum over communities is a sum over listed ones and a closed form for
the rest: sum_k d_k pi_ak pi_bk costs as many terms as row b is long, (A4), and the sums that the bulk needs come
out of the same pass. The cost does not depend on K.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockmix.model.links import outcome_probability
from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.purposes import DRAW_BULK, DRAW_BULK_SAMPLE, DRAW_MEMBERSHIPS
from blockmix.samplers.langevin.dynamics import LEAST_LIKELIHOOD, local_step, moved, two_normals
from blockmix.samplers.sgmc_m.frame import (
    IN_BULK,
    IN_SAMPLE,
    Frame,
    SplitScratch,
    Strength,
    add_to_lists,
    load_row,
    normalise,
)
from blockmix.samplers.sgmc_m.split import choose_bulk, split_row
from blockmix.samplers.sgmc_m.table import Buffer, Fresh, SplitRows
from blockmix.tables.layout import Key
from blockmix.tables.minibatch import sample_neighbors, sample_partners

# The noise of listed communities is drawn as `sgmc` draws it (DRAW_MEMBERSHIPS), so that the two agree number by
# number where nothing is in bulk.


class Node(NamedTuple):
    """A node with its row in the local lists: their length, the bulk's value, 1/s_a, and its p_a = value/s_a."""

    a: int
    count: int  # type: ignore[assignment]  # tuple.count, which is never called
    bulk: float
    inverse: float
    p: float


class Partners(NamedTuple):
    """(L2) How many neighbours and non-neighbours were sampled, and the weight of each."""

    links: int
    link_weight: float
    non_links: int
    non_link_weight: float


class BulkSums(NamedTuple):
    """X_a of (A3), and how the bulk is summed: the sum of its d_k, the `place` of those that count, and |B|/m.

    For (A12) `means` is True, `listed` the part of X_a that listed communities have, and `sampled` the number m of
    communities whose d_k are summed.
    """

    mean: float
    excess: float
    counted: int
    scale: float
    listed: float
    sampled: int
    means: bool


class Pull(NamedTuple):
    """Sums over the sampled nodes b with q_b = (+-) c_b/Z_ab, for every community, the listed ones, and the bulk.

    `all` is sum_b c_b (delta^(y)/Z_ab - 1), `even` is sum_b q_b p_b, and `bulk` is sum_b q_b sum_{k in B} d_k pi_bk.
    """

    all: float
    even: float
    bulk: float


class Step(NamedTuple):
    """The step of a node, its alpha, and M of (S1)."""

    eps: float
    alpha: float
    expansion: float


@inlined_lean_kernel
def add_candidates(
    count: int, neighbors: np.ndarray, bulk: float, table: SplitRows, scratch: SplitScratch
) -> int:
    """(A2) List what is active in these neighbours, each at the bulk's value; returns the new count."""
    for i in range(len(neighbors)):
        b = neighbors[i]
        for j in range(table.start[b], table.start[b] + table.active[b]):
            k = table.community[j]
            at = scratch.place[k]
            if at >= 0:
                scratch.near[at] = True
            else:
                add_to_lists(k, bulk, True, count, scratch)
                count += 1
    return count


@inlined_lean_kernel
def add_gains(b: int, q: float, p_b: float, inverse: float, table: SplitRows, scratch: SplitScratch) -> None:
    """(A5) Add q_b (pi_bk - p_b) to the gains of the communities that both nodes list."""
    for i in range(table.start[b], table.start[b] + table.count[b]):
        at = scratch.place[table.community[i]]
        if at >= 0:
            scratch.gain[at] += q * (np.float64(table.phi[i]) * inverse - p_b)


@inlined_lean_kernel
def printed_sums(
    b: int, p: float, sums: BulkSums, table: SplitRows, strength: Strength, scratch: SplitScratch
) -> tuple[float, float]:
    """(A12) Compute the sum in Z_ab, and |B| (mean of d)(mean of pi_b) with means over a sample of the bulk."""
    inverse = 1.0 / table.total[b]
    p_b = table.bulk[b] * inverse
    shared, more_pi = p_b * sums.listed, 0.0
    for i in range(table.start[b], table.start[b] + table.count[b]):
        k = table.community[i]
        at = scratch.place[k]
        more = np.float64(table.phi[i]) * inverse - p_b
        if at >= 0:
            shared += strength.excess[k] * more * scratch.pi[at]
        elif at == sums.counted:
            more_pi += more
    # The size of the bulk is |B|/m times m.
    bulk = sums.scale * sums.excess * (p_b + more_pi / sums.sampled)
    return shared + p * bulk, bulk


@inlined_lean_kernel
def pull_of(
    b: int, y: int, c: float, p: float, sums: BulkSums, table: SplitRows, strength: Strength, scratch: SplitScratch
) -> tuple[float, float, float]:  # fmt: skip
    """Return what one sampled node b adds to the sums of `Pull`, and add to the gains of listed communities.

    Of b's communities that a does not list those count for the bulk whose place is `sums.counted`: all of them, or
    those in the mini-batch of the bulk (A7), where `sums.scale` is |B|/m. Z_ab is (M1) by (A4), in one pass.
    """
    start, end = table.start[b], table.start[b] + table.count[b]
    inverse = 1.0 / table.total[b]
    p_b = table.bulk[b] * inverse
    if sums.means:
        shared, bulk = printed_sums(b, p, sums, table, strength, scratch)
        sign = 1.0 if y else -1.0
        background = outcome_probability(y, strength.background)
        z = max(background + sign * shared, LEAST_LIKELIHOOD)
        q = sign * c / z
        add_gains(b, q, p_b, inverse, table, scratch)
        return c * (background / z - 1.0), q * p_b, q * bulk
    shared, outside = p_b * sums.mean, 0.0
    for i in range(start, end):
        k = table.community[i]
        at = scratch.place[k]
        more = strength.excess[k] * (np.float64(table.phi[i]) * inverse - p_b)
        if at >= 0:
            shared += more * scratch.pi[at]
        else:
            shared += more * p
            if at == sums.counted:
                outside += more
    sign = 1.0 if y else -1.0
    background = outcome_probability(y, strength.background)
    z = max(background + sign * shared, LEAST_LIKELIHOOD)
    q = sign * c / z
    add_gains(b, q, p_b, inverse, table, scratch)
    return c * (background / z - 1.0), q * p_b, q * sums.scale * (outside + p_b * sums.excess)


@inlined_lean_kernel
def pull_of_sample(node: Node, partners: Partners, frame: Frame, scratch: SplitScratch) -> Pull:
    """(A5), (A6) Sum over the sampled neighbours and non-neighbours of a node."""
    table, strength = frame.table, frame.strength
    mean, listed = normalise(node.count, node.p, node.inverse, strength, scratch)
    size = len(scratch.place) - node.count
    counted, scale, bulk_excess = IN_BULK, 1.0, strength.excess_sum - listed
    of_listed = mean - node.p * bulk_excess
    sampled = frame.settings.bulk_batch if frame.settings.bulk_batch < size else 0
    if sampled > 0:
        bulk_excess = sample_bulk(node.a, sampled, frame.key, strength, scratch)
        counted, scale = IN_SAMPLE, size / sampled
    means = frame.settings.means and size > 0
    sums = BulkSums(mean, bulk_excess, counted, scale, of_listed, sampled if sampled > 0 else size, means)
    every, even, bulk = 0.0, 0.0, 0.0
    for i in range(partners.links + partners.non_links):
        y = 1 if i < partners.links else 0
        b = scratch.links[i] if y else scratch.non_links[i - partners.links]
        c = partners.link_weight if y else partners.non_link_weight
        part = pull_of(b, y, c, node.p, sums, table, strength, scratch)
        every += part[0]
        even += part[1]
        bulk += part[2]
    for i in range(sampled):
        scratch.place[scratch.sample[i]] = IN_BULK
    return Pull(every, even, bulk)


@inlined_lean_kernel
def sample_bulk(a: int, sampled: int, key: Key, strength: Strength, scratch: SplitScratch) -> float:
    """(A7) Draw a mini-batch of the bulk, marked in `place`; returns the sum of its d_k."""
    total, draw = 0.0, np.uint32(0)
    for i in range(sampled):
        k, draw = choose_bulk(a, draw, DRAW_BULK_SAMPLE, key, scratch.place)
        scratch.place[k] = IN_SAMPLE
        scratch.sample[i] = k
        total += strength.excess[k]
    return total


@inlined_lean_kernel
def move_listed(node: Node, step: Step, pull: Pull, frame: Frame, scratch: SplitScratch) -> None:
    """(A5), or (L6), Make a step for every listed community."""
    known, strength = np.int64(-1), frame.strength
    noise = (0.0, 0.0)
    for at in range(node.count):
        k = np.int64(scratch.community[at])
        phi, pi = scratch.phi[at], scratch.pi[at]
        if k // 2 != known:
            known = k // 2
            noise = two_normals(DRAW_MEMBERSHIPS, node.a, int(known), frame.key)
        scale = pi if frame.how.preconditioned else node.inverse
        gradient = scale * (pull.all + strength.excess[k] * (pull.even + scratch.gain[at]))
        xi = noise[1] if k % 2 else noise[0]
        new = moved(phi, step.alpha, step.expansion * pi, gradient, step.eps, xi)
        scratch.phi[at] = np.float64(np.float32(new))


@inlined_lean_kernel
def moved_bulk(node: Node, size: int, step: Step, pull: Pull, frame: Frame) -> float:
    """(A6), (A13) Make a step for the bulk; returns its new total.

    Its total moves, `size` Gamma(alpha) components as one Gamma(size alpha), or, with one noise for all, its value.
    """
    if size == 0:
        return 0.0
    noise, _ = two_normals(DRAW_BULK, node.a, 0, frame.key)
    # As printed the gradient is not multiplied by phi (L6): p_a / phi = 1/s_a.
    scale = node.p if frame.how.preconditioned else node.inverse
    if frame.settings.one_noise:
        gradient = scale * (pull.all + pull.bulk / size)
        return size * moved(node.bulk, step.alpha, step.expansion * node.p, gradient, step.eps, noise)
    gradient = scale * (size * pull.all + pull.bulk)
    return moved(
        size * node.bulk, size * step.alpha, step.expansion * size * node.p, gradient, step.eps, noise
    )


@lean_kernel
def update_node(a: int, eps: float, frame: Frame, scratch: SplitScratch) -> tuple[int, float]:
    """Move node a; returns how many communities the local lists hold and the new total of the bulk."""
    network, table, how, key = frame.network, frame.table, frame.how, frame.key
    links, c_1 = sample_neighbors(a, how.neighbors, network, key, scratch.links)
    non_links, c_0 = sample_partners(
        a, how.non_neighbors, how.strata.printed, network, key, scratch.non_links
    )
    bulk, inverse = table.bulk[a], 1.0 / table.total[a]
    count = load_row(a, table, scratch)
    if frame.settings.everyone:
        everyone = network.neighbors[network.offsets[a] : network.offsets[a + 1]]
        count = add_candidates(count, everyone, bulk, table, scratch)
    else:
        count = add_candidates(count, scratch.links[:links], bulk, table, scratch)
    node = Node(a, count, bulk, inverse, bulk * inverse)
    pull = pull_of_sample(node, Partners(links, c_1, non_links, c_0), frame, scratch)
    size = len(scratch.place) - count
    expansion = np.float64(network.offsets[a + 1] - network.offsets[a]) if how.expand else 0.0
    # The values of a row that move are K in `sgmc`; here they are the listed ones and the bulk.
    eps = local_step(eps, expansion, count + min(size, 1), how.alpha[a], how)
    step = Step(eps, how.alpha[a], expansion)
    move_listed(node, step, pull, frame, scratch)
    return count, moved_bulk(node, size, step, pull, frame)


@lean_kernel
def update_range(
    begin: int, end: int, nodes: np.ndarray, eps: float, frame: Frame, fresh: Fresh, buffer: Buffer,
    scratch: SplitScratch,
) -> int:  # fmt: skip
    """Write new rows of nodes[begin:end] to the buffer; returns where it stopped because that was full."""
    communities = len(scratch.place)
    for i in range(begin, end):
        if buffer.used[0] + communities > len(buffer.community):
            return i
        count, bulk_total = update_node(nodes[i], eps, frame, scratch)
        split_row(i, nodes[i], count, bulk_total, frame, fresh, buffer, scratch)
    return end
