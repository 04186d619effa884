"""The link model of `model="auto"`: popularities where nodes differ in them, the model of the paper where they do not.

The popularity model has the other one inside it, as the limit of popularities that are all equal, and learns how
unequal they are: their standard deviation under the prior, rho^(-1/2) in (DC2). So a short run of one chain of it
answers the question, without links set aside and without the held-out pairs. Where the spread is small both predict
alike, and the simpler model has fewer unknowns.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockmix.graph.split import HeldOut
from blockmix.inference.request import AUTO_MODELS, FitRequest
from blockmix.numerics.workers import Workers

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


@dataclass(frozen=True)
class ModelChoice:
    """The model chosen, and the spread of popularities; none where nothing was looked at."""

    model: str
    spread: float | None

    def __str__(self) -> str:
        """Say why this model was chosen."""
        if self.spread is None:
            return "too few links to tell nodes apart: the model of the paper"
        said = "below" if self.spread < EQUAL else "not below"
        return f"in a short run the spread of popularities is {self.spread:.2f}, {said} {EQUAL:g}"


def choose_model(request: FitRequest, data: HeldOut, workers: Workers) -> ModelChoice:
    """Choose between the link models by the spread of popularities in a short run on the training network."""
    assortative, popularity = AUTO_MODELS
    if data.training.n_edges < FEWEST_LINKS:
        return ModelChoice(assortative, None)
    spread = measured_spread(request.with_model(popularity), data, workers)
    return ModelChoice(assortative if spread < EQUAL else popularity, spread)


def measured_spread(request: FitRequest, data: HeldOut, workers: Workers) -> float:
    """Return the mean of rho^(-1/2) over the last sweeps of a short run of one chain of the popularity model."""
    sampler, key = request.make_sampler(data, workers), request.chain_key(CHAIN)
    state = sampler.init(key)
    spreads = [float(sampler.step(state, key, True).measures["spread"]) for _ in range(SWEEPS)]
    return sum(spreads[-AVERAGED:]) / AVERAGED
