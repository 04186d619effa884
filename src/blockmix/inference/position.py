"""How far a run has come: what changes from sweep to sweep besides the chains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class Position:
    """How far a run has come: sweeps, those of them in warm-up, seconds of sampling, the trace so far.

    `over` is True once the plan has come to its end, `closed` if the last evaluation was made because the run
    stopped and not because it was due: a run that goes on removes it.
    """

    sweep: int = 0
    warm_up: bool = True
    warm_up_sweeps: int = 0
    seconds: float = 0.0
    updates: int = 0
    over: bool = False
    closed: bool = False
    rows: list[dict[str, float]] = field(default_factory=list)

    def trace(self) -> dict[str, NDArray[Any]]:
        """Return the trace by columns."""
        return {name: np.array([row[name] for row in self.rows]) for name in self.rows[0]}
