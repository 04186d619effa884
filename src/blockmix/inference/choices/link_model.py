"""The link model of `model="auto"`: popularities where nodes differ in them, the model of the paper where they do not.

The popularity model has the other one inside it, as the limit of popularities that are all equal, and learns how
unequal they are: their standard deviation under the prior, rho^(-1/2) in (DC2). So a short run of one chain of it
answers the question, without links set aside and without the held-out pairs. Where the spread is small both predict
alike, and the simpler model has fewer unknowns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from blockmix.graph.split import HeldOut
from blockmix.inference.choices.default_model import AUTO_MODELS
from blockmix.inference.request import FitRequest
from blockmix.numerics.workers import Workers
from blockmix.samplers.contract import Sampler
from blockmix.samplers.live import HostChain, LiveChain
from blockmix.samplers.ranks.divided import take_over
from blockmix.samplers.ranks.job import team

# Sweeps of the short run, and of them those whose spreads are averaged: chains begin with a spread of one, and need
# thirty to find that nodes of a large network are alike. Fits have some hundreds, on small networks of eight chains.
SWEEPS, AVERAGED = 40, 10
# The number of its chain: behind those of any fit, so that a fit does not repeat the run that it was chosen by.
CHAIN = 10**6
# Below this spread popularities are taken for equal. Of the networks it was chosen on (docs/lab-notes.md) two were
# below, by 0.1, and popularities helped on neither; the others were at 0.36 or more, and on each of them they helped.
EQUAL = 0.25
# Training networks with fewer links are not looked at: the model of the paper is taken.
FEWEST_LINKS = 60
# Of a time limit the short run takes at most this share: with fewer sweeps popularities are taken more often.
MOST_TIME = 0.1


class Spread(NamedTuple):
    """The mean spread of popularities at the end of the short run, its sweeps, and the seconds it took."""

    value: float
    sweeps: int
    seconds: float = 0.0


@dataclass(frozen=True)
class ModelChoice:
    """The model chosen, and the spread of popularities; none where nothing was looked at."""

    model: str
    spread: Spread | None

    @property
    def seconds(self) -> float:
        """What the short run took of the time limit."""
        return 0.0 if self.spread is None else self.spread.seconds

    def __str__(self) -> str:
        """Say why this model was chosen."""
        if self.spread is None:
            return "too few links to tell nodes apart: the model of the paper"
        said = "below" if self.spread.value < EQUAL else "not below"
        short = "" if self.spread.sweeps == SWEEPS else f" of {self.spread.sweeps} sweeps, for lack of time,"
        return (
            f"in a short run{short} the spread of popularities is {self.spread.value:.2f}, {said} {EQUAL:g}"
        )


def choose_model(
    request: FitRequest, data: HeldOut, workers: Workers, clock: Callable[[], float] = time.perf_counter
) -> ModelChoice:
    """Choose between the link models by the spread of popularities in a short run on the training network.

    It is made on the CPU, by all ranks where the nodes of a chain are divided among them.
    """
    assortative, popularity = AUTO_MODELS
    if data.training.n_edges < FEWEST_LINKS:
        return ModelChoice(assortative, None)
    asked = replace(request.with_model(popularity), device="cpu", chains=1)
    spread = measured_spread(asked, data, workers, clock)
    return ModelChoice(assortative if spread.value < EQUAL else popularity, spread)


def measured_spread(
    request: FitRequest, data: HeldOut, workers: Workers, clock: Callable[[], float] = time.perf_counter
) -> Spread:
    """Return the mean of rho^(-1/2) over the last sweeps of a short run of one chain of the popularity model.

    Where the time limit leaves no time for all sweeps it is the mean over the last quarter of those made.
    """
    sampler = request.make_sampler(data, workers)
    sampler.compile()
    began = clock()
    most = math.inf if request.time_limit is None else MOST_TIME * request.time_limit
    chain, spreads = _one_chain(sampler, request, data), list[float]()
    while len(spreads) < SWEEPS and (not spreads or clock() - began < most):
        chain.advance(True, len(spreads) + 1)
        spreads.append(float(chain.info().measures["spread"]))
    averaged = spreads[-max(AVERAGED * len(spreads) // SWEEPS, 1) :]
    return Spread(sum(averaged) / len(averaged), len(spreads), clock() - began)


def _one_chain(sampler: Sampler, request: FitRequest, data: HeldOut) -> LiveChain:
    """Start the chain of the short run; ranks divide its nodes, and the pairs that it predicts, as those of a fit."""
    ranks = team() if getattr(sampler, "divisible", False) else None
    # Predictions are of no use here.
    pairs = np.empty((0, 2), dtype=np.int64) if ranks is None else data.scored_pairs
    chain = HostChain.start(sampler, request.chain_key(CHAIN), pairs)
    return chain if ranks is None else take_over(ranks, [chain], data, request.threads)[0]
