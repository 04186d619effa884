"""Calibration of any sampler in the configuration that a user runs: two tests against draws from the prior.

Simulation-based calibration (Talts et al. 2018) draws parameters from the prior and a network from them, runs
`blockmix.fit` on the network as a user would, and counts the posterior samples below the true value. For an exact
posterior all ranks are equally likely.

Geweke's joint test (2004) alternates the simulation of a network given the parameters with one sweep of the sampler
given the network. If the sweep leaves the posterior invariant, the parameters keep their prior law; an error of the
sweep enters the next network, so that small errors grow.

All quantities are free of labels: no community has to be matched with another. `benchmarks/calibration.py` prints the
tables for any sampler; `test_calibration.py` states what holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import blockmix as bm
from blockmix.graph.graph import Graph
from blockmix.graph.split import no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers import sampler_class, sampler_options
from blockmix.samplers.scir.concentration import LEAST, MOST
from blockmix.samplers.scir.popularity.frame import MOST_UNITS
from blockmix.samplers.scir.popularity.weights import LEAST_SHAPE, MOST_SHAPE
from blockmix.tables.layout import Strengths
from blockmix.tables.packed import WEIGHT_SCALE

# Memberships of less than 0.001 are not stored in posterior samples. An overlap nearer than this to zero or one counts
# as equal to it, and equal values are ranked at random.
RESOLUTION = 0.01
# Popularities below this have no effect on any link, and their logarithms would dominate a spread.
LEAST_POPULARITY = 1e-3
# Batches whose means give the standard error of Geweke's test. Of 12,000 iterations a batch has 300, some ten times as
# many as the chain takes to forget its state.
BATCHES = 40


class Parameters(NamedTuple):
    """Memberships (nodes x communities), strengths, and the background.

    With popularities, strengths and background are rates (DC1). `rho` is their shape, and `concentration` is K alpha
    where it is learned; samples keep neither. `unit` are shape and rate of the size of a unit of an amount (DC13).
    """

    memberships: NDArray[np.float64]
    strengths: NDArray[np.float64]
    background: float
    popularity: NDArray[np.float64] | None = None
    rho: float = float("nan")
    concentration: float = float("nan")
    unit: tuple[float, float] | None = None


@dataclass(frozen=True)
class Setup:
    """A sampler, the arguments that a user gives to `fit`, and the prior that networks of so many nodes come from.

    `arguments` are those of `fit` and options of the sampler; all others keep their defaults, but for the hold-out,
    which would take pairs away, and the threads, which change no bit. For samplers that do not learn it the model must
    state its alpha: left out, alpha depends on which nodes have links, and there is no prior to draw from.
    """

    sampler: str
    nodes: int
    model: Model
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.model.alpha is None and self.sampler != "scir":
            raise ValueError("state the alpha of the model: the default depends on the network")

    def fit(self, graph: Graph, seed: int) -> list[Parameters]:
        """Run `blockmix.fit` on all pairs and return the posterior samples kept, one chain after the other."""
        prior = {name: getattr(self.model, name) for name in ("alpha", "eta", "background")}
        post = bm.fit(
            graph, self.model.communities, model=self.model.kind, sampler=self.sampler, seed=seed, held_out=0,
            threads=1, progress=False, **prior, **self.arguments,
        )  # fmt: skip
        return [unpack(draw, self.model.communities) for chain in post.draws for draw in chain]


class Row(NamedTuple):
    """One quantity of a table: a p-value with what it comes from.

    Of ranks, `position` is their mean as a share of the largest, 0.5 where they are uniform, and the p-value is the
    smaller one of `tests`, doubled. Of Geweke's test `position` is the difference from the prior in standard errors.
    """

    quantity: str
    position: float
    p_value: float
    tests: dict[str, float]
    counts: list[int]


def unpack(draw: Any, communities: int) -> Parameters:
    """Return a stored posterior sample as dense arrays."""
    dense = np.zeros((len(draw.counts), communities))
    node = np.repeat(np.arange(len(draw.counts)), draw.counts)
    dense[node, draw.communities] = draw.weights / WEIGHT_SCALE
    strengths = draw.strengths.astype(np.float64)
    popularity = None if draw.popularity is None else draw.popularity.astype(np.float64)
    return Parameters(
        dense / dense.sum(axis=1, keepdims=True), strengths[:-1], float(strengths[-1]), popularity
    )


def draw_parameters(setup: Setup, rng: np.random.Generator) -> Parameters:
    """Draw parameters from the prior; a background that is learned is Beta(1, N), and its rate Gamma(1, N).

    Where K alpha is learned it is exponential, between its bounds (Q1).
    """
    model, k = setup.model, setup.model.communities
    link, non_link = 1.0, float(setup.nodes)
    total = float("nan")
    if model.alpha is None:
        while not LEAST <= (total := rng.exponential()) <= MOST:
            pass
    alpha = model.concentration if model.alpha is not None else total / k
    # Gammas with a shape far below one are all zero now and then: such a row has one community alone.
    memberships = rng.dirichlet([alpha] * k, setup.nodes)
    hard = ~np.isfinite(memberships).all(axis=1)
    memberships[hard] = np.eye(k)[rng.integers(0, k, hard.sum())]
    if model.kind == "popularity":
        rho = 1.0 / rng.random() - 1.0
        rates = rng.gamma(model.eta[0], 1.0 / model.eta[1], model.communities)
        background = (
            rng.gamma(link, 1.0 / non_link) if model.background is None else -np.log1p(-model.background)
        )
        unit = draw_unit(rng) if model.weights == "amounts" else None
        popularity = rng.gamma(rho, 1.0 / rho, setup.nodes)
        return Parameters(memberships, rates, background, popularity, rho, total, unit)
    background = rng.beta(link, non_link) if model.background is None else model.background
    return Parameters(memberships, rng.beta(*model.eta, k), background, concentration=total)


def draw_unit(rng: np.random.Generator) -> tuple[float, float]:
    """Draw shape and rate of the size of a unit from the prior of (DC14), amounts being measured in ones."""
    while not LEAST_SHAPE <= (shape := 1.0 / rng.random() - 1.0) <= MOST_SHAPE:
        pass
    return shape, shape * rng.exponential()


def link_rates(parameters: Parameters) -> NDArray[np.float64]:
    """Compute the rates of (DC1) for all pairs a < b."""
    memberships, strengths, background, popularity = parameters[:4]
    rates = background + (memberships * strengths) @ memberships.T
    return np.asarray((rates * np.outer(popularity, popularity))[np.triu_indices(len(memberships), 1)])


def link_probabilities(parameters: Parameters) -> NDArray[np.float64]:
    """Compute (M1), or (DC1), for all pairs a < b."""
    memberships, strengths, background, popularity, *_ = parameters
    upper = np.triu_indices(len(memberships), 1)
    if popularity is not None:
        return np.asarray(-np.expm1(-link_rates(parameters)))
    inside = (memberships * (strengths - background)) @ memberships.T
    return np.asarray(background + inside[upper])


def simulate(
    parameters: Parameters, rng: np.random.Generator, factor: float = 1.0, law: str | None = None
) -> NDArray[Any]:
    """Draw whether each pair a < b is a link; links are `factor` times as likely as the model says.

    With a law of weights these are drawn instead, zero for no link, with rates `factor` times as large.
    """
    if law is not None:
        units = rng.poisson(factor * link_rates(parameters)).astype(np.float64)
        if parameters.unit is None:
            return units
        # As many units as the sampler takes a link to have at most; a size that underflows is none the less there.
        shape, rate = parameters.unit
        sizes = np.maximum(rng.gamma(shape * np.minimum(units, MOST_UNITS)) / rate, 1e-300)
        return np.where(units > 0.0, sizes, 0.0)
    p = link_probabilities(parameters)
    return np.asarray(rng.random(len(p)) < np.minimum(factor * p, 1.0))


def graph_of(linked: NDArray[Any], nodes: int) -> Graph:
    """Return the network with these links, or with these weights."""
    weights = None if linked.dtype == np.bool_ else linked[linked > 0.0]
    ends = np.column_stack(np.triu_indices(nodes, 1))[linked > 0]
    return Graph.from_edges(ends, nodes=range(nodes), weights=weights)


def quantities(parameters: Parameters, linked: NDArray[Any]) -> dict[str, float]:
    """Compute functions of the parameters that do not depend on how communities are numbered."""
    memberships, strengths, background, popularity, *_ = parameters
    p = link_probabilities(parameters)
    overlap = (memberships[:-1:2] * memberships[1::2]).sum(axis=1)
    found = {f"strength {i + 1}": float(value) for i, value in enumerate(np.sort(strengths))}
    if popularity is not None:
        logs = np.log(np.maximum(popularity, LEAST_POPULARITY))
        found |= {"popularity of one node": float(logs[0]), "mean of popularities": float(popularity.mean())}
        found["spread of popularities"] = float(logs.std())
    if parameters.unit is not None:
        shape, rate = parameters.unit
        found |= {
            "log of a unit's shape": float(np.log(shape)),
            "log of a unit's mean": float(np.log(shape / rate)),
        }
    if linked.dtype != np.bool_:
        found["log of all weights"] = float(np.log1p(linked.sum()))
    if not np.isnan(parameters.concentration):
        found["log of K alpha"] = float(np.log(parameters.concentration))
    return found | {
        "background": background,
        "squared memberships": float((memberships**2).sum(axis=1).mean()),
        "overlap of one pair": float(np.clip(overlap[0], RESOLUTION, 1.0 - RESOLUTION)),
        "overlap of N/2 pairs": float(overlap.mean()),
        "probability of one pair": float(p[0]),
        "probability of all pairs": float(p.mean()),
        "log likelihood": float(np.log(np.maximum(np.where(linked > 0, p, 1.0 - p), 1e-300)).sum()),
    }


def rank_truths(
    setup: Setup, networks: int, draws: int, seed: int, factor: float = 1.0
) -> dict[str, NDArray[np.int64]]:
    """Count, for every network and quantity, how many of `draws` posterior samples lie below the truth.

    The samples are spread evenly over all that the fit kept. Networks without links, which `fit` refuses, are drawn
    again: what is chosen by the network alone leaves the ranks uniform.
    """
    rng = np.random.default_rng(seed)
    ranks: dict[str, list[int]] = {}
    for number in range(networks):
        linked = np.zeros(1, dtype=bool)
        while not linked.any():
            parameters = draw_parameters(setup, rng)
            linked = simulate(parameters, rng, factor, setup.model.weights)
        samples = setup.fit(graph_of(linked, setup.nodes), number)
        chosen = np.linspace(0, len(samples) - 1, draws + 1).astype(int)[1:]
        found = [quantities(samples[i], linked) for i in chosen]
        # Samples do not keep K alpha.
        for name, truth in quantities(parameters._replace(concentration=float("nan")), linked).items():
            values = np.array([values[name] for values in found])
            ties = int((values == truth).sum())
            ranks.setdefault(name, []).append(int((values < truth).sum()) + int(rng.integers(0, ties + 1)))
    if setup.model.background is not None:
        del ranks["background"]
    return {name: np.array(values) for name, values in ranks.items()}


def rank_table(ranks: Mapping[str, NDArray[np.int64]], draws: int, seed: int = 0) -> list[Row]:
    """Test the ranks 0 to `draws` of every quantity for uniformity, by chi-square and by their distribution function.

    A uniform number added to a uniform rank makes it continuous, so that the test of Kolmogorov is exact.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for name, values in ranks.items():
        counts = np.bincount(values, minlength=draws + 1)
        continuous = (values + rng.random(len(values))) / (draws + 1)
        tests = {
            "chi-square": float(stats.chisquare(counts).pvalue),
            "ecdf": float(stats.kstest(continuous, "uniform").pvalue),
        }
        p_value = min(1.0, 2.0 * min(tests.values()))
        rows.append(Row(name, float(values.mean()) / draws, p_value, tests, counts.tolist()))
    return rows


