"""Samplers are calibrated: under their own prior they give back the prior, and true parameters rank uniformly.

Geweke (2004) alternates a simulation of the data given the parameters with a step of the sampler given the data. If
the step leaves the posterior invariant, the parameters keep their prior law for ever; means over the run are compared
with the prior's by batch means. A step that is a little wrong drives them away, because the error is fed
back into the data.

Simulation-based calibration (Talts et al. 2018) draws parameters from the prior and data from them, samples the
posterior, and ranks the truth among the draws: all ranks are equally likely, which a chi-square test decides.

False alarms: every p-value is compared with 1e-3 over the number of comparisons of its test, so each of the tests
alarms for one seed in 1000. Seeds are fixed. Every test is made again with data whose links are 10% more
likely than the sampler believes, which is a sampler whose likelihood is off by 10%, and must fail.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from blockmix.graph.graph import Graph
from blockmix.graph.split import no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.cgs.sampler import Cgs, CgsOptions
from blockmix.samplers.lmc.sampler import Lmc, LmcOptions
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.sampler import Scir
from blockmix.tables.layout import Network, Strengths

FALSE_ALARM = 1e-3
WRONG = 1.1


@dataclass
class Prior:
    """The prior that parameters are drawn from, K = 2; the background is learned where it is None."""

    nodes: int
    alpha: float
    eta: tuple[float, float]
    background: float | None = None

    @property
    def model(self):
        return Model(2, alpha=self.alpha, eta=self.eta, background=self.background)

    def draw(self, rng):
        """Memberships and strengths, the background last."""
        pi = rng.dirichlet([self.alpha] * 2, self.nodes)
        last = rng.random() if self.background is None else self.background
        return pi, np.append(rng.beta(*self.eta, 2), last)

    def upper(self):
        return np.triu_indices(self.nodes, 1)


def probabilities(pi, value, upper):
    """(M1) of every pair."""
    both = pi[upper[0]] * pi[upper[1]]
    return value[-1] + both @ (value[:-1] - value[-1])


def simulated(rng, prior, pi, value, factor):
    """Links of every pair, a factor more likely than the model says."""
    upper = prior.upper()
    linked = np.zeros((prior.nodes, prior.nodes), dtype=bool)
    linked[upper] = rng.random(len(upper[0])) < np.minimum(factor * probabilities(pi, value, upper), 1.0)
    return linked | linked.T


def network_of(linked):
    """A network without held-out pairs as kernels see it; faster than building a graph."""
    ends = np.nonzero(linked)
    offsets = np.searchsorted(ends[0], np.arange(len(linked) + 1)).astype(np.int64)
    return Network(offsets, ends[1].astype(np.int32), np.zeros_like(offsets), np.empty(0, dtype=np.int32))


def dense(sampler, state):
    pi = sampler.memberships(state).weights[:, 1::2].astype(np.float64)
    return pi / pi.sum(axis=1, keepdims=True)


# --- how each sampler is put at given parameters and data ---------------------------------------------------


class CgsBench:
    """`cgs` on data that change: indicators are drawn anew given parameters and data, which is exact."""

    def __init__(self, prior, workers):
        data = no_hold_out(Graph.from_edges([(0, 1)], nodes=range(prior.nodes)))
        self.sampler = Cgs(data, prior.model, CgsOptions(), workers)

    def at(self, pi, value, linked, rng):
        self.sampler.network = network_of(linked)
        self.key = tuple(rng.integers(0, 2**32, 2))
        return self.sampler.start_at(pi, value, self.key)


class LmcBench:
    """`lmc` on data that change: the total of a row, whose law depends on the degree, is drawn anew too."""

    def __init__(self, prior, workers):
        data = no_hold_out(Graph.from_edges([(0, 1)], nodes=range(prior.nodes)))
        self.prior = prior
        self.sampler = Lmc(data, prior.model, LmcOptions(step=0.5, refresh=2), workers)

    def at(self, pi, value, linked, rng):
        self.sampler.network = network_of(linked)
        self.sampler.expansion = 1.0 + linked.sum(axis=1)
        self.key = tuple(rng.integers(0, 2**32, 2))
        expansion = np.full(3, 6.0)
        state = self.sampler.start_at(pi, Strengths(value.copy(), rng.gamma(2.0 + expansion), expansion))
        state.phi[:] = pi * rng.gamma(2 * self.prior.alpha + self.sampler.expansion)[:, None]
        return state


class ScirBench:
    """`scir` by its diffusion with small steps, three nodes at a time, every non-link visited."""

    OPTIONS = ScirOptions(
        moves="cir", form="dense", step=0.2, neighbors=1000, non_links=1000, smallest=1e-9, cut=0.0, batches=4
    )

    def __init__(self, prior, workers):
        self.prior, self.workers = prior, workers

    def at(self, pi, value, linked, rng):
        graph = Graph.from_edges(np.argwhere(np.triu(linked)), nodes=range(self.prior.nodes))
        self.sampler = Scir(no_hold_out(graph), self.prior.model, self.OPTIONS, self.workers)
        self.key = tuple(rng.integers(0, 2**32, 2))
        rows = self.sampler.init(self.key).rows
        rows.weights[:, 1::2] = pi
        rows.total[:] = rng.gamma(2 * self.prior.alpha + graph.degrees)
        expansion = np.full(3, 6.0)
        return self.sampler.start_at(rows, Strengths(value.copy(), rng.gamma(2.0 + expansion), expansion))


# --- Geweke's joint test ------------------------------------------------------------------------------------

JOINT = Prior(6, 0.8, (2.0, 3.0))
ITERATIONS, BATCHES = 12_000, 40


def joint_summary(pi, value, upper):
    """Functions of the parameters whose prior means are known."""
    return [
        pi[:, 0].mean(), (pi**2).sum(axis=1).mean(), (pi[upper[0]] * pi[upper[1]]).sum(axis=1).mean(),
        value[0], value[1], value[0] ** 2, value[0] * value[1], value[2], value[2] ** 2,
        probabilities(pi, value, upper).mean(),
    ]  # fmt: skip


def joint_means(prior):
    a, (one, zero) = prior.alpha, prior.eta
    beta = one / (one + zero)
    square = beta * (one + 1) / (one + zero + 1)
    return np.array(
        [0.5, (a + 1) / (2 * a + 1), 0.5, beta, beta, square, beta**2, 1 / 2, 1 / 3, 0.25 + beta / 2]
    )


def successive_conditional(bench_class, factor, seed, iterations=ITERATIONS):
    """Summaries of the parameters over a run that alternates data and one step of the sampler."""
    rng, upper = np.random.default_rng(seed), JOINT.upper()
    pi, value = JOINT.draw(rng)
    out = []
    with Workers(1) as workers:
        bench = bench_class(JOINT, workers)
        for _ in range(iterations):
            state = bench.at(pi, value, simulated(rng, JOINT, pi, value, factor), rng)
            bench.sampler.step(state, bench.key, False)
            pi, value = dense(bench.sampler, state), bench.sampler.strengths(state).copy()
            out.append(joint_summary(pi, value, upper))
    return np.array(out)


def geweke_z(draws):
    """Batch means against the prior; a batch of 300 iterations is some ten times as long as the chain's memory."""
    means = draws.reshape(BATCHES, -1, draws.shape[1]).mean(axis=1)
    return (means.mean(axis=0) - joint_means(JOINT)) / (means.std(axis=0, ddof=1) / np.sqrt(BATCHES))


