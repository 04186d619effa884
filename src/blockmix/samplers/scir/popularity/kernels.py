"""What a sweep of the popularity model is made of, one twin an engine: `cpu` (numba) and `reference` (plain Python)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from blockmix.samplers.scir.popularity.problem import PopularityState, Sweep

# In the first sweeps of warm-up the background makes at most this share of the links: left free, it could take them
# all before communities have formed (the same rule as in the assortative model).
BACKGROUND_HELD_DOWN, BACKGROUND_SHARE = 50, 0.1


class Measures(NamedTuple):
    """What a sweep measured.

    `units` is the number of units a link, `inside` the share of them in communities rather than of the background,
    `spread` the standard deviation of popularities under their prior, 1/sqrt(rho); `dropped` the mean share of a row
    that found no slot, `accepted` the share of nodes whose new memberships passed the test.
    """

    units: float
    inside: float
    spread: float
    dropped: float
    accepted: float


class PopularityKernels(Protocol):
    """The parts of a sweep."""

    def redraw_nodes(self, state: PopularityState, sweep: Sweep) -> None:
        """(DC5) to (DC9) Redraw row and popularity of every node, batch by batch."""

    def update_rates(self, state: PopularityState, sweep: Sweep) -> None:
        """(DC10) Draw rates, background and rho given the rows; of amounts the size of a unit as well (DC14)."""

    def draw_concentration(self, state: PopularityState, sweep: Sweep) -> float:
        """(Q3) Draw K alpha given the rows of all nodes."""

    def measures(self, state: PopularityState) -> Measures:
        """Return what the sweep measured, and begin anew."""

    def forecast(
        self, state: PopularityState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:  # fmt: skip
        """Set out = keep * out + share * (DC11) of every pair."""
