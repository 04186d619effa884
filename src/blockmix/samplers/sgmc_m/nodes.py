"""The local update of `sgmc-m`: a node's followed communities one by one, its bulk in one shot, (A3) to (A7).

With p_a = (bulk value)/(total of row a) every sum over communities is a sum over followed ones and a closed form for
the rest: sum_k d_k pi_ak pi_bk costs as many terms as row b is long, (A4), and the sums that the bulk needs come
out of the same pass. Nothing here depends on K.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.numerics.purposes import DRAW_BULK, DRAW_BULK_SAMPLE, DRAW_MEMBERSHIPS, DRAW_NON_PARTNERS
from blockmix.samplers.langevin.dynamics import LEAST_LIKELIHOOD, Dynamics, local_step, moved, two_normals
from blockmix.samplers.sgmc_m.split import Pool, choose_bulk, split_row
from blockmix.samplers.sgmc_m.table import Buffer, Fresh, SplitRows
from blockmix.tables.concentration import concentration
from blockmix.tables.layout import Key, Network
from blockmix.tables.minibatch import sample_neighbors, sample_non_neighbors

# The noise of followed communities is drawn as `sgmc` draws it (DRAW_MEMBERSHIPS), so that the two agree number by
# number where nothing is in bulk.

# What `place` says of a community that is not in the local lists: in the bulk, or in the sample of the bulk.
IN_BULK, IN_SAMPLE = -1, -2


class SplitSettings(NamedTuple):
    """How a row is split: the threshold, the size of the bulk's mini-batch, the form of promotion."""

    threshold: float
    bulk_batch: int
    equal: bool


class SplitScratch(NamedTuple):
    """Work space of one worker; `place[k]` is where community k stands in the local lists."""

    place: NDArray[np.int32]
    community: NDArray[np.int32]
    phi: NDArray[np.float64]
    pi: NDArray[np.float64]
    gain: NDArray[np.float64]
    near: NDArray[np.bool_]
    order: NDArray[np.int32]
    sample: NDArray[np.int32]
    links: NDArray[np.int64]
    non_links: NDArray[np.int64]


class Strength(NamedTuple):
    """d_k = beta_k - delta of every community, their sum D, and delta."""

    excess: NDArray[np.float64]
    excess_sum: float
    background: float


class Pull(NamedTuple):
    """Sums over the sampled nodes b with q_b = (+-) c_b/Z_ab: what moves every community, the followed, the bulk.

    `all` is sum_b c_b (delta^(y)/Z_ab - 1), `even` is sum_b q_b p_b, and `bulk` is sum_b q_b sum_{k in B} d_k pi_bk.
    """

    all: float
    even: float
    bulk: float


def new_split_scratch(communities: int, neighbors: int, non_links: int, bulk_batch: int) -> SplitScratch:
    """Work space for one worker."""
    return SplitScratch(
        place=np.full(communities, IN_BULK, dtype=np.int32),
        community=np.zeros(communities, dtype=np.int32),
        phi=np.zeros(communities),
        pi=np.zeros(communities),
        gain=np.zeros(communities),
        near=np.zeros(communities, dtype=np.bool_),
        order=np.zeros(communities, dtype=np.int32),
        sample=np.zeros(max(bulk_batch, 1), dtype=np.int32),
        links=np.zeros(max(neighbors, 1), dtype=np.int64),
        non_links=np.zeros(max(non_links, 1), dtype=np.int64),
    )


@inlined_kernel
def follow(k: int, phi: float, near: bool, at: int, scratch: SplitScratch) -> None:
    """Append community k to the local lists."""
    scratch.place[k] = at
    scratch.community[at] = k
    scratch.phi[at] = phi
    scratch.gain[at] = 0.0
    scratch.near[at] = near


@inlined_kernel
def load_row(a: int, table: SplitRows, scratch: SplitScratch) -> int:
    """Copy the node's followed communities to the local lists; returns how many there are."""
    start, count = table.start[a], table.count[a]
    for j in range(count):
        follow(table.community[start + j], np.float64(table.phi[start + j]), False, j, scratch)
    return int(count)


@inlined_kernel
def clear_places(count: int, scratch: SplitScratch) -> None:
    """Forget where communities stand in the local lists."""
    for at in range(count):
        scratch.place[scratch.community[at]] = IN_BULK


