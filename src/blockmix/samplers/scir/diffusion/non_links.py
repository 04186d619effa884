"""Non-links in the diffusion: the closed form (S3), (S5), and its unbiased correction from a sample."""

from __future__ import annotations

import numpy as np

from blockmix.model.links import excess, link_probability, outcome_probability, shared_term
from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.purposes import DRAW_NON_LINKS
from blockmix.samplers.scir.exposure import LEAST_DENOMINATOR, resummed_exposure
from blockmix.samplers.scir.frame import MEMBERS, MEMBERS_SQUARED, Frame, Node, Scratch, random_words
from blockmix.samplers.scir.non_links import is_non_link
from blockmix.tables.layout import Strengths


@lean_kernel
def non_link_exposure(count: int, own: int, frame: Frame, resum: bool, scratch: Scratch) -> None:
    """(S3), (S5) Set exposure_k = sum over non-neighbours of pi_bk/Z_ab, in closed form from S_k and Q_k."""
    members, value = frame.members, frame.strengths.value
    background = value[-1]
    for at in range(count):
        k = scratch.community[at]
        pi = scratch.pi[at] if at < own else 0.0
        rest = members[k, MEMBERS] - pi - scratch.near[at]
        free = 1.0 - background
        if not resum:
            scratch.exposure[at] = max(rest, 0.0) / free
            continue
        squares = min(max(members[k, MEMBERS_SQUARED] - pi * pi - scratch.near_squared[at], 0.0), rest)
        d = excess(value[k], background) * scratch.pi[at]
        scratch.exposure[at] = resummed_exposure(rest, squares, d, free)


@inlined_lean_kernel
def weigh_exposure(count: int, weight: float, scratch: Scratch) -> None:
    """Let every non-link count for this much."""
    for at in range(count):
        scratch.exposure[at] *= weight


@lean_kernel
def mean_exposure(own: int, strengths: Strengths, scratch: Scratch) -> float:
    """Compute X = sum_k pi_k x_k with x_k = (beta_k - delta) exposure_k."""
    background = strengths.value[-1]
    mean = 0.0
    for at in range(own):
        k = scratch.community[at]
        mean += scratch.pi[at] * excess(strengths.value[k], background) * scratch.exposure[at]
    return mean


@lean_kernel
def correct_non_links(node: Node, frame: Frame, scratch: Scratch) -> None:
    """(S3) Add c_0 times the sum over sampled non-links of (exact - first order): unbiased again.

    With as many draws as there are non-neighbours all of them are visited instead, and the sum is exact.
    """
    network, wanted = frame.network, frame.settings.non_links
    nodes = len(network.offsets) - 1
    hidden = network.hidden_offsets[node.place + 1] - network.hidden_offsets[node.place]
    eligible = nodes - 1 - node.degree - hidden
    if eligible <= 0:
        return
    everyone = wanted >= eligible
    weight = 1.0 if everyone else eligible / wanted
    draws = nodes if everyone else wanted
    attempt = 0
    for i in range(draws):
        if everyone:
            b = i
            if not is_non_link(node.place, b, network):
                continue
        else:
            b = node.place
            while not is_non_link(node.place, b, network):
                word, _, _, _ = random_words(node, DRAW_NON_LINKS, 0, attempt, frame.key)
                b = int(np.int64((np.uint64(word) * np.uint64(nodes)) >> np.uint64(32)))
                attempt += 1
        add_correction(b, weight, frame, scratch)


@lean_kernel
def add_correction(b: int, weight: float, frame: Frame, scratch: Scratch) -> None:
    """Add one non-neighbour's exact term less its first-order term, times its weight."""
    rows, value = frame.rows, frame.strengths.value
    background = value[-1]
    slots = rows.words.shape[1] // 2
    shared = 0.0
    for j in range(slots):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        at = scratch.position[k]
        if at >= 0:
            d = excess(value[k], background)
            shared += shared_term(d, scratch.pi[at], np.float64(rows.weights[b, 2 * j + 1]))
    likelihood = outcome_probability(0, link_probability(background, shared))
    error = 1.0 / max(likelihood, LEAST_DENOMINATOR) - 1.0 / (1.0 - background)
    if error == 0.0:
        return
    for j in range(slots):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        at = scratch.position[k]
        if at >= 0:
            scratch.exposure[at] += weight * error * np.float64(rows.weights[b, 2 * j + 1])
