"""On two to five nodes the sampler has the posterior of (DC1) and (DC2): by quadrature, and by weighted draws.

With rates and rho held, means over many independent copies are compared with quadrature over every r_a and pi_a. With
everything learned, means of one long chain are compared with draws from the prior that are weighted by the likelihood.
Gaps are compared with Student quantiles of their standard errors, at a false-alarm rate of 1e-3 for the whole file.
Seeds are fixed. Every case also shows that it can fail: the posterior of other parameters is told apart.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import roots_genlaguerre, roots_jacobi

from blockmix.graph.graph import Graph
from blockmix.graph.split import no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.concentration import LEAST, MOST
from blockmix.samplers.scir.popularity.options import PopularityOptions
from blockmix.samplers.scir.popularity.sampler import PopularityScir

PAIR, PATH, TRIANGLE = [(0, 1)], [(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2)]
STAR, KITE = [(0, 1), (0, 2), (0, 3)], [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]
BRIDGE = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5)]
RATES, OTHER_RATES, BACKGROUND = (2.0, 0.4), (1.2, 0.4), 0.15
ALPHA = 0.7
COMPARISONS = 9 * 12 + 3 * 9
FALSE_ALARM = 1e-3 / COMPARISONS
# A birth below this is left out; at alpha = 0.7 that is a share smallest^alpha of the time.
SMALLEST = 1e-9
# Relative error of the quadrature over r in the worst of these cases, by comparison with twice as many points.
QUADRATURE = 3e-4


def node_grid(alpha, rho, points=(10, 24)):
    """Points (pi_1, r) of a product rule with the prior's density as weight, and the weights."""
    x, first = roots_jacobi(points[0], alpha - 1.0, alpha - 1.0)
    y, second = roots_genlaguerre(points[1], rho - 1.0)
    pi, r = np.meshgrid((x + 1.0) / 2.0, y / rho, indexing="ij")
    return pi.ravel(), r.ravel(), np.outer(first / first.sum(), second / second.sum()).ravel()


def presence(rate, weight):
    """Likelihood of a link of which only the presence is seen."""
    return 1.0 - np.exp(-rate)


def count(rate, weight):
    """Likelihood of a Poisson count."""
    return stats.poisson.pmf(weight, rate)


def amount(unit):
    """Likelihood of a sum of a Poisson number of Gamma sizes of this shape and rate, as a function."""

    def density(rate, weight):
        m = np.arange(1, 65)
        sizes = stats.gamma.pdf(weight, unit[0] * m, scale=1.0 / unit[1])
        return stats.poisson.pmf(m, np.asarray(rate)[..., None]) @ sizes

    return density


def quadrature(edges, nodes, alpha, rates, background, rho, weights=None, law=presence, **options):
    """E[pi_a1], E[pi_a1^2] and E[r_a] of every node, on two or three nodes: a sum over the grid of each."""
    pi, r, weight = node_grid(alpha, rho, **options)
    shared = rates[0] * np.outer(pi, pi) + rates[1] * np.outer(1 - pi, 1 - pi)
    rate = np.outer(r, r) * (background + shared)
    links = dict(zip(map(tuple, map(sorted, edges)), weights or [1.0] * len(edges), strict=True))

    def pair(a, b):
        return law(rate, links[a, b]) if (a, b) in links else np.exp(-rate)

    if nodes == 2:
        laws = [weight * (pair(0, 1) @ weight), weight * (pair(0, 1).T @ weight)]
    else:
        first, second, third = pair(0, 1), pair(1, 2), pair(0, 2)
        through = (second * weight) @ third.T  # over node 2: rows are node 1, columns node 0
        laws = [weight * ((first * through.T) @ weight), weight * ((first * through.T).T @ weight)]
        through = (first.T * weight) @ third  # over node 0: rows are node 1, columns node 2
        laws.append(weight * ((second * through).T @ weight))
    return np.array([[law @ pi, law @ pi**2, law @ r] / law.sum() for law in laws]).T


def held(sampler):
    """Leave rates and rho where they are, and clear what the node moves have gathered."""
    sampler.kernels.update_rates = lambda state, sweep: None


