"""A chain at work, as the loop drives it: `LiveChain`, and the adapter that makes one of a `Sampler`.

A sweep, its predictions and its summaries stay where the chain's arrays are. Nothing leaves it but through `info`,
`forecast`, `summary` and `arrays`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from blockmix.files import Damaged
from blockmix.samplers.contract import (
    Approximation,
    Arrays,
    ChainKey,
    Info,
    Popular,
    Sampler,
    Startable,
    Weighing,
)
from blockmix.stored import check_finite, check_layout
from blockmix.tables.checks import check_summary
from blockmix.tables.samples import PosteriorSample
from blockmix.tables.summary import ChainSummary


class LiveChain(Protocol):
    """One chain of a run, on whatever engine."""

    def advance(self, warm_up: bool, samples: int) -> None:
        """Make one sweep, and add the new state to the predictions and, after warm-up, to the summaries.

        `samples` counts the sweeps of this phase, this one included.
        """

    def record_last(self) -> None:
        """Take the current state as the only posterior sample: the run was stopped during warm-up."""

    def info(self) -> Info:
        """Return what the last sweep measured."""

    def forecast(self) -> NDArray[np.float64]:
        """Return the link probabilities of the held-out pairs, averaged over the states so far."""

    def draws(self) -> list[PosteriorSample]:
        """Return the posterior samples kept."""

    def summary(self) -> ChainSummary:
        """Return the running summaries and the posterior samples kept."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything the chain is, for a checkpoint."""


class WeighingChain(LiveChain, Protocol):
    """A chain that predicts the weights of held-out pairs as well."""

    def weight_forecast(self) -> NDArray[np.float64]:
        """Return the density of the weight of every held-out pair, and its expected weight, averaged over states."""


class HostChain:
    """A chain of a `Sampler` whose arrays are in the memory of this process.

    `weights` are those of the first of the pairs, where the sampler uses weights.
    """

    def __init__(
        self,
        sampler: Sampler,
        state: Any,
        key: ChainKey,
        pairs: NDArray[np.int64],
        summary: ChainSummary | None = None,
        weights: NDArray[np.float64] | None = None,
        forecast: NDArray[np.float64] | None = None,
    ) -> None:
        self.sampler, self.state, self.key, self.pairs = sampler, state, key, pairs
        shape = sampler.strengths(state).shape
        self._summary = summary or ChainSummary.empty(
            sampler.nodes, sampler.communities, sampler.slots, shape
        )
        self._forecast = np.zeros(len(pairs)) if forecast is None else forecast
        self.weights = weights
        self._weights = np.zeros((2, 0 if weights is None else len(weights)))
        self._info = Info(0.0, 0)

    def advance(self, warm_up: bool, samples: int) -> None:
        """Make one sweep, predict, and record the state once samples count.

        In warm-up the predictions are a moving average in which sweep t weighs t, so that early states fade; after it
        every state weighs the same. Of an approximation only the last state counts.
        """
        self._info = self.sampler.step(self.state, self.key, warm_up)
        share = 2.0 / (samples + 1.0) if warm_up else 1.0 / samples
        if not self.sampler.samples:
            share = 1.0
        self.sampler.predict(self.state, self.pairs, 1.0 - share, share, self._forecast)
        if self.weights is not None:
            held_out = self.pairs[: len(self.weights)], self.weights
            cast(Weighing, self.sampler).predict_weights(self.state, held_out, share, self._weights)
        if not warm_up:
            self._record(samples - 1)

    def record_last(self) -> None:
        """Take the current state as the only posterior sample."""
        self._record(0)

    def _record(self, number: int) -> None:
        """Take the state into the summaries as sample `number`, counted from 0."""
        sampler, state = self.sampler, self.state
        sweep = sampler.sweeps_done(state)
        if sampler.samples:
            rows, strengths = sampler.memberships(state), sampler.strengths(state)
            popularity = cast(Popular, sampler).popularity(state) if hasattr(sampler, "popularity") else None
            unit = None if self.weights is None else cast(Weighing, sampler).unit(state)
            self._summary.add(sweep, rows, strengths, sampler.workers, sampler.even_rest, popularity, unit)
        else:
            approximation = cast(Approximation, sampler)
            drawn = approximation.draw(state, self.key)
            self._summary.replace(sweep, approximation.moments(state), drawn, number)

    def info(self) -> Info:
        """Return what the last sweep measured."""
        return self._info

    def forecast(self) -> NDArray[np.float64]:
        """Return the link probabilities of the held-out pairs."""
        return self._forecast

    def draws(self) -> list[PosteriorSample]:
        """Return the posterior samples kept."""
        return self._summary.kept.samples

    def weight_forecast(self) -> NDArray[np.float64]:
        """Return densities and expected values of the weights of held-out pairs, in two rows."""
        return self._weights

    def summary(self) -> ChainSummary:
        """Return the running summaries."""
        return self._summary

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return state, predictions and, once samples count, summaries."""
        found = arrays_of_chain(self.sampler.arrays(self.state), self._forecast, self._summary)
        if self.weights is not None:
            found["forecast_weights"] = self._weights
        return found

    @classmethod
    def start(
        cls, sampler: Sampler, key: ChainKey, pairs: NDArray[np.int64], given: Any = None,
        weights: NDArray[np.float64] | None = None,
    ) -> HostChain:  # fmt: skip
        """Start a chain where its sampler starts, or at the memberships that the user gave."""
        state = sampler.init(key) if given is None else cast(Startable, sampler).init_at(key, given)
        return cls(sampler, state, key, pairs, weights=weights)

    @classmethod
    def restore(
        cls, sampler: Sampler, key: ChainKey, pairs: NDArray[np.int64], arrays: Arrays,
        weights: NDArray[np.float64] | None = None,
    ) -> HostChain:  # fmt: skip
        """Restore the chain that `arrays` was made from; raises `Damaged` where no chain wrote them."""
        check_layout(arrays, {"forecast": (np.float64, (len(pairs),))})
        check_finite("forecast", arrays["forecast"])
        chain = cls(sampler, sampler.restore(below("state_", arrays)), key, pairs, weights=weights)
        if weights is not None:
            check_layout(arrays, {"forecast_weights": (np.float64, (2, len(weights)))})
            check_finite("forecast_weights", arrays["forecast_weights"], 0.0)
            chain._weights = np.array(arrays["forecast_weights"])
        if kept := below("summary_", arrays):
            shape = sampler.strengths(chain.state).shape
            popular = hasattr(sampler, "popularity")
            check_summary(kept, sampler.nodes, sampler.communities, shape, sampler.even_rest, popular)
            if "draws_sweep" in kept and ("draws_unit" in kept) != (weights is not None):
                raise Damaged(
                    "the posterior samples are those of links with weights, or of links without, other than the run"
                )
            chain._summary = ChainSummary.restore(kept)
        chain._forecast = arrays["forecast"]
        return chain


def chain_of(sampler: Sampler) -> type[HostChain]:
    """Return the class of a sampler's chains: that of its engine where the arrays of a chain are not on the host."""
    found: type[HostChain] = getattr(sampler, "chain", HostChain)
    return found


def arrays_of_chain(
    state: Arrays, forecast: NDArray[np.float64], summary: ChainSummary
) -> dict[str, NDArray[Any]]:
    """Return everything a chain is, by the names that it has in a checkpoint; a summary once samples count."""
    found = {f"state_{name}": array for name, array in state.items()} | {"forecast": forecast}
    if summary.samples:
        found |= {f"summary_{name}": array for name, array in summary.arrays().items()}
    return found


def below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin like this, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
