"""On networks of 4 to 8 nodes the popularity model as a user runs it has its posterior: against draws of the prior.

The reference knows nothing of the sampler: draws of (DC2) are weighted by the likelihood (DC1). The list of networks,
K and K alpha is that of the assortative model (tests/samplers/scir/test_exact.py). Options are the default ones.
"""

import numpy as np
import pytest

from blockmix.graph.graph import Graph
from blockmix.graph.split import no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.concentration import LEAST, MOST
from blockmix.samplers.scir.popularity.options import PopularityOptions
from blockmix.samplers.scir.popularity.sampler import PopularityScir
from blockmix.samplers.scir.reference.kernels import dense_memberships

# Draws of the prior in one go, and how many times; sweeps of the chain, those before, and batches for its error.
DRAWS, REPEATS = 100_000, 10
SWEEPS, BEFORE, BATCHES = 60_000, 500, 50
# What the issue asks for, in posterior standard deviations, beside two Monte Carlo errors; larger errors hide too much.
ALLOWED, LARGEST_ERROR = 0.05, 0.1


def draw_memberships(totals, nodes, communities, rng):
    """Draw pi ~ Dirichlet(total/K) for many totals, through logarithms: gammas of small shapes are below 1e-300."""
    alpha = totals[:, None, None] / communities
    shape = (len(totals), nodes, communities)
    logs = np.log(rng.gamma(1.0 + alpha, size=shape)) + np.log(rng.random(shape)) / alpha
    pi = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return pi / pi.sum(axis=-1, keepdims=True)


def quantities(pi, r, rates, rho, total):
    """What does not depend on how communities are numbered: columns of shares and logarithms.

    Mean sum pi^2, an overlap, probabilities of two pairs, background, popularities of two nodes as r/(1 + r), log rho,
    log K alpha, strengths in increasing order.
    """

    def link(a, b):
        inside = (rates[..., :-1] * pi[..., a, :] * pi[..., b, :]).sum(axis=-1)
        return -np.expm1(-r[..., a] * r[..., b] * (rates[..., -1] + inside))

    overlap = (pi[..., 0, :] * pi[..., 1, :]).sum(axis=-1)
    squares = (pi**2).sum(axis=-1).mean(axis=-1)
    share = r / (1.0 + r)
    columns = [
        squares,
        overlap,
        link(0, 1),
        link(0, -1),
        -np.expm1(-rates[..., -1]),
        share[..., 0],
        share[..., -1],
    ]
    columns += [np.log(rho), np.log(total)]
    return np.concatenate(
        [np.stack(columns, axis=-1), -np.expm1(-np.sort(rates[..., :-1], axis=-1))], axis=-1
    )


def weighted_draws(linked, communities, total, rate):
    """Means, standard deviations and Monte Carlo errors of the posterior; rates of communities are Gamma(1, rate)."""
    rng, nodes = np.random.default_rng(1), len(linked)
    first, second, mass, squared = 0.0, 0.0, 0.0, 0.0
    for _ in range(REPEATS):
        totals = np.clip(rng.exponential(size=DRAWS), LEAST, MOST) if total is None else np.full(DRAWS, total)
        pi, rho = draw_memberships(totals, nodes, communities, rng), 1.0 / rng.random(DRAWS) - 1.0
        r = rng.gamma(rho[:, None], 1.0 / rho[:, None], (DRAWS, nodes))
        rates = rng.gamma(1.0, 1.0 / rate, (DRAWS, communities + 1))
        rates[:, -1] *= rate / nodes
        weight = np.ones(DRAWS)
        for a in range(nodes):
            for b in range(a + 1, nodes):
                inside = rates[:, -1] + (rates[:, :-1] * pi[:, a] * pi[:, b]).sum(axis=1)
                none = np.exp(-r[:, a] * r[:, b] * inside)
                weight *= 1.0 - none if linked[a, b] else none
        value = quantities(pi, r, rates, rho, totals)
        first, second = first + weight @ value, second + weight @ value**2
        mass, squared = mass + weight.sum(), squared + (weight**2).sum()
    mean = first / mass
    sd = np.sqrt(np.maximum(second / mass - mean**2, 0.0))
    return mean, sd, sd * np.sqrt(squared) / mass


def sampled(edges, nodes, communities, total):
    """Means of the batches of one chain."""
    model = Model(communities, alpha=None if total is None else total / communities, kind="popularity")
    data, found = no_hold_out(Graph.from_edges(edges, nodes=range(nodes))), []
    with Workers(1) as workers:
        sampler = PopularityScir(data, model, PopularityOptions(), workers)
        state = sampler.init((3, 4))
        for sweep in range(BEFORE + SWEEPS):
            sampler.step(state, (3, 4), sweep < BEFORE)
            if sweep >= BEFORE:
                pi = dense_memberships(state.rows, communities)
                r = state.rows.total.astype(float)
                found.append((pi, r, state.rates.copy(), float(state.rho[0]), state.concentration))
    values = quantities(*map(np.array, zip(*found, strict=True)))
    return values.reshape(BATCHES, -1, values.shape[1]).mean(axis=1)


def agrees(batches, exact):
    """Which quantities agree, and which could be off without being noticed."""
    mean, sd, noise = exact
    error = np.sqrt(batches.var(axis=0, ddof=1) / BATCHES + noise**2)
    near = np.abs(batches.mean(axis=0) - mean) < ALLOWED * sd + 2 * error + 1e-9
    return near, error > LARGEST_ERROR * sd + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edges", "nodes", "communities", "total"),
    [
        ([(0, 1), (1, 2), (2, 3)], 4, 2, 0.1),
        ([(0, 1), (1, 2), (0, 2), (2, 3)], 4, 3, 1.0),
        ([(0, 1), (1, 2), (2, 3), (0, 3)], 5, 3, 3.0),
        ([(0, 1), (1, 2), (3, 4)], 5, 10, 10.0),
        ([(0, 1), (1, 2)], 4, 2, None),
        ([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (2, 3)], 6, 2, 0.3),
        ([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5)], 7, 3, None),
        ([(0, 1), (1, 2), (2, 3), (0, 3), (4, 5), (5, 6), (0, 4)], 8, 3, 3.0),
    ],
)
def test_the_default_is_the_posterior_of_tiny_networks(edges, nodes, communities, total):
    """K alpha is given, or learned with the rest; the posterior of another prior of the rates is told apart."""
    linked = np.zeros((nodes, nodes), dtype=bool)
    linked[tuple(np.array(edges).T)] = True
    found = sampled(edges, nodes, communities, total)
    near, unsure = agrees(found, weighted_draws(linked, communities, total, 1.0))
    assert near.all()
    assert not unsure.any()
    assert not agrees(found, weighted_draws(linked, communities, total, 1.5))[0].all()