def sampled(
    tiny, edges, nodes, rho, options, rates=RATES, sweeps=1500, copies=60, weights=None, law=None, unit=None
):
    """Means over time of pi_a1, its square and r_a in every copy: three arrays of copies x nodes.

    The shape and the rate of `unit` are those of amounts as they are, not in units of their mean.
    """
    data = tiny.copies_of(edges, nodes, copies, weights)
    with Workers(1) as workers:
        settings = PopularityOptions(slots=2, smallest=SMALLEST, **options)
        model = Model(2, alpha=ALPHA, kind="popularity", weights=law)
        sampler = PopularityScir(data, model, settings, workers)
        held(sampler)
        rows = tiny.even_rows(nodes * copies, 2, 2, 1.0)
        state = sampler.start_at(rows, 1.0, np.append(rates, BACKGROUND), rho)
        if unit is not None:
            state.unit[:] = unit[0], unit[1] * sampler.problem.weights.scale
        sums = np.zeros((3, nodes * copies))
        for sweep in range(100 + sweeps):
            sampler.step(state, (7, 8), False)
            if sweep >= 100:
                x = tiny.first_memberships(state.rows)
                sums += x, x * x, state.rows.total
    return sums.reshape(3, copies, nodes) / sweeps


def agrees(found, exact):
    """Whether all means over copies agree with the exact ones."""
    error = found.std(axis=1, ddof=1) / np.sqrt(found.shape[1])
    limit = error * stats.t.isf(FALSE_ALARM / 2, found.shape[1] - 1) + QUADRATURE * np.abs(exact)
    return bool((np.abs(found.mean(axis=1) - exact) <= limit).all())


@pytest.mark.parametrize("rho", [0.8, 3.0])
@pytest.mark.parametrize(("edges", "nodes"), [(PAIR, 2), (PATH, 3), (TRIANGLE, 3)])
def test_quadrature_does_not_depend_on_its_points(edges, nodes, rho):
    few, many = (
        quadrature(edges, nodes, ALPHA, RATES, BACKGROUND, rho, points=points)
        for points in ((10, 24), (16, 48))
    )
    np.testing.assert_allclose(few, many, rtol=QUADRATURE)


@pytest.mark.parametrize("rho", [0.8, 3.0])
@pytest.mark.parametrize(("edges", "nodes"), [(PAIR, 2), (PATH, 3), (TRIANGLE, 3)])
def test_memberships_and_popularities_have_the_moments_of_the_posterior(tiny, edges, nodes, rho):
    """rho on both sides of K alpha = 1.4: the exponent of the test (DC8) has either sign."""
    found = sampled(tiny, edges, nodes, rho, {})
    assert agrees(found, quadrature(edges, nodes, ALPHA, RATES, BACKGROUND, rho))
    assert not agrees(found, quadrature(edges, nodes, ALPHA, OTHER_RATES, BACKGROUND, rho))
    assert not agrees(found, quadrature(edges, nodes, ALPHA, RATES, BACKGROUND, 1.3 * rho))


def test_an_isolated_node_has_its_posterior_too(tiny):
    found = sampled(tiny, PAIR, 3, 0.8, {})
    assert agrees(found, quadrature(PAIR, 3, ALPHA, RATES, BACKGROUND, 0.8))


def test_as_many_batches_as_nodes_of_a_copy_is_the_same_law(tiny):
    found = sampled(tiny, PATH, 3, 3.0, {"batches": 3})
    assert agrees(found, quadrature(PATH, 3, ALPHA, RATES, BACKGROUND, 3.0))


@pytest.mark.parametrize(("edges", "nodes", "weights"), [(PAIR, 2, [3.0]), (TRIANGLE, 3, [4.0, 1.0, 2.0])])
def test_counts_give_the_posterior_of_counts(tiny, edges, nodes, weights):
    """Not that of links alone: the units of a link are its weight."""
    found = sampled(tiny, edges, nodes, 3.0, {}, weights=weights, law="counts")
    assert agrees(found, quadrature(edges, nodes, ALPHA, RATES, BACKGROUND, 3.0, weights, count))
    assert not agrees(found, quadrature(edges, nodes, ALPHA, RATES, BACKGROUND, 3.0))


@pytest.mark.parametrize(("edges", "nodes", "weights"), [(PAIR, 2, [6.5]), (PATH, 3, [0.3, 4.0])])
def test_amounts_give_the_posterior_of_amounts(tiny, edges, nodes, weights):
    """With shape and rate of a unit's size held; that of other sizes, and of links alone, are told apart."""
    unit = (2.0, 1.5)
    found = sampled(tiny, edges, nodes, 3.0, {}, weights=weights, law="amounts", unit=unit)
    assert agrees(found, quadrature(edges, nodes, ALPHA, RATES, BACKGROUND, 3.0, weights, amount(unit)))
    assert not agrees(
        found, quadrature(edges, nodes, ALPHA, RATES, BACKGROUND, 3.0, weights, amount((2.0, 3.0)))
    )
    assert not agrees(found, quadrature(edges, nodes, ALPHA, RATES, BACKGROUND, 3.0))


