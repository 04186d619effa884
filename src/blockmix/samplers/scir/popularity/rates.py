"""The global move of the popularity model: rates of communities and background (DC10), and the shape rho.

The units of all links are drawn once more, at the state after the node moves: given them the rates are Gamma variates.
Expected values would be a little cheaper and would not be exact.
"""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel, kernel, lean_kernel
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.prefetch import prefetch_row
from blockmix.numerics.purposes import (
    DRAW_MORE_PAIR_UNITS,
    DRAW_PAIR_UNITS,
    DRAW_RATE,
    DRAW_SCALE,
    DRAW_SPREAD,
)
from blockmix.numerics.variates import gamma, normal, uniform32
from blockmix.samplers.scir.frame import Node, random_words
from blockmix.samplers.scir.popularity.frame import (
    HIDDEN,
    LINKED,
    MEMBERS,
    MEMBERS_SQUARED,
    MOST_UNITS,
    UNITS,
    Frame,
    Scratch,
    Work,
    load_row,
    node_at,
    side_of,
)
from blockmix.samplers.scir.popularity.redraw import add_row
from blockmix.samplers.scir.popularity.units import units_of_link
from blockmix.samplers.scir.popularity.weights import AMOUNTS
from blockmix.tables.layout import FIXED_POINT, Key, Rows

# Steps of the random walks on log rho and on the scale of all popularities, a sweep; together they take microseconds.
SPREAD_STEPS, SCALE_STEPS = 12, 6
# rho stays inside these limits: nodes could hardly be more unequal, or more alike.
LEAST_RHO, MOST_RHO = 1e-3, 1e6
# A rate stays above this, so that its logarithm and the probability of a link are finite.
LEAST_RATE = 1e-300


@inlined_lean_kernel
def add_products(b: int, column: int, popularity: float, rows: Rows, work: Work) -> float:
    """Add theta_ak theta_bk of the pair to the pair counts; returns r_a r_b sum_k w_k pi_ak pi_bk in `link_weight`.

    The entries (`entry`, `link_weight`) of the scratch hold the communities that the pair shares, and theta theta.
    """
    scratch, shared = work.scratch, 0
    r = np.float64(rows.total[b])
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        at = scratch.position[k]
        if at >= 0:
            product = scratch.pi[at] * popularity * (np.float64(rows.weights[b, 2 * j + 1]) * r)
            scratch.entry[shared] = k
            scratch.link_weight[shared] = product
            work.pairs[k, column] += np.int64(product * FIXED_POINT)
            shared += 1
    work.pairs[-1, column] += np.int64(popularity * r * FIXED_POINT)
    return float(shared)


@inlined_lean_kernel
def add_units(node: Node, b: int, i: int, popularity: float, frame: Frame, work: Work) -> None:
    """(DC10) Draw the units of link i given all theta, and add each to its community or to the background.

    What they say about the size of a unit (DC14) is added to the tally.
    """
    scratch, rates = work.scratch, frame.rates
    shared = int(add_products(b, LINKED, popularity, frame.rows, work))
    background = rates[-1] * popularity * np.float64(frame.rows.total[b])
    rate = background
    for e in range(shared):
        rate += rates[scratch.entry[e]] * scratch.link_weight[e]
    w0, w1, _, _ = random_words(node, DRAW_PAIR_UNITS, 0, i, frame.key)
    place = frame.network.offsets[node.place] + i
    units = units_of_link(rate, place, uniform32(w0), MOST_UNITS, frame.weights)
    if frame.weights.law == AMOUNTS:
        work.tally[units] += 1
        work.tally[0] += np.int64(units * frame.weights.entries[place] * FIXED_POINT)
    for number in range(units):
        if number > 0:
            w1, _, _, _ = random_words(node, DRAW_MORE_PAIR_UNITS, number, i, frame.key)
        u = uniform32(w1) * rate - background
        chosen = len(rates) - 1
        if u >= 0.0:
            for e in range(shared):
                chosen = int(scratch.entry[e])
                u -= rates[chosen] * scratch.link_weight[e]
                if u < 0.0:
                    break
        work.pairs[chosen, UNITS] += 1


@inlined_lean_kernel
def clear_lists(own: int, scratch: Scratch) -> None:
    """Empty the local lists."""
    for at in range(own):
        scratch.position[scratch.community[at]] = -1


@lean_kernel
def count_pairs_range(begin: int, end: int, frame: Frame, work: Work) -> None:
    """(DC10) Add the units of links and the exposures of links and held-out pairs of the nodes [begin, end).

    A pair belongs to its end with the smaller name: the other one may be a node of another process.
    """
    network, rows, names = frame.network, frame.rows, frame.names
    for place in range(begin, end):
        node = node_at(place, frame)
        own = load_row(rows, place, work.scratch)
        popularity = np.float64(rows.total[place])
        first = network.offsets[place]
        if place + 1 < end:
            for i in range(network.offsets[place + 1], network.offsets[place + 2]):
                if names[network.neighbors[i]] > names[place + 1]:
                    prefetch_row(rows.words, network.neighbors[i])
        for i in range(node.degree):
            if names[network.neighbors[first + i]] > node.name:
                add_units(node, network.neighbors[first + i], i, popularity, frame, work)
        for i in range(network.hidden_offsets[place], network.hidden_offsets[place + 1]):
            if names[network.hidden_neighbors[i]] > node.name:
                add_products(network.hidden_neighbors[i], HIDDEN, popularity, rows, work)
        clear_lists(own, work.scratch)


@kernel
def merge_members(changes: np.ndarray, sums: np.ndarray, members: np.ndarray) -> None:
    """Add the workers' changes to the sums over nodes, and give these as float64."""
    for k in range(len(sums)):
        for column in range(2):
            for worker in range(len(changes)):
                sums[k, column] += changes[worker, k, column]
                changes[worker, k, column] = 0
            members[k, column] = sums[k, column] / FIXED_POINT


