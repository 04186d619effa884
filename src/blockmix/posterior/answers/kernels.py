"""Loops over links and memberships that answers need: each visits every link once, and allocates nothing.

Memberships are rows of (community, weight), as a `Posterior` has them. Rows are short, so that two of them are compared
entry by entry.
"""

from __future__ import annotations

from typing import Any

from blockmix.numerics.compile import kernel
from blockmix.numerics.search import first_from


@kernel
def count_links_inside(offsets: Any, neighbors: Any, begins: Any, numbers: Any, counts: Any) -> None:
    """Count the links both ends of which are members of a community, for every community.

    `numbers[begins[a]:begins[a + 1]]` are the communities of node a.
    """
    for a in range(len(offsets) - 1):
        for place in range(offsets[a], offsets[a + 1]):
            b = neighbors[place]
            if b <= a:
                continue
            for i in range(begins[a], begins[a + 1]):
                for j in range(begins[b], begins[b + 1]):
                    if numbers[i] == numbers[j]:
                        counts[numbers[i]] += 1


@kernel
def add_link_shares(
    offsets: Any,
    neighbors: Any,
    begins: Any,
    numbers: Any,
    weights: Any,
    strengths: Any,
    popular: bool,
    made: Any,
) -> None:
    """Add to every entry of the rows the probabilities that the node's links are made in its community.

    (M2) summed over the other end: a link of a and b is made in k in proportion to pi_ak pi_bk beta_k, and in the
    background, `strengths[-1]`, in proportion to what they do not share. In the popularity model (DC5) the background
    is added to all pairs, and popularities are factors of both.
    """
    for a in range(len(offsets) - 1):
        for place in range(offsets[a], offsets[a + 1]):
            b = neighbors[place]
            inside, shared = 0.0, 0.0
            for i in range(begins[a], begins[a + 1]):
                for j in range(begins[b], begins[b + 1]):
                    if numbers[i] == numbers[j]:
                        inside += weights[i] * weights[j] * strengths[numbers[i]]
                        shared += weights[i] * weights[j]
            whole = inside + strengths[-1] * (1.0 if popular else 1.0 - shared)
            if inside <= 0.0:
                continue
            for i in range(begins[a], begins[a + 1]):
                for j in range(begins[b], begins[b + 1]):
                    if numbers[i] == numbers[j]:
                        made[i] += weights[i] * weights[j] * strengths[numbers[i]] / whole


@kernel
def add_block_links(
    offsets: Any, neighbors: Any, rows: Any, community: Any, weight: Any, wanted: Any, sums: Any
) -> None:
    """Add pi_ak pi_bl + pi_al pi_bk over all links (a, b) to the sum of the pair of communities k < l.

    `wanted` are begins and ends: the pairs (k, l) with k <= l whose sums are asked for, l increasing for every k. The
    sum of (k, k) is that of pi_ak pi_bk.
    """
    begins, ends = wanted
    for a in range(len(offsets) - 1):
        for place in range(offsets[a], offsets[a + 1]):
            b = neighbors[place]
            if b <= a:
                continue
            for i in range(rows[a], rows[a + 1]):
                for j in range(rows[b], rows[b + 1]):
                    k, other = community[i], community[j]
                    if other < k:
                        k, other = other, k
                    place_of_pair = first_from(ends, begins[k], begins[k + 1], other)
                    if place_of_pair < begins[k + 1] and ends[place_of_pair] == other:
                        sums[place_of_pair] += weight[i] * weight[j]


@kernel
def add_all_block_links(
    offsets: Any, neighbors: Any, rows: Any, community: Any, weight: Any, sums: Any
) -> None:
    """Add the same for all pairs of communities to a matrix, in its upper half: faster while this is small."""
    for a in range(len(offsets) - 1):
        for place in range(offsets[a], offsets[a + 1]):
            b = neighbors[place]
            if b <= a:
                continue
            for i in range(rows[a], rows[a + 1]):
                for j in range(rows[b], rows[b + 1]):
                    k, other = community[i], community[j]
                    sums[min(k, other), max(k, other)] += weight[i] * weight[j]


@kernel
def add_pair_scores(
    pairs: Any, rows: Any, community: Any, weight: Any, above: Any, blocks: Any, found: Any
) -> None:
    """Add sum_k pi_ak pi_bk above_k for every pair of nodes, or sum_kl pi_ak B_kl pi_bl where `blocks` has B."""
    general = blocks.shape[0] > 0
    for place in range(len(pairs)):
        a, b = pairs[place, 0], pairs[place, 1]
        total = 0.0
        for i in range(rows[a], rows[a + 1]):
            for j in range(rows[b], rows[b + 1]):
                k, other = community[i], community[j]
                if general:
                    total += weight[i] * blocks[k, other] * weight[j]
                elif k == other:
                    total += weight[i] * above[k] * weight[j]
        found[place] += total