def start_at(sampler: Any, parameters: Parameters, rng: np.random.Generator, key: tuple[int, int]) -> Any:
    """Return the state of a chain at these parameters; what else a state has is drawn given them and the network."""
    memberships, value = parameters.memberships, np.append(parameters.strengths, parameters.background)
    if parameters.popularity is not None:
        rows = sampler.init(key).rows
        fill_rows(rows, memberships, np.argsort(-memberships, axis=1, kind="stable"))
        state = sampler.start_at(rows, parameters.popularity, value, parameters.rho)
        if sampler.problem.learned:
            state.concentration = parameters.concentration
        if parameters.unit is not None:
            state.unit[:] = parameters.unit
        return state
    if sampler.name == "cgs":
        return sampler.start_at(memberships, value, key)
    # The expansions of strengths may be anything that does not depend on the parameters; their totals follow them.
    expansion = np.full(len(value), 6.0)
    background = sum(sampler.model.prior_of_background(sampler.nodes))
    prior = np.append(np.full(len(value) - 1, sum(sampler.model.eta)), background)
    strengths = Strengths(value, rng.gamma(prior + expansion), expansion)
    concentration = memberships.shape[1] * sampler.model.concentration
    if sampler.name == "lmc":
        state = sampler.start_at(memberships, strengths)
        state.phi[:] = memberships * rng.gamma(concentration + sampler.expansion)[:, None]
        return state
    rows = sampler.init(key).rows
    # Sparse rows have their largest membership first, dense rows all communities in order.
    order = np.argsort(
        np.zeros_like(memberships) if sampler.problem.dense else -memberships, axis=1, kind="stable"
    )
    fill_rows(rows, memberships, order)
    if sampler.problem.learned:
        concentration = parameters.concentration
    rows.total[:] = rng.gamma(concentration + sampler.graph.degrees)
    state = sampler.start_at(rows, strengths)
    state.concentration, state.priors = concentration, sampler.problem.priors(concentration)
    return state