@inlined_kernel
def add_candidates(count: int, links: int, bulk: float, table: SplitRows, scratch: SplitScratch) -> int:
    """(A2) Follow what is active in the sampled neighbours, each at the bulk's value; returns the new count."""
    for i in range(links):
        b = scratch.links[i]
        for j in range(table.start[b], table.start[b] + table.active[b]):
            k = table.community[j]
            at = scratch.place[k]
            if at >= 0:
                scratch.near[at] = True
            else:
                follow(k, bulk, True, count, scratch)
                count += 1
    return count


@inlined_kernel
def normalise(
    count: int, p: float, inverse: float, strength: Strength, scratch: SplitScratch
) -> tuple[float, float]:
    """pi of the followed communities; returns X_a of (A3) and the sum of their d_k."""
    mean, followed = p * strength.excess_sum, 0.0
    for at in range(count):
        pi = scratch.phi[at] * inverse
        d = strength.excess[scratch.community[at]]
        scratch.pi[at] = pi
        mean += d * (pi - p)
        followed += d
    return mean, followed


@inlined_kernel
def pull_of(
    b: int, y: int, c: float, p: float, mean: float, bulk_excess: float, counted: int, scale: float,
    table: SplitRows, strength: Strength, scratch: SplitScratch,
) -> tuple[float, float, float]:  # fmt: skip
    """What one sampled node b adds to the sums of `Pull`; the gains of followed communities are added in place.

    Of b's communities that a does not follow those count for the bulk whose place is `counted`: all of them, or those
    in the mini-batch of the bulk (A7), where `scale` is |B|/m.
    """
    start, end = table.start[b], table.start[b] + table.count[b]
    inverse = 1.0 / table.total[b]
    p_b = table.bulk[b] * inverse
    shared, outside = p_b * mean, 0.0
    for i in range(start, end):
        k = table.community[i]
        at = scratch.place[k]
        more = strength.excess[k] * (np.float64(table.phi[i]) * inverse - p_b)
        if at >= 0:
            shared += more * scratch.pi[at]
        else:
            shared += more * p
            if at == counted:
                outside += more
    sign = 1.0 if y else -1.0
    background = strength.background if y else 1.0 - strength.background
    z = max(background + sign * shared, LEAST_LIKELIHOOD)
    q = sign * c / z
    for i in range(start, end):
        at = scratch.place[table.community[i]]
        if at >= 0:
            scratch.gain[at] += q * (np.float64(table.phi[i]) * inverse - p_b)
    return c * (background / z - 1.0), q * p_b, q * scale * (outside + p_b * bulk_excess)


@inlined_kernel
def pull_of_sample(
    a: int, links: int, c_1: float, non_links: int, c_0: float, count: int, p: float, inverse: float,
    bulk_batch: int, key: Key, table: SplitRows, strength: Strength, scratch: SplitScratch,
) -> Pull:  # fmt: skip
    """(A5), (A6) Sums over the sampled neighbours and non-neighbours of a."""
    mean, followed = normalise(count, p, inverse, strength, scratch)
    size = len(scratch.place) - count
    counted, scale, bulk_excess = IN_BULK, 1.0, strength.excess_sum - followed
    sampled = bulk_batch if bulk_batch < size else 0
    if sampled > 0:
        bulk_excess = sample_bulk(a, sampled, key, strength, scratch)
        counted, scale = IN_SAMPLE, size / sampled
    every, even, bulk = 0.0, 0.0, 0.0
    for i in range(links + non_links):
        y = 1 if i < links else 0
        b = scratch.links[i] if y else scratch.non_links[i - links]
        part = pull_of(
            b, y, c_1 if y else c_0, p, mean, bulk_excess, counted, scale, table, strength, scratch
        )  # fmt: skip
        every += part[0]
        even += part[1]
        bulk += part[2]
    for i in range(sampled):
        scratch.place[scratch.sample[i]] = IN_BULK
    return Pull(every, even, bulk)


