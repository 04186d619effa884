"""The communities of a node's links, equations (G1) and (G3): exact, and without a step size.

For every link of a node the community z_ab in which it is made is drawn, first given the node's memberships,
then once more with the memberships integrated out. Integrated out, a link that nothing explains is drawn into
its neighbour's community with a weight of alpha, where the diffusion of (S2) would have to wait for a birth.

Nearly every draw falls on a community that both ends share, and these loops are made for that. The others, of another
law and rarely needed, are in `unshared`.
"""

from __future__ import annotations

from blockmix.model.links import link_probability, shared_term
from blockmix.numerics.compile import inlined_lean_kernel
from blockmix.numerics.purposes import DRAW_LINK
from blockmix.numerics.variates import uniform32
from blockmix.samplers.scir.frame import Frame, Node, Scratch, Tilt, random_words
from blockmix.samplers.scir.indicators.unshared import (
    draw_thinned,
    draw_unshared,
    shared_weight,
    walk_shared,
)
from blockmix.samplers.scir.local_lists import walk_row
from blockmix.tables.layout import Key


@inlined_lean_kernel
def draw_uniforms(node: Node, key: Key, scratch: Scratch) -> None:
    """Draw a uniform for either draw of every link, two links a Philox block, ahead of the branches that use them."""
    uniforms = scratch.uniforms
    for i in range(0, node.degree, 2):
        w0, w1, w2, w3 = random_words(node, DRAW_LINK, 0, i, key)
        uniforms[i, 0], uniforms[i, 1] = uniform32(w0), uniform32(w1)
        uniforms[i + 1, 0], uniforms[i + 1, 1] = uniform32(w2), uniform32(w3)


@inlined_lean_kernel
def draw_links(node: Node, own: int, frame: Frame, scratch: Scratch) -> None:
    """(G1) Draw every z_ab given pi_a, (M2); gathers sum_b pi_bk/Z_ab along the way.

    r_ab(k) is a mixture: of shared communities with weights d_k pi_ak pi_bk, and of pi_a itself with weight delta.
    One uniform serves both: what is left of it above the shared part is a uniform again.
    """
    entry, link_weight, first, gain = scratch.entry, scratch.link_weight, scratch.first, scratch.gain
    pi, excess, indicator = scratch.pi, scratch.excess, scratch.indicator
    background = frame.strengths.value[-1]
    unfinished = 0
    for i in range(node.degree):
        shared, positive = 0.0, 0.0
        for e in range(first[i], first[i + 1]):
            weight = shared_term(excess[entry[e]], link_weight[e], pi[entry[e]])
            shared += weight
            positive += max(weight, 0.0)
        share = 1.0 / link_probability(background, shared)
        for e in range(first[i], first[i + 1]):
            gain[entry[e]] += share * link_weight[e]
        u = scratch.uniforms[i, 0] * (positive + background)
        chosen = 0
        if positive != shared:
            # Rare, and left for later: a call in this loop would make every draw slower.
            chosen = -1
            unfinished += 1
        elif u < positive:
            for e in range(first[i], first[i + 1]):
                chosen = int(entry[e])
                u -= shared_term(excess[chosen], link_weight[e], pi[chosen])
                if u < 0.0:
                    break
        else:
            chosen = walk_row((u - positive) / background, own, scratch)
        indicator[i] = chosen
    if unfinished > 0:
        for i in range(node.degree):
            if indicator[i] < 0:
                indicator[i] = draw_thinned(node, i, own, frame, scratch)


@inlined_lean_kernel
def draw_links_again(
    node: Node, count: int, backwards: bool, frame: Frame, tilt: Tilt, scratch: Scratch
) -> int:
    """(G3) Make one pass of Gibbs draws of the z_ab with pi_a integrated out; returns the new local count.

    p(z_ab = k) is proportional to (n_k + alpha)/lambda_k (delta + d_k pi_bk), n_k counting the other links.
    Forwards or backwards with equal probability: then the pass is reversible, as the test of (G4) needs.
    """
    counts, inverse, indicator = scratch.count, scratch.inverse, scratch.indicator
    background, alpha = frame.strengths.value[-1], node.alpha
    bulk = alpha * len(frame.members) / tilt.least
    known = 0.0
    for at in range(count):
        counts[at] = 0.0
        inverse[at] = 1.0 / scratch.tilt[at]
    for i in range(node.degree):
        counts[indicator[i]] += 1.0
        known += inverse[indicator[i]]
    step = 0
    while step < node.degree:
        # A loop for the draws that fall on a shared community, left for each that does not.
        i, u, chosen = 0, 0.0, -1
        while step < node.degree:
            i = node.degree - 1 - step if backwards else step
            step += 1
            old = indicator[i]
            counts[old] -= 1.0
            known -= inverse[old]
            shared = shared_weight(i, alpha, scratch)
            unlisted = scratch.unlisted_weight[i] * alpha / tilt.least
            u = scratch.uniforms[i, 1] * (shared + unlisted + background * (known + bulk))
            if u >= shared:
                chosen = -1
                break
            chosen = walk_shared(i, u, alpha, scratch)
            indicator[i] = chosen
            counts[chosen] += 1.0
            known += inverse[chosen]
        if chosen < 0:
            chosen, count = draw_unshared(node, i, u, known, count, frame, tilt, scratch)
            indicator[i] = chosen
            counts[chosen] += 1.0
            known += inverse[chosen]
    return count
