"""What a sweep of `scir` is made of, one twin an engine: `cpu` (numba) and `reference` (plain Python)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

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

    def refresh_members(self, state: ScirState) -> None:
        """Bring S_k and Q_k, the sums of memberships over nodes, up to date with the rows."""

    def redraw(self, batch: int, state: ScirState, sweep: Sweep) -> None:
        """Draw new rows for the nodes of a batch from the old rows of all, and set them aside."""

    def commit(self, batch: int, state: ScirState) -> None:
        """Copy the rows set aside into the table."""

    def update_strengths(self, state: ScirState, sweep: Sweep) -> None:
        """Draw strengths and background from the pair counts that `redraw` has gathered."""

    def measures(self) -> Measures:
        """Return what the sweep measured, and begin anew."""

    def forecast(
        self, state: ScirState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (M1) of every pair."""
