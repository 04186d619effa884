"""What a sweep of `scir` is made of, one twin an engine: `cpu` (numba), `cuda`, and `reference` (plain Python)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from blockmix.samplers.scir.frame import NodePriors
from blockmix.samplers.scir.problem import ScirState, Sweep


class Measures(NamedTuple):
    """What a sweep measured.

    `links_inside` is the expected number of links inside communities, `dropped` the mean share of a node's phi that
    found no slot, `accepted` the share of nodes whose new memberships passed the test (all, where there is none).
    """

    links_inside: float
    dropped: float
    accepted: float


class ScirKernels(Protocol):
    """The parts of a sweep. `Scir.step` calls them in the only right order, with the reasons."""

    def priors(self, concentration: float) -> NodePriors:
        """Return what is believed of nodes for this K alpha, as the kernels read it."""

    def begin(self, state: ScirState, sweep: Sweep) -> None:
        """Prepare what a sweep needs of the strengths and rows as they are."""

    def redraw(self, batch: int, state: ScirState, sweep: Sweep) -> None:
        """Draw new rows for the nodes of a batch from the old rows of all, then put them into the table."""

    def redraw_all(self, state: ScirState, sweep: Sweep) -> None:
        """Do the same for all batches, in one call: for small networks."""

    def update_strengths(self, state: ScirState, sweep: Sweep) -> None:
        """Draw strengths and background given the rows of all nodes."""

    def draw_concentration(self, state: ScirState, sweep: Sweep) -> float:
        """(Q3) Draw K alpha given the rows of all nodes."""

    def measures(self) -> Measures:
        """Return what the sweep measured, and begin anew."""

    def forecast(
        self, state: ScirState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (M1) of every pair."""
