"""A chain of the popularity model with rates between groups, for benchmarks/between_groups.py: (B1) to (B3) there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.popularity.options import PopularityOptions
from blockmix.samplers.scir.popularity.sampler import PopularityScir

Floats = NDArray[np.float64]
# In so many sweeps at first all pairs of groups have the same rate, and K alpha is held.
HELD = 50
# Beta(1, this) is the prior of q: few pairs have a rate of their own unless the network says otherwise.
FLAT_PAIRS = 9.0
# Steps of each random walk, and the width of each on the logarithm.
STEPS, EPS_STEP, RHO_STEP, ALPHA_STEP = 8, 0.3, 0.25, 0.2
# Bounds of rho and K alpha, the smallest share that counts as one (Q2), and a rate that is next to none.
RHO, K_ALPHA, SMALL, LEAST = (1e-3, 1e6), (1e-3, 1e2), 1e-5, 1e-300
EPS, SHARE, SHAPE, TOTAL = range(4)


class Network(NamedTuple):
    """Links and held-out pairs by node, both ways round, and what a non-link counts (S6)."""

    offsets: NDArray[np.int64]
    neighbors: NDArray[np.int64]
    hidden_offsets: NDArray[np.int64]
    hidden: NDArray[np.int64]
    weight: float


class Chain(NamedTuple):
    """theta_ak, r_a, B_kl, w_k, which pairs of communities have a rate of their own, and eps, q, rho, K alpha."""

    theta: Floats
    popularity: Floats
    rates: Floats
    own: Floats
    apart: NDArray[np.bool_]
    scalars: Floats


@njit(cache=True)
def seed_chain(seed: int) -> None:
    """Seed the random numbers of the kernels."""
    np.random.seed(seed)  # noqa: NPY002 - what numba has


@njit(cache=True)
def uniform() -> float:
    """Return a number that is never zero."""
    return 1.0 - np.random.random()  # noqa: NPY002


@njit(cache=True)
def pick(weights: Floats, total: float) -> int:
    """Draw an index in proportion to its weight."""
    u, last = np.random.random() * total, 0  # noqa: NPY002
    for k in range(len(weights)):
        if weights[k] > 0.0:
            last = k
            u -= weights[k]
            if u < 0.0:
                return k
    return last


@njit(cache=True)
def units_of(mean: float) -> int:
    """(DC5) Draw a Poisson count that is at least one."""
    u = np.random.random() * -math.expm1(-mean)  # noqa: NPY002
    term = mean * math.exp(-mean)
    below, count = term, 1
    while u > below and count < 64:
        count += 1
        term *= mean / count
        below += term
    return count


@njit(cache=True)
def exposures(a: int, network: Network, chain: Chain, sums: Floats) -> Floats:
    """(B2) Return lambda_k of a node."""
    theta, weight = chain.theta, network.weight
    others = weight * (sums - theta[a])
    for i in range(network.hidden_offsets[a], network.hidden_offsets[a + 1]):
        others -= weight * theta[network.hidden[i]]
    for i in range(network.offsets[a], network.offsets[a + 1]):
        others += (1.0 - weight) * theta[network.neighbors[i]]
    return chain.scalars[SHAPE] + np.dot(chain.rates, np.maximum(others, 0.0))


@njit(cache=True)
def count_units(a: int, network: Network, chain: Chain, lam: Floats, pulls: Floats) -> Floats:
    """(DC5), (DC6) Draw the units of a node's links and their communities, these once more with the row integrated
    out; return how many units each community has.
    """
    communities = len(lam)
    alpha = chain.scalars[TOTAL] / communities
    first, last = network.offsets[a], network.offsets[a + 1]
    found, owner = np.empty(64 * (last - first), np.int64), np.empty(64 * (last - first), np.int64)
    units, number = np.zeros(communities), 0
    for i in range(first, last):
        b = network.neighbors[i]
        weights = chain.theta[a] * pulls[b]
        total = weights.sum()
        for _ in range(units_of(total)):
            found[number], owner[number] = pick(weights, total), b
            units[found[number]] += 1.0
            number += 1
    backwards = np.random.random() < 0.5  # noqa: NPY002
    for j in range(number):
        i = number - 1 - j if backwards else j
        units[found[i]] -= 1.0
        weights = (units + alpha) / lam * pulls[owner[i]]
        found[i] = pick(weights, weights.sum())
        units[found[i]] += 1.0
    return units


@njit(cache=True)
def redraw_nodes(network: Network, chain: Chain) -> None:
    """(DC5) to (DC9) Redraw all nodes one after the other; `pulls` holds f_bk."""
    theta, popularity = chain.theta, chain.popularity
    nodes, communities = theta.shape
    rho, total = chain.scalars[SHAPE], chain.scalars[TOTAL]
    pulls, sums = np.dot(theta, chain.rates), np.zeros(communities)
    for a in range(nodes):
        sums += theta[a]
    for a in range(nodes):
        lam = exposures(a, network, chain, sums)
        units = count_units(a, network, chain, lam, pulls)
        drawn = np.empty(communities)
        for k in range(communities):
            drawn[k] = np.random.gamma(total / communities + units[k]) / lam[k]  # noqa: NPY002
        if drawn.sum() < LEAST:
            drawn[:] = 0.0
            drawn[np.random.randint(communities)] = 1.0  # noqa: NPY002
        pi = theta[a] / popularity[a]
        fresh = drawn / drawn.sum()
        new, old = (fresh * lam).sum(), (pi * lam).sum()
        if math.log(uniform()) < (total - rho) * math.log(new / old):
            pi, old = fresh, new
        r = max(np.random.gamma(rho + units.sum()) / old, 1e-30)  # noqa: NPY002
        sums += pi * r - theta[a]
        theta[a], popularity[a] = pi * r, r
        pulls[a] = np.dot(chain.rates, theta[a])


@njit(cache=True)
def count_pairs(network: Network, chain: Chain) -> tuple[Floats, Floats]:
    """Draw the units of all links given all theta; return L_kl and P_kl, both symmetric.

    The diagonals are those of pairs of nodes taken once, as (DC10) has them.
    """
    theta, weight = chain.theta, network.weight
    nodes, communities = theta.shape
    units, near = np.zeros((communities, communities)), np.zeros((communities, communities))
    pulls, sums = np.dot(theta, chain.rates), np.zeros(communities)
    for a in range(nodes):
        sums += theta[a]
        for i in range(network.hidden_offsets[a], network.hidden_offsets[a + 1]):
            near -= weight * np.outer(theta[a], theta[network.hidden[i]])
        for i in range(network.offsets[a], network.offsets[a + 1]):
            b = network.neighbors[i]
            near += (1.0 - weight) * np.outer(theta[a], theta[b])
            if b < a:
                continue
            weights = theta[a] * pulls[b]
            total = weights.sum()
            for _ in range(units_of(total)):
                k = pick(weights, total)
                ends = chain.rates[k] * theta[b]
                other = pick(ends, ends.sum())
                units[min(k, other), max(k, other)] += 1.0
    pairs = near + weight * (np.outer(sums, sums) - np.dot(theta.T, theta))
    for k in range(communities):
        pairs[k, k] /= 2.0
        for other in range(k):
            units[k, other] = units[other, k]
    return units, np.maximum(pairs, 0.0)


@njit(cache=True)
def log_background(eps: float, inside: Floats, chain: Chain, units: Floats, pairs: Floats) -> float:
    """Compute log p(log eps | units) with every g_kl integrated out (B3); `inside` are units and pairs of k = l."""
    result = math.log(eps) - len(chain.theta) * eps + inside[0] * math.log(eps) - eps * inside[1]
    for k in range(len(units)):
        for other in range(k):
            x = eps * pairs[k, other]
            result += units[k, other] * math.log(eps)
            result -= (units[k, other] + 1.0) * math.log1p(x) if chain.apart[k, other] else x
    return result


@njit(cache=True)
def update_rates(sparse: bool, units: Floats, pairs: Floats, chain: Chain) -> None:
    """Draw w_k (DC10), then which pairs have a rate of their own, q, eps and the rates (B3)."""
    scalars, own, apart, rates = chain.scalars, chain.own, chain.apart, chain.rates
    communities, inside = len(own), np.zeros(2)
    for k in range(communities):
        back = np.random.binomial(int(units[k, k]), scalars[EPS] / (scalars[EPS] + own[k]))  # noqa: NPY002
        inside += np.array([float(back), pairs[k, k]])
        own[k] = max(np.random.gamma(1.0 + units[k, k] - back) / (1.0 + pairs[k, k]), LEAST)  # noqa: NPY002
    many, q = 0, scalars[SHARE]
    for k in range(communities):
        for other in range(k):
            x, n = scalars[EPS] * pairs[k, other], units[k, other]
            odds = math.log(q / (1.0 - q)) + math.lgamma(n + 1.0) + x - (n + 1.0) * math.log1p(x)
            apart[k, other] = sparse and -math.log(1.0 / uniform() - 1.0) < odds
            many += apart[k, other]
    rest = communities * (communities - 1) // 2 - many
    scalars[SHARE] = min(max(np.random.beta(1.0 + many, FLAT_PAIRS + rest), 1e-12), 1.0 - 1e-12)  # noqa: NPY002
    now = log_background(scalars[EPS], inside, chain, units, pairs)
    for _ in range(STEPS):
        eps = scalars[EPS] * math.exp(EPS_STEP * np.random.normal())  # noqa: NPY002
        other_value = log_background(eps, inside, chain, units, pairs)
        if math.log(uniform()) < other_value - now:
            scalars[EPS], now = eps, other_value
    for k in range(communities):
        rates[k, k] = scalars[EPS] + own[k]
        for other in range(k):
            g = 1.0
            if apart[k, other]:
                x = scalars[EPS] * pairs[k, other]
                g = np.random.gamma(1.0 + units[k, other]) / (1.0 + x)  # noqa: NPY002
            rates[k, other] = rates[other, k] = max(scalars[EPS] * g, LEAST)


@njit(cache=True)
def move_scale(chain: Chain) -> None:
    """(DC10) Move all popularities and rates along the direction in which the likelihood does not change."""
    nodes, communities = chain.theta.shape
    rho, shapes = chain.scalars[SHAPE], communities + 1.0
    total, priors = rho * chain.popularity.sum(), chain.own.sum() + nodes * chain.scalars[EPS]
    t, now = 0.0, -total - priors
    for _ in range(STEPS):
        other = t + 1.5 / math.sqrt(nodes * rho + 4.0 * shapes) * np.random.normal()  # noqa: NPY002
        density = -total * math.exp(other) - priors * math.exp(-2.0 * other)
        if math.log(uniform()) < (nodes * rho - 2.0 * shapes) * (other - t) + density - now:
            t, now = other, density
    chain.popularity[:] *= math.exp(t)
    chain.theta[:] *= math.exp(t)
    chain.rates[:] *= math.exp(-2.0 * t)
    chain.own[:] *= math.exp(-2.0 * t)
    chain.scalars[EPS] *= math.exp(-2.0 * t)


@njit(cache=True)
def log_shape(rho: float, nodes: float, logs: float, total: float) -> float:
    """(DC10) Compute log p(log rho | r)."""
    prior = math.log(rho) - 2.0 * math.log1p(rho)
    return nodes * (rho * math.log(rho) - math.lgamma(rho)) + rho * (logs - total) + prior


@njit(cache=True)
def log_concentration(total: float, nodes: float, communities: int, said: Floats) -> float:
    """(Q3) Compute log p(log K alpha | rows); `said` counts shares that are not small and sums log(share/SMALL)."""
    alpha = total / communities
    result = (
        math.log(total) - total + nodes * math.lgamma(total) + said[0] * math.log(alpha) + alpha * said[1]
    )
    return result - nodes * communities * math.lgamma(1.0 + alpha) + total * nodes * math.log(SMALL)


@njit(cache=True)
def move_shapes(learn: bool, chain: Chain) -> None:
    """Move rho, and K alpha where it is learned, by random walks on their logarithms."""
    nodes, communities = chain.theta.shape
    logs, total = np.log(chain.popularity).sum(), chain.popularity.sum()
    said = np.zeros(2)
    for a in range(nodes):
        for k in range(communities):
            share = chain.theta[a, k] / chain.popularity[a]
            if share >= SMALL:
                said += np.array([1.0, math.log(share / SMALL)])
    for _ in range(STEPS):
        now, rho = chain.scalars[SHAPE], chain.scalars[SHAPE] * math.exp(RHO_STEP * np.random.normal())  # noqa: NPY002
        gain = log_shape(rho, nodes, logs, total) - log_shape(now, nodes, logs, total)
        if RHO[0] <= rho <= RHO[1] and math.log(uniform()) < gain:
            chain.scalars[SHAPE] = rho
        if learn:
            now = chain.scalars[TOTAL]
            other = now * math.exp(ALPHA_STEP * np.random.normal())  # noqa: NPY002
            gain = log_concentration(other, nodes, communities, said)
            gain -= log_concentration(now, nodes, communities, said)
            if K_ALPHA[0] <= other <= K_ALPHA[1] and math.log(uniform()) < gain:
                chain.scalars[TOTAL] = other


def both_ways(pairs: NDArray[np.integer[Any]], nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the partners of every node, one node after the other, and where each begins."""
    ends = np.concatenate([pairs, pairs[:, ::-1]]).astype(np.int64)
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    return np.append(0, np.cumsum(np.bincount(ends[:, 0], minlength=nodes))), ends[:, 1].copy()