@inlined_kernel
def sample_bulk(a: int, sampled: int, key: Key, strength: Strength, scratch: SplitScratch) -> float:
    """(A7) A mini-batch of the bulk, marked in `place`; returns the sum of its d_k."""
    total, draw = 0.0, np.uint32(0)
    for i in range(sampled):
        k, draw = choose_bulk(a, draw, DRAW_BULK_SAMPLE, key, scratch.place)
        scratch.place[k] = IN_SAMPLE
        scratch.sample[i] = k
        total += strength.excess[k]
    return total


@inlined_kernel
def move_followed(
    a: int, count: int, expansion: float, eps: float, alpha: float, pull: Pull, key: Key,
    strength: Strength, scratch: SplitScratch,
) -> None:  # fmt: skip
    """(A5) A step for every followed community."""
    known = np.int64(-1)
    noise = (0.0, 0.0)
    for at in range(count):
        k = np.int64(scratch.community[at])
        phi, pi = scratch.phi[at], scratch.pi[at]
        if k // 2 != known:
            known = k // 2
            noise = two_normals(DRAW_MEMBERSHIPS, a, int(known), key)
        gradient = pi * (pull.all + strength.excess[k] * (pull.even + scratch.gain[at]))
        new = moved(phi, alpha, expansion * pi, gradient, eps, noise[1] if k % 2 else noise[0])
        scratch.phi[at] = np.float64(np.float32(new))


@inlined_kernel
def moved_bulk(
    a: int,
    size: int,
    bulk: float,
    p: float,
    expansion: float,
    eps: float,
    alpha: float,
    pull: Pull,
    key: Key,
) -> float:
    """(A6) A step for the total of the bulk: `size` Gamma(alpha) components that move as one Gamma(size alpha)."""
    if size == 0:
        return 0.0
    gradient = p * (size * pull.all + pull.bulk)
    noise, _ = two_normals(DRAW_BULK, a, 0, key)
    return moved(size * bulk, size * alpha, expansion * size * p, gradient, eps, noise)


@kernel
def update_node(
    a: int, eps: float, network: Network, table: SplitRows, strength: Strength, how: Dynamics, bulk_batch: int,
    key: Key, scratch: SplitScratch,
) -> tuple[int, float]:  # fmt: skip
    """Move node a; returns how many communities the local lists hold and the new total of the bulk."""
    links, c_1 = sample_neighbors(a, how.neighbors, network, key, scratch.links)
    non_links, c_0 = sample_non_neighbors(
        a, how.non_neighbors, DRAW_NON_PARTNERS, network, key, scratch.non_links
    )
    bulk, inverse = table.bulk[a], 1.0 / table.total[a]
    p = bulk * inverse
    count = load_row(a, table, scratch)
    count = add_candidates(count, links, bulk, table, scratch)
    pull = pull_of_sample(
        a, links, c_1, non_links, c_0, count, p, inverse, bulk_batch, key, table, strength, scratch
    )
    size = len(scratch.place) - count
    expansion = np.float64(network.offsets[a + 1] - network.offsets[a]) if how.expand else 0.0
    # The values of a row that move are K in `sgmc`; here they are the followed ones and the bulk.
    alpha = concentration(a, network, how.alpha, how.alpha_unlinked)
    eps = local_step(eps, expansion, count + min(size, 1), alpha, how)
    move_followed(a, count, expansion, eps, alpha, pull, key, strength, scratch)
    return count, moved_bulk(a, size, bulk, p, expansion, eps, alpha, pull, key)


@kernel
def update_split_range(
    begin: int, end: int, nodes: np.ndarray, eps: float, network: Network, table: SplitRows,
    strength: Strength, how: Dynamics, settings: SplitSettings, key: Key, pool: Pool, scratch: SplitScratch,
    fresh: Fresh, buffer: Buffer,
) -> int:  # fmt: skip
    """New rows of nodes[begin:end] into the buffer; returns where it stopped because that was full."""
    communities = len(scratch.place)
    for i in range(begin, end):
        if buffer.used[0] + communities > len(buffer.community):
            return i
        a = nodes[i]
        count, bulk_total = update_node(
            a, eps, network, table, strength, how, settings.bulk_batch, key, scratch
        )
        alpha = concentration(a, network, how.alpha, how.alpha_unlinked)
        split_row(
            i, a, count, bulk_total, alpha, settings.threshold, settings.equal, key, pool, scratch, fresh, buffer,
        )  # fmt: skip
    return end
