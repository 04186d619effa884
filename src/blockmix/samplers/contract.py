"""What every sampler must provide, whatever algorithm it runs.

A sampler is bound to a network, a model, its options and a pool of workers. It makes a state, moves it one
sweep at a time, and shows it as memberships and strengths. A sweep is about one update of every node, however
the sampler goes about it: samplers with mini-batches make as many iterations as that takes. So nothing that
looks at all nodes, such as a prediction or a running mean, is done more often than once a sweep.

Random numbers are a function of the chain's key and of what the state counts (sweeps, iterations), never of
what else has happened in the process: a state restored from its arrays goes on to the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.workers import Workers
from blockmix.tables.layout import Rows
from blockmix.tables.summary import Moments

# Two words that a chain's random numbers are keyed by and, in a fit, the number of the chain.
ChainKey = tuple[int, ...]
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Info:
    """What a sweep measured.

    `background` is the background probability after it, `updates` the number of nodes updated, `iterations` the
    number of mini-batches (one where the sampler has none), `measures` what else it measured, by name: they
    become columns of the trace.
    """

    background: float
    updates: int
    iterations: int = 1
    measures: Mapping[str, float] = field(default_factory=dict)


class Sampler(Protocol):
    """One algorithm at work on one network.

    `slots` is the number of communities that a row of `memberships` can hold. `samples` tells what a state
    is: a draw from the posterior, so that states are averaged, or (False) the current approximation to it,
    so that the last one counts; the second kind is an `Approximation`. `even_rest` tells what a row of
    `memberships` lacks to one: nothing but rounding (False), or the membership in all other communities together,
    of which each has an equal part (True).
    """

    name: str
    samples: bool
    workers: Workers
    nodes: int
    communities: int
    slots: int
    even_rest: bool

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, before the clock starts."""

    def init(self, key: ChainKey) -> Any:
        """Return a chain at its starting state."""

    def step(self, state: Any, key: ChainKey, warm_up: bool) -> Info:
        """Make one sweep; the state is changed in place."""

    def sweeps_done(self, state: Any) -> int:
        """Return the number of sweeps made so far."""

    def memberships(self, state: Any) -> Rows:
        """Return the memberships, largest first or in any order; may be a view of the state."""

    def strengths(self, state: Any) -> NDArray[np.float64]:
        """Return strengths of the communities and, last, of the background; of the general model the K x K matrix.

        Of a `Popular` sampler these are rates (DC1).
        """

    def predict(
        self, state: Any, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (link probability of every pair under this state)."""

    def arrays(self, state: Any) -> dict[str, NDArray[Any]]:
        """Return everything the state is, for a checkpoint."""

    def restore(self, arrays: Arrays) -> Any:
        """Restore the state that `arrays` was made from."""


class Startable(Sampler, Protocol):
    """A sampler that can start at memberships which a user has given."""

    def init_at(self, key: ChainKey, given: Any) -> Any:
        """Return a chain at these memberships, a sparse matrix of nodes x communities (`given.given_memberships`)."""


class Popular(Sampler, Protocol):
    """A sampler of the model in which every node has a popularity."""

    def popularity(self, state: Any) -> NDArray[np.float32]:
        """Return r_a of every node; may be a view of the state."""


class Weighing(Sampler, Protocol):
    """A sampler that uses the weights of links."""

    def unit(self, state: Any) -> float:
        """Return the mean weight of a unit (DC13)."""

    def predict_weights(
        self, state: Any, held_out: tuple[NDArray[np.int64], NDArray[np.float64]], share: float,
        out: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Set out = (1 - share) out + share * (density of every weight, expected weight) under this state."""


class Approximation(Sampler, Protocol):
    """A sampler whose state is a distribution of its own, such as that of variational inference."""

    def moments(self, state: Any) -> Moments:
        """Return means and variances under the current approximation."""

    def draw(self, state: Any, key: ChainKey) -> tuple[Rows, NDArray[np.float64]]:
        """Draw memberships and strengths from it."""