@kernel
def pair_exposure(k: int, pairs: np.ndarray, members: np.ndarray, weight: float, two_sides: bool) -> float:
    """(DC10) Compute P_k, the sum of theta_ak theta_bk over observed pairs, a non-link counting `weight`.

    `pairs` holds the counts of every worker. The sum over all pairs is (S_k^2 - Q_k)/2, and with two sides the product
    of the sums over each (DC15).
    """
    linked, hidden = 0, 0
    for worker in range(len(pairs)):
        linked += pairs[worker, k, LINKED]
        hidden += pairs[worker, k, HIDDEN]
    near, unseen = linked / FIXED_POINT, hidden / FIXED_POINT
    every = 0.5 * (members[k, MEMBERS] * members[k, MEMBERS] - members[k, MEMBERS_SQUARED])
    if two_sides:
        every = members[k, 0] * members[k, 1]
    exposure: float = weight * max(every - near - unseen, 0.0) + near
    return exposure


@kernel
def update_rates(
    end: int, pairs: np.ndarray, members: np.ndarray, prior: np.ndarray, weight: float, two_sides: bool, key: Key,
    rates: np.ndarray,
) -> None:  # fmt: skip
    """(DC10) Draw w_k ~ Gamma(eta_1 + L_k)/(eta_2 + P_k) for k below `end`; the background is entry K."""
    for k in range(end):
        units = 0
        for worker in range(len(pairs)):
            units += pairs[worker, k, UNITS]
        exposure = prior[k, 1] + pair_exposure(k, pairs, members, weight, two_sides)
        drawn = gamma(
            prior[k, 0] + units, key.low, key.high, np.uint32(k), key.sweep, stream_word(DRAW_RATE, 0), np.uint32(0)
        )  # fmt: skip
        rates[k] = max(drawn / exposure, LEAST_RATE)


@kernel
def update_scale(
    nodes: float,
    rho: float,
    total: float,
    power: float,
    prior: np.ndarray,
    rates: np.ndarray,
    key: Key,
    side: int,
) -> float:
    """(DC10), (DC15) Draw t = log c of the scale move: popularities times c, rates by c^power, which changes no rate of
    a link. The power is 2, and 1 where the popularities are those of one side.

    A random walk whose step depends only on what the move leaves as it is: N rho and the prior of the rates.
    """
    shapes, weights = 0.0, 0.0
    for k in range(len(rates)):
        shapes += prior[k, 0]
        weights += prior[k, 1] * rates[k]
    step = 1.5 / math.sqrt(nodes * rho + power * power * shapes)
    t, now = 0.0, -rho * total - weights
    for number in range(SCALE_STEPS):
        word = stream_word(DRAW_SCALE, number + side * SCALE_STEPS)
        other = t + step * normal(key.low, key.high, np.uint32(0), key.sweep, word, np.uint32(0))
        gain = (nodes * rho - power * shapes) * (other - t)
        density = -rho * total * math.exp(other) - weights * math.exp(-power * other)
        w0, _, _, _ = philox4x32(np.uint32(0), key.sweep, word, np.uint32(1), key.low, key.high)
        if math.log(uniform32(w0)) < gain + density - now:
            t, now = other, density
    return t


@lean_kernel
def add_rows_range(begin: int, end: int, first: int, rows: Rows, changes: np.ndarray) -> None:
    """Add the rows [begin, end) to the sums over nodes; the `first` ones are of the first side."""
    for place in range(begin, end):
        add_row(place, 1, side_of(place, first) if first > 0 else -1, rows, changes)


@kernel
def spread_density(rho: float, nodes: float, logs: float, total: float) -> float:
    """Compute log p(log rho | r) of (DC10) up to a constant, from the sums of log r_a and of r_a over the nodes."""
    prior = math.log(rho) - 2.0 * math.log1p(rho)
    return nodes * (rho * math.log(rho) - math.lgamma(rho)) + rho * (logs - total) + prior


@kernel
def spread_scale(nodes: float, logs: float, total: float) -> float:
    """Compute a step for log rho from the data alone: the posterior's standard deviation, nearly.

    log rho - psi(rho) = s = mean r - 1 - mean log r at the mode of the likelihood, where rho is about
    (3 - s + sqrt((s - 3)^2 + 24 s))/(12 s), and the information about log rho is about N/2 or N rho, whichever is less.
    """
    s = max(total / nodes - 1.0 - logs / nodes, 1e-9)
    rho = (3.0 - s + math.sqrt((s - 3.0) * (s - 3.0) + 24.0 * s)) / (12.0 * s)
    return 1.0 / math.sqrt(nodes * min(0.5, rho) + 0.5)


@kernel
def update_spread(rho: float, nodes: float, logs: float, total: float, key: Key, side: int) -> float:
    """(DC10) Move rho by a random walk on its logarithm, with a step that does not depend on rho."""
    scale = spread_scale(nodes, logs, total)
    now = spread_density(rho, nodes, logs, total)
    for step in range(SPREAD_STEPS):
        word = stream_word(DRAW_SPREAD, step + side * SPREAD_STEPS)
        z = normal(key.low, key.high, np.uint32(0), key.sweep, word, np.uint32(0))
        proposed = rho * math.exp(scale * z)
        w0, _, _, _ = philox4x32(np.uint32(0), key.sweep, word, np.uint32(1), key.low, key.high)
        if LEAST_RHO <= proposed <= MOST_RHO:
            other = spread_density(proposed, nodes, logs, total)
            if math.log(uniform32(w0)) < other - now:
                rho, now = proposed, other
    return rho
