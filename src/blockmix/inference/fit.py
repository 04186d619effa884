"""`fit`: from a network to a posterior."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Literal

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut, hold_out, no_hold_out
from blockmix.inference.loop import Run
from blockmix.inference.plan import Plan, whole_number
from blockmix.inference.progress import Callback, choose_progress
from blockmix.inference.result import build_posterior
from blockmix.kernels.workers import Workers
from blockmix.model import Model
from blockmix.posterior.posterior import Posterior
from blockmix.samplers import check_sampler
from blockmix.samplers.choose import choose_communities
from blockmix.samplers.options import ScirOptions
from blockmix.samplers.scir import Scir

# Held out where the user does not say: this share of the links, but not more of them than that.
DEFAULT_HELD_OUT, MOST_HELD_OUT_LINKS = 0.05, 25_000
# Networks of so many links are small: several chains are run by default, each on a thread of its own.
SMALL_NETWORK, CHAINS_OF_A_SMALL_NETWORK = 50_000, 4
TINY_NETWORK, CHAINS_OF_A_TINY_NETWORK = 10_000, 8
# Networks with fewer links are too small to spare any: nothing is held out unless asked for.
SMALLEST_HELD_OUT = 40


def fit(
    graph: Graph,
    communities: int | Literal["auto"] = "auto",
    *,
    sampler: str = "scir",
    seed: int = 0,
    chains: int | None = None,
    sweeps: int | None = None,
    time_limit: float | None = None,
    warm_up: int | None = None,
    held_out: float | HeldOut | None = None,
    held_out_kind: Literal["balanced", "proportional"] = "balanced",
    alpha: float | None = None,
    eta: tuple[float, float] = (1.0, 1.0),
    background: float | None = None,
    threads: int | None = None,
    device: str = "cpu",
    progress: bool | None = None,
    callback: Callback | None = None,
    **options: Any,
) -> Posterior:
    """Find overlapping communities: sample the posterior of the assortative mixed-membership blockmodel.

    Arguments:
        graph: the network.
        communities: how many communities to allow, K. Those that are not needed stay empty. "auto" takes as many
            as the best hard partition of the network has, by its integrated likelihood.
        sampler: which algorithm, by name.
        seed: the same seed gives the same result, bit for bit, on any number of threads.
        chains: independent chains, pooled in the end. By default 8 on networks of up to 10,000 links and 4 up
            to 50,000, where different starts find different solutions and there is time for all of them, else 1.
        sweeps: stop after this many updates of every node, warm-up included.
        time_limit: stop after this many seconds of sampling. Without `sweeps` and `time_limit` the run ends
            when the score on the held-out pairs has settled.
        warm_up: sweeps before samples count; chosen when left out.
        held_out: share of the links to set aside for scoring, with as many non-links; 0 for none. By default
            5%, at most 25,000 links, and none on networks of fewer than 40 links or hardly any non-links.
        held_out_kind: "balanced", as many non-links as links, or "proportional", the same share of both.
        alpha, eta, background: the prior, see `Model`.
        threads: processors to use; all by default.
        device: "cpu".
        progress: True shows progress, False does not; by default it is shown on a terminal only.
        callback: called with a `Report` after every evaluation.
        options: settings of the sampler, see `ScirOptions`.

    Returns:
        A `Posterior`. Ctrl-C ends the run early and returns what there is.

    >>> import blockmix as bm
    >>> cliques = bm.Graph.from_edges([(a + c, b + c) for c in (0, 8) for a in range(8) for b in range(a)])
    >>> post = fit(cliques, communities=2, seed=1, sweeps=200, held_out=0)
    >>> sorted(len(members) for members in post.communities().values())
    [8, 8]
    """
    check_sampler(sampler)
    if device != "cpu":
        raise InputError(f"device must be 'cpu', not {device!r}")
    if chains is None:
        chains = default_chains(graph.n_edges)
    chains, seed = whole_number("chains", chains, 1), _seed(seed)
    if graph.n_edges == 0:
        raise InputError("the network has no links: there is nothing to learn from")
    data = choose_held_out(graph, held_out, held_out_kind, seed)
    chosen = isinstance(communities, str) and communities == "auto"
    model = Model(
        1 if chosen else whole_number("communities", communities, 1), alpha, _floats(eta), background
    )
    plan = Plan(sweeps, time_limit, warm_up, watched=data.n_pairs > 0)
    settings = _options(options)
    display = choose_progress(progress)
    began = time.perf_counter()
    try:
        if chosen:
            display.waiting("choosing the number of communities")
            model = replace(model, communities=choose_communities(data.training, seed))
        with Workers(threads) as workers:
            samplers = _samplers(chains, data, model, settings, workers)
            result = Run(samplers, workers, data, plan, seed, display, callback).execute()
    finally:
        display.close()
    seconds = time.perf_counter() - began
    return build_posterior(graph, data, model, settings, result, seed, chosen, seconds, workers.threads)


def default_chains(links: int) -> int:
    """Chains on a network of so many links.

    >>> default_chains(5_000), default_chains(20_000), default_chains(10**6)
    (8, 4, 1)
    """
    if links <= TINY_NETWORK:
        return CHAINS_OF_A_TINY_NETWORK
    return CHAINS_OF_A_SMALL_NETWORK if links <= SMALL_NETWORK else 1


def _samplers(
    chains: int, data: HeldOut, model: Model, settings: ScirOptions, workers: Workers
) -> list[Scir]:
    """One sampler for each chain on a small network, where chains side by side waste no time on waiting for each
    other; on a large one a single sampler that gives all threads to one chain after the other."""
    if chains > 1 and data.training.n_edges <= SMALL_NETWORK:
        return [Scir(data, model, settings, Workers(1)) for _ in range(chains)]
    return [Scir(data, model, settings, workers)] * chains


def choose_held_out(graph: Graph, held_out: float | HeldOut | None, kind: str, seed: int) -> HeldOut:
    """The split to train on: the user's own, the share asked for, or the default."""
    if isinstance(held_out, HeldOut):
        if held_out.training.n_nodes != graph.n_nodes:
            raise InputError("held_out was split from another network: its number of nodes differs")
        return held_out
    if held_out is None:
        if graph.n_edges < SMALLEST_HELD_OUT:
            return no_hold_out(graph)
        held_out = min(DEFAULT_HELD_OUT, MOST_HELD_OUT_LINKS / graph.n_edges)
        if graph.n_pairs - graph.n_edges < round(held_out * graph.n_edges):
            # A clique, or nearly one: there are no non-links to go with the links.
            return no_hold_out(graph)
    if held_out == 0:
        return no_hold_out(graph)
    return hold_out(graph, float(held_out), kind=kind, seed=seed)  # type: ignore[arg-type]


def _seed(seed: int) -> int:
    """A seed that the random numbers have bits for."""
    seed = whole_number("seed", seed, 0)
    if seed >= 2**64:
        raise InputError(f"seed must be below 2**64, not {seed}")
    return seed


def _floats(eta: Any) -> tuple[float, float]:
    """The prior as floats: kernels are compiled anew for integers, which takes seconds."""
    try:
        link, non_link = (float(value) for value in eta)
    except (TypeError, ValueError):
        raise InputError(f"eta must be two positive numbers, not {eta!r}") from None
    return link, non_link


def _options(options: dict[str, Any]) -> ScirOptions:
    try:
        return ScirOptions(**options)
    except TypeError:
        known = ", ".join(ScirOptions.__dataclass_fields__)
        unknown = ", ".join(sorted(set(options) - set(ScirOptions.__dataclass_fields__)))
        raise InputError(f"unknown option {unknown}; options of scir: {known}") from None