def fill_rows(rows: Any, memberships: NDArray[np.float64], order: NDArray[np.int64]) -> None:
    """Write memberships into rows, the communities of each in this order."""
    nodes, communities = memberships.shape
    rows.words[:, ::2] = -1
    rows.words[:, : 2 * communities : 2] = order
    rows.weights[:, 1 : 2 * communities : 2] = memberships[np.arange(nodes)[:, None], order]


def parameters_of(sampler: Any, state: Any) -> Parameters:
    """Return the parameters that a chain is at."""
    rows = sampler.memberships(state)
    ids = rows.words[:, ::2]
    used = np.cumprod(ids >= 0, axis=1).astype(bool)
    dense = np.zeros((sampler.nodes, sampler.communities))
    dense[np.nonzero(used)[0], ids[used]] = rows.weights[:, 1::2][used]
    strengths = np.array(sampler.strengths(state))
    memberships = dense / dense.sum(axis=1, keepdims=True)
    if hasattr(sampler, "popularity"):
        popularity = sampler.popularity(state).astype(np.float64)
        learned = state.concentration if sampler.problem.learned else float("nan")
        unit = tuple(state.unit.tolist()) if sampler.model.weights == "amounts" else None
        return Parameters(
            memberships, strengths[:-1], float(strengths[-1]), popularity, float(state.rho[0]), learned, unit
        )
    learned = state.concentration if sampler.name == "scir" and sampler.problem.learned else float("nan")
    return Parameters(memberships, strengths[:-1], float(strengths[-1]), concentration=learned)