def started(data: HeldOut, communities: int, key: tuple[int, int]) -> tuple[Network, Chain]:
    """Start a chain where the product's popularity model starts it."""
    graph, nodes = data.training, data.training.n_nodes
    with Workers(1) as workers:
        model = Model(communities, kind="popularity")
        sampler = PopularityScir(data, model, PopularityOptions(slots=communities), workers)
        state = sampler.init(key)
    ids, weights = state.rows.words[:, ::2], state.rows.weights[:, 1::2]
    a, slots = np.nonzero(np.logical_and.accumulate(ids >= 0, axis=1))
    pi = np.zeros((nodes, communities))
    pi[a, ids[a, slots]] = weights[a, slots]
    pi /= pi.sum(axis=1, keepdims=True)
    r, eps = state.rows.total.astype(np.float64), float(state.rates[-1])
    own = state.rates[:-1].copy()
    network = Network(
        *both_ways(graph.edges(), nodes), *both_ways(data.pairs, nodes), sampler.problem.non_link_weight
    )
    scalars = np.array([eps, 0.1, float(state.rho[0]), state.concentration])
    apart = np.zeros((communities, communities), dtype=np.bool_)
    return network, Chain(pi * r[:, None], r, eps + np.diag(own), own, apart, scalars)


def swept(network: Network, chain: Chain, sweeps: int, sparse: bool, held: int = HELD) -> Iterator[int]:
    """Make the sweeps of a chain; yield the number of each when it is done."""
    for sweep in range(sweeps):
        redraw_nodes(network, chain)
        update_rates(sparse and sweep >= held, *count_pairs(network, chain), chain)
        move_scale(chain)
        move_shapes(sweep >= held, chain)
        yield sweep
