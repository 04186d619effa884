"""`fit`: from a network to a posterior."""

from __future__ import annotations

import os
import time
from typing import Any, Literal

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut, hold_out, no_hold_out
from blockmix.inference.conduct import Surroundings, conduct
from blockmix.inference.memory import check_memory
from blockmix.inference.plan import Plan, whole_number
from blockmix.inference.progress import Callback, choose_progress
from blockmix.inference.run_folder.folder import DEFAULT_EVERY, RunFolder, run_folder
from blockmix.inference.task import Task
from blockmix.model import Model
from blockmix.posterior.posterior import Posterior
from blockmix.samplers import check_sampler, default_sampler, sampler_options
from blockmix.samplers.starts.choose import choose_communities
from blockmix.samplers.starts.given import given_memberships

# Held out where the user does not say: this share of the links, but not more of them than that.
DEFAULT_HELD_OUT, MOST_HELD_OUT_LINKS = 0.05, 25_000
# Networks of up to so many links get so many chains by default; larger ones get one.
DEFAULT_CHAINS = ((10_000, 8), (50_000, 4), (150_000, 2))
# Networks with fewer links are too small to spare any: nothing is held out unless asked for.
SMALLEST_HELD_OUT = 40


def fit(
    graph: Graph,
    communities: int | Literal["auto"] = "auto",
    *,
    model: Literal["assortative", "mmsb"] = "assortative",
    sampler: str | None = None,
    seed: int = 0,
    chains: int | None = None,
    sweeps: int | None = None,
    time_limit: float | None = None,
    warm_up: int | None = None,
    init: Any = None,
    held_out: float | HeldOut | None = None,
    held_out_kind: Literal["balanced", "proportional"] = "balanced",
    alpha: float | None = None,
    eta: tuple[float, float] = (1.0, 1.0),
    background: float | None = None,
    threads: int | None = None,
    device: str = "cpu",
    progress: bool | None = None,
    callback: Callback | None = None,
    checkpoint: str | os.PathLike[str] | RunFolder | None = None,
    checkpoint_every: float = DEFAULT_EVERY,
    force: bool = False,
    **options: Any,
) -> Posterior:
    """Find overlapping communities: sample the posterior of the assortative mixed-membership blockmodel.

    Arguments:
        graph: the network.
        communities: how many communities to allow, K. Those that are not needed stay empty. "auto" takes as many
            as the best hard partition of the network has, by its integrated likelihood.
        model: "assortative", one strength a community, or "mmsb", the general model with one for every pair of
            communities, for networks whose groups link to other groups rather than within.
        sampler: which algorithm, by name: "scir", the default, "sgmc", "sgmc-m", "svi", "cgs" or "lmc"; of the
            general model "sgmc". docs/samplers.md compares them.
        seed: the same seed gives the same result, bit for bit, on any number of threads.
        chains: independent chains, pooled in the end. By default 8 on networks of up to 10,000 links, 4 up to
            50,000 and 2 up to 150,000, where different starts find different solutions and there is time for all
            of them, else 1; samplers other than "scir" run one.
        sweeps: stop after this many updates of every node, warm-up included.
        time_limit: stop after this many seconds of sampling. Without `sweeps` and `time_limit` the run ends
            when the score on the held-out pairs has settled.
        warm_up: sweeps before samples count; chosen when left out.
        init: communities to start from, as another method found them: a mapping or list of collections of node
            labels, an object with such a list as `communities` (cdlib, a `Posterior`), or a matrix of nodes x
            communities. With "auto" there are as many communities as it has. Sampler "scir" only.
        held_out: share of the links to set aside for scoring, with as many non-links; 0 for none. By default
            5%, at most 25,000 links, and none on networks of fewer than 40 links or hardly any non-links.
        held_out_kind: "balanced", as many non-links as links, or "proportional", the same share of both.
        alpha, eta, background: the prior, see `Model`.
        threads: processors to use; all by default.
        device: "cpu".
        progress: True shows progress, False does not; by default it is shown on a terminal only.
        callback: called with a `Report` after every evaluation.
        checkpoint: a folder to keep the run safe in: killed at any moment, it goes on with `resume(folder)`, to
            the same bits. `blockmix watch` shows where it stands. Save the posterior there too if you like.
        checkpoint_every: seconds between checkpoints, stretched where writing them would take more than 2% of the
            time; 0 writes none.
        force: start even if the run takes more memory than there is, by the estimate made before.
        options: settings of the sampler, for instance those of `ScirOptions`.

    Returns:
        A `Posterior`. Ctrl-C ends the run early and returns what there is. With `checkpoint`, SIGTERM writes a
        checkpoint and ends the program with status 143.

    >>> import blockmix as bm
    >>> cliques = bm.Graph.from_edges([(a + c, b + c) for c in (0, 8) for a in range(8) for b in range(a)])
    >>> post = fit(cliques, communities=2, seed=1, sweeps=200, held_out=0)
    >>> sorted(len(members) for members in post.communities().values())
    [8, 8]
    """
    began = time.perf_counter()
    kind = Model(1, kind=model).kind
    sampler = check_sampler(sampler or default_sampler(kind), kind)
    if device != "cpu":
        raise InputError(f"device must be 'cpu', not {device!r}")
    if chains is None:
        chains = default_chains(graph.n_edges) if sampler == "scir" else 1
    chains, seed = whole_number("chains", chains, 1), _seed(seed)
    chosen = isinstance(communities, str) and communities == "auto"
    k = 1 if chosen else whole_number("communities", communities, 1)
    prior = Model(k, alpha, _floats(eta), background, kind)
    task = Task(prior, sampler, sampler_options(sampler, options, kind), seed, chains, chosen, device)
    given = None if init is None else _given(graph, init, sampler, k, chosen)
    if given is not None and chosen:
        chosen, task = False, task.with_communities(given.shape[1])
    data = choose_held_out(graph, held_out, held_out_kind, seed)
    _check_links(graph, data)
    plan = Plan(sweeps, time_limit, warm_up, watched=data.n_pairs > 0)
    with run_folder(checkpoint, checkpoint_every) as folder:
        display = choose_progress(progress)
        try:
            if chosen:
                display.waiting("choosing the number of communities")
                task = task.with_communities(choose_communities(data.training, seed))
            if not force:
                check_memory(task, graph.n_nodes)
            kept = None if folder is None else folder.begin(graph, data, task, plan)
            around = Surroundings(threads, display, callback, began)
            return conduct(graph, data, task, plan, around, kept, given=given)
        finally:
            display.close()


def _given(graph: Graph, init: Any, sampler: str, communities: int, chosen: bool) -> Any:
    """The start that the user gave, checked against the number of communities."""
    if sampler != "scir":
        raise InputError(
            f"init is a start for the sampler 'scir', not for {sampler!r}; leave one of them out"
        )
    given = given_memberships(graph, init)
    if not chosen and given.shape[1] > communities:
        raise InputError(
            f"init has {given.shape[1]} communities and only {communities} are allowed: raise communities"
        )
    return given


def default_chains(links: int) -> int:
    """Chains on a network of so many links.

    >>> default_chains(5_000), default_chains(20_000), default_chains(100_000), default_chains(10**6)
    (8, 4, 2, 1)
    """
    return next((chains for most, chains in DEFAULT_CHAINS if links <= most), 1)


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


def _check_links(graph: Graph, data: HeldOut) -> None:
    if graph.n_edges == 0:
        raise InputError("the network has no links: there is nothing to learn from")
    if data.training.n_edges == 0:
        raise InputError(
            "held_out leaves no link for training: all links are held out; hold out a smaller share of them"
        )


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
