"""A chain at work, as the loop drives it: `LiveChain`, and the adapter that makes one of a `Sampler`.

A sweep, its predictions and its summaries stay where the chain's arrays are. Nothing leaves it but through `info`,
`forecast`, `summary` and `arrays`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from blockmix.samplers.contract import Approximation, Arrays, ChainKey, Info, Popular, Sampler, Startable
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


class HostChain:
    """A chain of a `Sampler` whose arrays are in the memory of this process."""

    def __init__(
        self,
        sampler: Sampler,
        state: Any,
        key: ChainKey,
        pairs: NDArray[np.int64],
        summary: ChainSummary | None = None,
    ) -> None:
        self.sampler, self.state, self.key, self.pairs = sampler, state, key, pairs
        shape = sampler.strengths(state).shape
        self._summary = summary or ChainSummary.empty(
            sampler.nodes, sampler.communities, sampler.slots, shape
        )
        self._forecast = np.zeros(len(pairs))
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
            self._summary.add(sweep, rows, strengths, sampler.workers, sampler.even_rest, popularity)
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

    def summary(self) -> ChainSummary:
        """Return the running summaries."""
        return self._summary

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return state, predictions and, once samples count, summaries."""
        found = {f"state_{name}": array for name, array in self.sampler.arrays(self.state).items()}
        found["forecast"] = self._forecast
        if self._summary.samples:
            found |= {f"summary_{name}": array for name, array in self._summary.arrays().items()}
        return found

    @classmethod
    def start(cls, sampler: Sampler, key: ChainKey, pairs: NDArray[np.int64], given: Any = None) -> HostChain:
        """Start a chain where its sampler starts, or at the memberships that the user gave."""
        state = sampler.init(key) if given is None else cast(Startable, sampler).init_at(key, given)
        return cls(sampler, state, key, pairs)

    @classmethod
    def restore(cls, sampler: Sampler, key: ChainKey, pairs: NDArray[np.int64], arrays: Arrays) -> HostChain:
        """Restore the chain that `arrays` was made from; raises `Damaged` where no chain wrote them."""
        check_layout(arrays, {"forecast": (np.float64, (len(pairs),))})
        check_finite("forecast", arrays["forecast"])
        chain = cls(sampler, sampler.restore(below("state_", arrays)), key, pairs)
        if kept := below("summary_", arrays):
            shape = sampler.strengths(chain.state).shape
            popular = hasattr(sampler, "popularity")
            check_summary(kept, sampler.nodes, sampler.communities, shape, sampler.even_rest, popular)
            chain._summary = ChainSummary.restore(kept)
        chain._forecast = arrays["forecast"]
        return chain


def chain_of(sampler: Sampler) -> type[HostChain]:
    """Return the class of a sampler's chains: that of its engine where the arrays of a chain are not on the host."""
    found: type[HostChain] = getattr(sampler, "chain", HostChain)
    return found


def below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin like this, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
