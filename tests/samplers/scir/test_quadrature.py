"""On networks of two and three nodes the moments are those of quadrature: of the posterior, or of a move's own law.

The diffusion and the indicators are compared with the exact posterior; the indicators with non-links in closed form
(G4), as on large networks, with the law that this defines, which is within 0.006 of the posterior on these networks.

Every case runs many independent copies side by side; the means over copies are compared with a Student
quantile of their own standard error, at a false-alarm rate of 1e-3 for the whole file, beyond a named
allowance for what the method says it gets wrong: the step h of the diffusion. Seeds are fixed. The cases also
show that they can fail: the posterior of other strengths is told apart.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import roots_jacobi, roots_legendre

from blockmix.graph.graph import Graph
from blockmix.graph.split import no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.sampler import Scir

PAIR, PATH = [(0, 1)], [(0, 1), (1, 2)]
BETA, WRONG_BETA, EQUAL_BETA, DELTA = (0.9, 0.4), (0.7, 0.4), (0.5, 0.5), 0.05
# alpha: the smallest phi kept. Components below it are dropped for a share smallest^alpha of the time.
SMALLEST = {0.7: 1e-9, 0.05: 1e-30}
# alpha: error of the diffusion at h = 0.1, in proportion to h (measured: 0.001 and 0.03).
ALLOWANCE = {0.7: 0.003, 0.05: 0.04}
# The default alpha, K = 2, of two linked nodes and one without links.
DEFAULT_ALPHA = (0.15, 0.15, 1.5)
COMPARISONS = 18 * 6 + 4 + 3
FALSE_ALARM = 1e-3 / COMPARISONS


def distance(samples, exact):
    """How far the mean over copies is from the exact value, and the quantile of its standard error."""
    copies = len(samples)
    error = samples.std(axis=0, ddof=1) / np.sqrt(copies)
    return np.abs(samples.mean(axis=0) - exact), error * stats.t.isf(FALSE_ALARM / 2, copies - 1)


def agrees(found, exact, allowance=0.0):
    """Whether both moments of all nodes agree within Monte Carlo error and the allowance."""
    pairs = [distance(samples, value) for samples, value in zip(found, exact, strict=True)]
    return all((gap <= noise + allowance).all() for gap, noise in pairs)


def test_quadrature_gives_the_figures_of_the_method(tiny):
    """MATH (E2), (S2) and (P1), to their four and three digits."""
    first, _ = tiny.posterior_moments(PAIR, 2, 0.7, BETA, DELTA)
    assert first[0] == pytest.approx(0.5743, abs=2e-4)
    first, second = tiny.posterior_moments(PATH, 3, 0.7, BETA, DELTA)
    assert (first[0], first[1], second[0]) == pytest.approx((0.5341, 0.6123, 0.3831), abs=1e-4)
    first, _ = tiny.posterior_moments(PATH, 3, 0.05, BETA, DELTA)
    assert first[1] == pytest.approx(0.605, abs=5e-4)


def test_resumming_the_non_links_moves_these_posteriors_by_a_few_thousandths(tiny):
    for alpha in SMALLEST:
        exact = tiny.posterior_moments(PATH, 3, alpha, BETA, DELTA)
        resummed = tiny.resummed_moments(PATH, 3, alpha, BETA, DELTA)
        assert np.abs(np.subtract(exact, resummed)).max() < 6e-3


def test_without_non_links_both_references_are_one(tiny):
    exact, other = (f(PAIR, 2, 0.7, BETA, DELTA) for f in (tiny.posterior_moments, tiny.resummed_moments))
    np.testing.assert_allclose(exact, other, rtol=1e-10)


@pytest.mark.parametrize("alpha", SMALLEST)
@pytest.mark.parametrize(("edges", "nodes"), [(PAIR, 2), (PATH, 3)])
@pytest.mark.parametrize("exact", [True, False])
def test_indicators_sample_the_posterior_or_the_law_of_the_closed_form(tiny, edges, nodes, alpha, exact):
    """No allowance: against quadrature, with non-links as they are, or resummed as (G4) does in closed form."""
    options = {"moves": "indicators", "slots": 2, "smallest": SMALLEST[alpha], "cut": 0.0, "exact": exact}
    found = tiny.sampled_moments(edges, nodes, alpha, BETA, DELTA, options, sweeps=3000, copies=50)
    moments = tiny.posterior_moments if exact else tiny.resummed_moments
    assert agrees(found, moments(edges, nodes, alpha, BETA, DELTA))
    assert not agrees(found, moments(edges, nodes, alpha, WRONG_BETA, DELTA))


def test_indicators_sample_the_posterior_of_an_isolated_node_by_default(tiny):
    """It is all births: cut off where others are, it would be at .292 where the posterior has .309."""
    found, _ = tiny.sampled_moments(PAIR, 3, 0.15, BETA, DELTA, {"slots": 2}, sweeps=1500, copies=150)
    exact, _ = tiny.posterior_moments(PAIR, 3, 0.15, BETA, DELTA)
    gap, noise = distance(found, exact)
    assert gap[2] <= noise[2]
    assert noise[2] < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_by_default_the_diffusion_has_another_concentration_for_nodes_without_links(tiny, form):
    options = {"moves": "cir", "form": form, "slots": 2, "smallest": 1e-20, "cut": 0.0}
    options |= {"non_links": 10**6, "step": 0.1}
    found = tiny.sampled_moments(PAIR, 3, None, BETA, DELTA, options, 6000, copies=60)
    assert agrees(found, tiny.posterior_moments(PAIR, 3, DEFAULT_ALPHA, BETA, DELTA), 0.02)
    assert not agrees(found, tiny.posterior_moments(PAIR, 3, DEFAULT_ALPHA[0], BETA, DELTA), 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["sparse", "dense"])
@pytest.mark.parametrize(("alpha", "sweeps"), [(0.7, 6000), (0.05, 8000)])
@pytest.mark.parametrize(("edges", "nodes"), [(PAIR, 2), (PATH, 3)])
def test_the_diffusion_samples_the_posterior_at_small_steps(tiny, edges, nodes, alpha, sweeps, form):
    options = {"moves": "cir", "form": form, "slots": 2, "smallest": SMALLEST[alpha], "cut": 0.0}
    options |= {"non_links": 10**6, "step": 0.1}
    found = tiny.sampled_moments(edges, nodes, alpha, BETA, DELTA, options, sweeps, copies=60)
    assert agrees(found, tiny.posterior_moments(edges, nodes, alpha, BETA, DELTA), ALLOWANCE[alpha])
    if alpha == 0.7:
        wrong = tiny.posterior_moments(edges, nodes, alpha, EQUAL_BETA, DELTA)
        assert not agrees(found, wrong, ALLOWANCE[alpha])


def beta_moments(alpha, background):
    """E[max beta] and E[beta_1 + beta_2] given one link between two nodes, K = 2, beta uniform."""
    points, weights = roots_jacobi(8, alpha - 1.0, alpha - 1.0)
    x, w = (points + 1) / 2, weights / weights.sum()
    points, weights = roots_legendre(200)
    b, v = (points + 1) / 2, weights / 2
    both = (x[:, None] * x) * w[:, None] * w
    met = [both.sum(), ((1 - x)[:, None] * (1 - x) * w[:, None] * w).sum()]
    likelihood = background + (b[:, None] - background) * met[0] + (b - background) * met[1]
    mass = likelihood * v[:, None] * v
    larger, total = np.maximum(b[:, None], b), b[:, None] + b
    return np.array([(mass * larger).sum(), (mass * total).sum()]) / mass.sum()


@pytest.mark.slow
@pytest.mark.parametrize("moves", ["indicators", "cir"])
def test_strengths_are_sampled_with_the_memberships(moves):
    """Two nodes, one link, strengths unknown: their moments by quadrature over strengths and memberships.

    The strengths move by the diffusion in both cases; 0.01 is allowed for its step of 0.2.
    """
    alpha, background, batches = 0.7, 0.05, 40
    options = ScirOptions(
        moves=moves, form="sparse", slots=2, smallest=1e-9, cut=0.0, batches=2, step=0.2, start="random"
    )
    with Workers(1) as workers:
        data = no_hold_out(Graph.from_edges(PAIR))
        sampler = Scir(data, Model(2, alpha=alpha, background=background), options, workers)
        state = sampler.init((3, 4))
        draws = np.empty((60_000, 2))
        for i in range(len(draws)):
            sampler.step(state, (3, 4), i < 100)
            value = state.strengths.value[:2]
            draws[i] = value.max(), value.sum()
    # batch means of 1500 sweeps are independent: the chain forgets in about 50
    means = draws.reshape(batches, -1, 2).mean(axis=1)[1:]
    gap, noise = distance(means, beta_moments(alpha, background))
    assert (gap <= noise + 0.01).all()
    # the prior alone, E[max] = 2/3 and E[sum] = 1, is told apart
    gap, noise = distance(means, np.array([2 / 3, 1.0]))
    assert (gap > noise + 0.01).any()