def alternate(setup: Setup, iterations: int, seed: int, factor: float = 1.0) -> list[dict[str, float]]:
    """Alternate networks and sweeps of the sampler, and return the quantities of each iteration."""
    rng = np.random.default_rng(seed)
    parameters = draw_parameters(setup, rng)
    options = sampler_options(setup.sampler, dict(setup.arguments), setup.model.kind)
    found = []
    with Workers(1) as workers:
        for _ in range(iterations):
            linked = simulate(parameters, rng, factor, setup.model.weights)
            data = no_hold_out(graph_of(linked, setup.nodes))
            sampler = sampler_class(setup.sampler, setup.model.kind)(data, setup.model, options, workers)
            key = (int(rng.integers(2**32)), int(rng.integers(2**32)))
            state = start_at(sampler, parameters, rng, key)
            sampler.step(state, key, False)
            parameters = parameters_of(sampler, state)
            found.append(quantities(parameters, simulate(parameters, rng, law=setup.model.weights)))
    return found


def geweke_table(setup: Setup, iterations: int, seed: int, factor: float = 1.0) -> list[Row]:
    """Compare the means of every quantity with those of as many independent draws from the prior."""
    rng = np.random.default_rng(seed + 1)
    independent = []
    for _ in range(iterations):
        parameters = draw_parameters(setup, rng)
        independent.append(quantities(parameters, simulate(parameters, rng, law=setup.model.weights)))
    chain = alternate(setup, iterations, seed, factor)
    rows = []
    for name in chain[0]:
        prior = np.array([values[name] for values in independent])
        means = np.array([values[name] for values in chain]).reshape(BATCHES, -1).mean(axis=1)
        error = np.sqrt(prior.var() / len(prior) + means.var(ddof=1) / BATCHES)
        if error > 0:
            z = float((means.mean() - prior.mean()) / error)
            p_value = float(2.0 * stats.t.sf(abs(z), BATCHES - 1))
            rows.append(Row(name, z, p_value, {}, []))
    return rows


def failures(table: list[Row], false_alarm: float) -> list[str]:
    """Return the quantities that fail, with this false-alarm rate for the whole table."""
    return [row.quantity for row in table if row.p_value < false_alarm / len(table)]