@pytest.mark.slow
@pytest.mark.parametrize("bench", [CgsBench, LmcBench])
def test_alternating_with_the_data_gives_back_the_prior(bench):
    limit = stats.t.isf(FALSE_ALARM / (2 * len(joint_means(JOINT))), BATCHES - 1)
    assert np.abs(geweke_z(successive_conditional(bench, 1.0, seed=1))).max() < limit
    wrong = successive_conditional(bench, WRONG, seed=1, iterations=ITERATIONS // 2)
    assert np.abs(geweke_z(wrong)).max() > limit


def test_the_means_of_the_prior_are_what_they_are_said_to_be():
    rng, upper = np.random.default_rng(2), JOINT.upper()
    draws = np.array([joint_summary(*JOINT.draw(rng), upper) for _ in range(8000)])
    limit = stats.t.isf(FALSE_ALARM / (2 * draws.shape[1]), BATCHES - 1)
    assert np.abs(geweke_z(draws)).max() < limit


# --- simulation-based calibration ---------------------------------------------------------------------------

# bench: the prior, the number of networks, the draws from each posterior and the sweeps between two of them
CALIBRATION = {
    "cgs": (CgsBench, Prior(12, 0.7, (2.0, 3.0)), 200, 9, 10),
    "lmc": (LmcBench, Prior(12, 0.7, (2.0, 3.0)), 200, 9, 20),
    "scir": (ScirBench, Prior(12, 0.7, (2.0, 3.0)), 120, 5, 40),
}


def ranked_summary(pi, value, upper):
    """Functions of the parameters that do not depend on the labels."""
    p = probabilities(pi, value, upper)
    return [value[:2].min(), value[:2].max(), value[2], p.mean(), p[0], (pi**2).sum(axis=1).mean()]


def ranks(bench_class, prior, networks, draws, thin, factor, seed):
    """How many draws lie below the truth, for every network and quantity.

    Chains begin at the truth, which is a draw from the posterior, and forget it before the first draw.
    """
    rng, upper = np.random.default_rng(seed), prior.upper()
    out = np.zeros((networks, 6), dtype=np.int64)
    with Workers(1) as workers:
        bench = bench_class(prior, workers)
        for i in range(networks):
            pi, value = prior.draw(rng)
            truth = np.array(ranked_summary(pi, value, upper))
            state = bench.at(pi, value, simulated(rng, prior, pi, value, factor), rng)
            for _ in range(draws):
                for _ in range(thin):
                    bench.sampler.step(state, bench.key, False)
                found = dense(bench.sampler, state), bench.sampler.strengths(state)
                out[i] += ranked_summary(*found, upper) < truth
    return out


def uniformity(found, draws, fixed_background):
    """Chi-square p-values of the ranks of every quantity but a fixed background."""
    columns = [j for j in range(found.shape[1]) if not (fixed_background and j == 2)]
    counts = [np.bincount(found[:, j], minlength=draws + 1) for j in columns]
    return np.array([stats.chisquare(count).pvalue for count in counts])


@pytest.mark.slow
@pytest.mark.parametrize("name", CALIBRATION)
def test_the_truth_ranks_uniformly_among_the_draws(name):
    bench, prior, networks, draws, thin = CALIBRATION[name]
    fixed = prior.background is not None
    p = uniformity(ranks(bench, prior, networks, draws, thin, 1.0, seed=3), draws, fixed)
    assert p.min() > FALSE_ALARM / len(p)
    p = uniformity(ranks(bench, prior, networks, draws, thin, WRONG, seed=3), draws, fixed)
    assert p.min() < FALSE_ALARM / len(p)