def prior_draws(nodes, alpha, eta, rng, size):
    """Draws of (DC2) with two communities: popularities, memberships in the first, rates with the background, rho.

    Without alpha, K alpha is drawn from its prior (Q1).
    """
    if alpha is None:
        alpha = np.clip(rng.exponential(size=(size, 1)), LEAST, MOST) / 2.0
    rho = 1.0 / rng.random(size) - 1.0
    r = rng.gamma(rho[:, None], 1.0 / rho[:, None], (size, nodes))
    pi = rng.beta(alpha, alpha, (size, nodes))
    rates = np.column_stack([rng.gamma(eta[0], 1.0 / eta[1], (size, 2)), rng.gamma(1.0, 1.0 / nodes, size)])
    return r, pi, rates, rho


def link_probabilities(r, pi, rates):
    """P(link) of every pair a < b under every draw, as an array of draws x nodes x nodes."""
    shared = rates[:, 0, None, None] * pi[:, :, None] * pi[:, None]
    shared += rates[:, 1, None, None] * (1 - pi)[:, :, None] * (1 - pi)[:, None]
    return -np.expm1(-r[:, :, None] * r[:, None] * (rates[:, 2, None, None] + shared))


def functions(r, pi, rates, rho):
    """What is compared: none of it depends on how the two communities are numbered."""
    p = link_probabilities(r, pi, rates)
    together = pi[:, 0] * pi[:, 1] + (1 - pi[:, 0]) * (1 - pi[:, 1])
    w = np.sort(rates[:, :2], axis=1)
    return np.column_stack(
        [np.log(w), np.log(rates[:, 2]), np.log(rho), r[:, 0], r[:, -1], together, p[:, 0, 1], p[:, 1, -1]]
    )


def weighted_means(edges, nodes, alpha, eta, size=80_000, repeats=40):
    """Posterior means of the functions from draws of the prior, once for each repeat."""
    rng = np.random.default_rng(1)
    upper = np.triu_indices(nodes, 1)
    links = np.zeros((nodes, nodes), dtype=bool)
    links[tuple(np.array(edges).T)] = True
    found = []
    for _ in range(repeats):
        draws = prior_draws(nodes, alpha, eta, rng, size)
        p = link_probabilities(*draws[:3])[:, *upper]
        weight = np.where(links[upper], p, 1.0 - p).prod(axis=1)
        found.append(weight @ functions(*draws) / weight.sum())
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edges", "nodes", "eta", "alpha"),
    [(STAR, 4, (1.0, 1.0), ALPHA), (KITE, 5, (2.0, 3.0), ALPHA), (BRIDGE, 6, (1.0, 1.0), None)],
)
def test_rates_background_and_spread_are_learned_with_the_rest(edges, nodes, eta, alpha):
    """One chain of 60,000 sweeps in 40 batches; the draws of the prior have errors of their own."""
    exact = weighted_means(edges, nodes, alpha, eta)
    options = PopularityOptions(slots=2, smallest=SMALLEST, start="random")
    with Workers(1) as workers:
        model = Model(2, alpha=alpha, eta=eta, kind="popularity")
        sampler = PopularityScir(no_hold_out(Graph.from_edges(edges)), model, options, workers)
        state, values = sampler.init((3, 4)), []
        for sweep in range(60_500):
            sampler.step(state, (3, 4), False)
            if sweep >= 500:
                ids, weights = state.rows.words[:, ::2], state.rows.weights[:, 1::2]
                first = np.where(ids == 0, weights, 0.0).sum(axis=1, where=np.cumprod(ids >= 0, axis=1) > 0)
                values.append(
                    (
                        state.rows.total.astype(float),
                        first.astype(float),
                        state.rates.copy(),
                        float(state.rho[0]),
                    )
                )
    found = functions(*map(np.array, zip(*values, strict=True))).reshape(40, -1, exact.shape[1]).mean(axis=1)
    assert agree(found, exact)
    assert not agree(found, weighted_means(edges, nodes, alpha, (eta[0] + 0.5, eta[1])))


def agree(found, exact):
    """Whether the means of batches of a chain agree with repeated weighted draws; both have errors."""
    error = np.hypot(found.std(axis=0, ddof=1) / np.sqrt(40), exact.std(axis=0, ddof=1) / np.sqrt(len(exact)))
    gap = (found.mean(axis=0) - exact.mean(axis=0)) / error
    return bool((np.abs(gap) <= stats.t.isf(FALSE_ALARM / 2, len(exact) - 1)).all())
