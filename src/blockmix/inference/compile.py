"""Compiles, or loads from the cache, everything that a fit will run, before its clock starts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from blockmix.inference.choices.weights import weights_of
from blockmix.inference.loop import RunResult
from blockmix.inference.position import Position
from blockmix.inference.request import FitRequest
from blockmix.inference.result import build_posterior
from blockmix.numerics.workers import Workers
from blockmix.samplers.contract import Sampler
from blockmix.samplers.data import small_network
from blockmix.samplers.live import chain_of
from blockmix.samplers.starts.reducing import reduced

# Types of arrays depend on the number of communities up to here; more would only make the trial slower.
MOST_COMMUNITIES = 300


def compile_kernels(sampler: Sampler, request: FitRequest) -> None:
    """Compile the kernels of a sampler, and make a whole fit of a network of six nodes with the same settings.

    Some of the nodes are isolated and some pairs are held out, so that predictions, running summaries, packed posterior
    samples and the posterior itself run every kernel that the real fit and its result will call.
    """
    sampler.compile()
    # A start merges parts only where it has found more than K of them: on six nodes it may not.
    reduced(np.ones(3, dtype=np.int32), np.arange(3, dtype=np.int32), 2)
    data = small_network(request.weight_law is not None)
    trial = replace(
        request, communities=min(request.prior.communities, MOST_COMMUNITIES), chains=1, init=None
    )
    if request.device == "cuda":
        # six nodes would be sampled node by node, which the GPU does not do
        trial = replace(trial, options=replace(request.options, exact=False))
    with Workers(1) as one:
        small, more = trial.make_sampler(data, one), weights_of(trial, data)
        chain = chain_of(small).start(small, trial.chain_key(0), data.scored_pairs, **more)
        chain.advance(True, 1)
        for sample in (1, 2):
            chain.advance(False, sample)
    result = RunResult([chain], Position(rows=[{"sweep": 3}]), interrupted=False)
    post = build_posterior(data.training, data, trial, result, 0.0, 1)
    post.node_link_probability(np.array([(0, 1), (0, 5)]))
    if post.weight_law is not None:
        post.node_expected_weight(np.array([(0, 1), (0, 5)]))
    post.covers(complete=True)
