"""`fit`: from a network to a posterior."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from blockmix.errors import InputError
from blockmix.graph.accept import as_graph
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut, hold_out, no_hold_out
from blockmix.inference.choices.communities import choose_number, recount
from blockmix.inference.choices.default_model import AUTO_MODELS
from blockmix.inference.choices.link_model import choose_model
from blockmix.inference.choices.memory import check_memory
from blockmix.inference.choices.sides import check_sides, for_sides
from blockmix.inference.choices.weight_law import choose_law
from blockmix.inference.choices.weights import check_split, for_weights
from blockmix.inference.execute import RunContext, execute
from blockmix.inference.interrupt import terminable
from blockmix.inference.progress import Callback, choose_progress
from blockmix.inference.request import FitRequest, refuse_misnamed
from blockmix.inference.run_folder.folder import RunFolder, open_folder
from blockmix.numerics.compiling import announce_compiling
from blockmix.numerics.workers import Workers
from blockmix.posterior.posterior import Posterior
from blockmix.samplers.ranks.job import team
from blockmix.samplers.starts.given import given_memberships

# Held out by default: this share of the links, but not more of them than that.
DEFAULT_HELD_OUT, MOST_HELD_OUT_LINKS = 0.05, 25_000
# Networks with fewer links are too small to spare any: nothing is held out unless asked for.
SMALLEST_HELD_OUT = 40


def fit(
    graph: Any,
    communities: int | Literal["auto"] = "auto",
    *,
    model: Literal["assortative", "popularity", "mmsb", "auto"] | None = None,
    sampler: str | None = None,
    seed: int = 0,
    chains: int | None = None,
    sweeps: int | None = None,
    time_limit: float | None = None,
    warm_up: int | None = None,
    init: Any = None,
    held_out: float | HeldOut | None = None,
    held_out_kind: Literal["balanced", "proportional"] | None = None,
    alpha: float | None = None,
    eta: tuple[float, float] = (1.0, 1.0),
    background: float | None = None,
    weight_law: Literal["counts", "amounts"] | None = None,
    threads: int | None = None,
    device: str = "cpu",
    progress: bool | None = None,
    callback: Callback | None = None,
    checkpoint: str | os.PathLike[str] | RunFolder | None = None,
    checkpoint_every: float | None = None,
    force: bool = False,
    nodes: Any = None,
    weights: Any = None,
    directed: bool = False,
    bipartite: bool = False,
    **options: Any,
) -> Posterior:
    """Find overlapping communities: sample the posterior of a mixed-membership blockmodel.

    Arguments:
        graph: the network: a `Graph`, a networkx or igraph graph, a SciPy matrix, a pandas or polars frame, pairs of
            labels, a path, an https address or an open file; see `as_graph`.
        communities: how many communities to allow, K. Those that are not needed get a part of the membership (an eighth
            with 20 allowed for 5 clear ones) and are not listed. "auto" takes as many as the best hard partition of
            the network has, by its integrated likelihood.
        model: "assortative", one strength a community; "popularity", the same with a popularity for every node, for
            networks in which some nodes have far more links than others; or "mmsb", the general model with a strength
            for every pair of communities, for networks whose groups link to other groups rather than within. "auto",
            the default, takes the second where a short run of it finds popularities that differ, else the first. Where
            none is named and the sampler, device="cuda" or a setting belongs to the first alone, that one is taken, and
            "popularity" where links have weights or directions or there are two kinds of nodes.
            `provenance["model_chosen_by"]` says why.
        sampler: which algorithm, by name: "scir", the default, "sgmc", "sgmc-m", "svi", "cgs" or "lmc"; of the
            popularity model "scir", of the general model "sgmc". docs/samplers.md compares them.
        seed: the same seed gives the same result, bit for bit, on any number of threads.
        chains: independent chains, pooled in the end. By default 8 on networks of up to 10,000 links, 4 up to
            50,000 and 2 up to 150,000, where different starts find different solutions and there is time for all
            of them, else 1; samplers other than "scir" run one.
        sweeps: stop after this many updates of every node, warm-up included.
        time_limit: stop after the sweep in which so many seconds are over. They count from the search for a start;
            reading, compiling and saving come on top. Without `sweeps` and `time_limit` the run ends when the score
            on the held-out pairs has settled, the chains agree, and as many sweeps were sampled as warmed up; or at a
            limit of sweeps that take about ten minutes of one processor, or before it where the chains are not
            expected to agree by then. `provenance["stopped_by"]` says which.
        warm_up: sweeps before samples count; chosen when left out.
        init: communities to start from, as another method found them: a mapping or list of collections of node
            labels, an object with such a list as `communities` (cdlib, a `Posterior`), or a matrix of nodes x
            communities. With "auto" there are as many communities as it has. Sampler "scir" only.
        held_out: share of the links to set aside for scoring, with as many non-links; 0 for none. By default
            5%, at most 25,000 links, and none on networks of fewer than 40 links or hardly any non-links.
        held_out_kind: "balanced", the default: as many non-links as links, or "proportional": the same share of both.
        alpha, eta, background: the prior, see `Model`.
        weight_law: what the weights of links are, where the network has weights: "counts", Poisson variables, or
            "amounts", which vary more: a Poisson number of units, each of a random size. By default amounts, but where
            all are whole numbers of at most 20 on average the one that predicts links better that are set aside from
            training. Only the model "popularity" uses weights.
        threads: processors to use; all by default.
        device: "cpu"; "cuda", one NVIDIA GPU, for the default sampler of the model "assortative" on networks of more
            than 2,048 nodes (needs the extra blockmix[cuda]); or "auto", the GPU where there is one, the network is
            large enough and the model is that one, else the CPU: `provenance` has which and why. "reference" runs the
            default sampler in plain Python, for tests.
        progress: True shows progress, False does not; by default it is shown on a terminal and in a notebook.
        callback: called with a `Report` after every evaluation.
        checkpoint: a folder for checkpoints of the run: killed at any moment, it goes on with `resume(folder)`, to
            the same bits. `blockmix watch` shows its progress. Save the posterior there too if you like.
        checkpoint_every: seconds between checkpoints, 60 by default; more where writing them would take more than 2%
            of the time; 0 writes none.
        force: start even if the run takes more memory than there is, by the estimate made before.
        nodes: labels of nodes that may have no link, or a table of them with attributes, which stay with the result:
            see `read_graph`.
        weights: where the weights of links are: a column, an attribute, or True for the usual one, see `as_graph`.
        directed: whether links have directions, from the first label to the second; by default both are merged. Every
            node then has memberships and a popularity in two roles, as one that sends links and as one that receives
            them.
        bipartite: whether there are two kinds of nodes, one in each column (see `as_graph`), and links only between
            them.
        options: settings of the sampler, for instance those of `ScirOptions`. One that has no effect is an error.

    Returns:
        A `Posterior`. Ctrl-C ends the run early and returns what there is. With `checkpoint`, SIGTERM
        and SIGHUP write a checkpoint and end the program with status 143 or 129.

    >>> import blockmix as bm
    >>> cliques = bm.Graph.from_edges([(a + c, b + c) for c in (0, 8) for a in range(8) for b in range(a)])
    >>> post = fit(cliques, communities=2, seed=1, sweeps=200, held_out=0)
    >>> sorted(len(members) for members in post.communities().values())
    [8, 8]
    """
    refuse_misnamed(options)
    request = FitRequest(
        communities=communities, model=model or "", sampler="" if sampler is None else sampler, options=options,
        seed=seed, chains=chains, sweeps=sweeps, time_limit=time_limit, warm_up=warm_up, init=init, held_out=held_out,
        held_out_kind=held_out_kind, alpha=alpha, eta=eta, background=background, weight_law=weight_law,
        threads=threads, device=device, checkpoint=checkpoint, checkpoint_every=checkpoint_every, force=force,
    )  # fmt: skip
    network = as_graph(
        graph, nodes=nodes, threads=request.threads, weights=weights, directed=directed, bipartite=bipartite
    )
    with open_folder(checkpoint) as folder:
        return fit_request(request, network, folder, progress, callback)


def fit_request(
    request: FitRequest,
    graph: Graph,
    folder: RunFolder | None = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Posterior:
    """Carry out a request on a network; `folder` is the open folder of the run, `clock` that of its time limit."""
    if progress is not None and not isinstance(progress, bool):
        raise InputError(f"progress must be True, False or None, not {progress!r:.80}")
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be a function of one argument, a Report, not {callback!r:.80}")
    with terminable(folder is not None and request.every > 0):
        return _fit(request, graph, folder, progress, callback, clock)


def _fit(
    request: FitRequest,
    graph: Graph,
    folder: RunFolder | None,
    progress: bool | None,
    callback: Callback | None,
    clock: Callable[[], float],
) -> Posterior:
    began = time.perf_counter()
    display = choose_progress(progress)
    try:
        request = for_weights(for_sides(request, graph), graph)
        given = None if request.init is None else _given(graph, request)
        with announce_compiling(display.waiting, "for the start", "a few seconds"):
            data = choose_held_out(graph, request.held_out, request.held_out_kind, request.seed)
            _check_links(graph, data)
            check_split(graph, data)
            check_sides(graph, data)
            communities = None if given is None or not request.auto else given.shape[1]
            if request.auto and communities is None:
                display.waiting("choosing the number of communities")
                communities = choose_number(request, data)
                request = replace(request, chosen=True)
        request = request.for_network(graph, communities)
        plan = request.plan(graph, watched=data.n_pairs > 0)
        spent = 0.0
        if request.auto_model:
            if not request.force:
                # The least that will be needed, before the short run takes its part of it.
                check_memory(request.with_model(AUTO_MODELS[0]), graph.n_nodes)
            display.waiting("choosing the link model")
            with announce_compiling(display.waiting), Workers(request.threads) as workers:
                choice = choose_model(request, data, workers, clock)
            request = recount(request.with_model(choice.model, str(choice)), data)
            spent = choice.seconds
        if graph.weights is not None and request.weight_law is None:
            display.waiting("choosing the law of the weights")
            with Workers(request.threads) as workers:
                request = choose_law(request, data, workers)
        request = request.on_device(graph)
        if not request.force:
            check_memory(request, graph.n_nodes)
        checkpointer = None if folder is None else folder.begin(graph, data, request, plan)
        if folder is not None and request.every and team() is not None:
            # Rank 0 has enough in memory.
            data = folder.map_training(data)
        context = RunContext(display, callback, began, checkpointer, clock, spent)
        return execute(request, graph, data, plan, context, given=given)
    finally:
        display.close()


def _given(graph: Graph, request: FitRequest) -> Any:
    """Return the start that the user gave, checked against the number of communities."""
    given = given_memberships(graph, request.init)
    if not request.auto and given.shape[1] > request.prior.communities:
        raise InputError(
            f"init has {given.shape[1]} communities and only {request.communities} are allowed: raise communities"
        )
    return given


def choose_held_out(
    graph: Graph, held_out: float | HeldOut | None, kind: str | None = None, seed: int = 0
) -> HeldOut:
    """Return the split to train on: the user's own, the share asked for, or the default."""
    if isinstance(held_out, HeldOut):
        if held_out.training.n_nodes != graph.n_nodes:
            raise InputError("held_out was split from another network: its number of nodes differs")
        return held_out
    if held_out is None:
        held_out = default_share(graph)
        if held_out == 0 and kind is not None:
            raise InputError(
                f"held_out_kind={kind!r} (--held-out-kind) has no effect: by default nothing is held out of a "
                "network as small or dense as this; give held_out as well, or leave the kind out"
            )
    if held_out == 0:
        return no_hold_out(graph)
    return hold_out(graph, float(held_out), kind=kind or "balanced", seed=seed)  # type: ignore[arg-type]


def default_share(graph: Graph) -> float:
    """Return the share of the links that is held out by default; 0 where the network can spare none."""
    if graph.n_edges < SMALLEST_HELD_OUT:
        return 0.0
    share = min(DEFAULT_HELD_OUT, MOST_HELD_OUT_LINKS / graph.n_edges)
    # A clique, or nearly one: there are no non-links to go with the links.
    return share if graph.n_pairs - graph.n_edges >= round(share * graph.n_edges) else 0.0


def _check_links(graph: Graph, data: HeldOut) -> None:
    if graph.n_edges == 0:
        raise InputError("the network has no links: there is nothing to learn from")
    if data.training.n_edges == 0:
        raise InputError(
            "held_out leaves no link for training: all links are held out; hold out a smaller share of them"
        )
