"""When warm-up ends and when a run stops: by sweeps, by time, or when the held-out score has settled."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError

# Share of the sweeps or the time that goes to warm-up by default.
WARM_UP_SHARE = 0.4
# Without limits: warm-up and sampling each last at least this many sweeps and at most that many.
FEWEST_SWEEPS, MOST_SWEEPS = 120, 3000
# A score has settled when its best value improved by less than this share over the last third of the phase.
SETTLED = 0.002
# Without limits and without held-out pairs there is no score to watch.
UNWATCHED_SWEEPS = 500


# Sweeps are part of the key of random numbers, 32 bits wide.
MOST_COUNTED = 4_000_000_000


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return the value as an int, or raise an error that names it.

    >>> whole_number("chains", 2.0, 1)
    2
    """
    try:
        whole = not isinstance(value, bool | str) and int(value) == value and value >= least
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r:.80}")
    if most is not None and value > most:
        raise InputError(f"{name} must be at most {most:,}, not {value!r:.80}; give a smaller number")
    return int(value)


def _positive(value: Any) -> bool:
    number = isinstance(value, float | int | np.number) and not isinstance(value, bool)
    return number and math.isfinite(value) and bool(value > 0)


@dataclass
class Plan:
    """Decides after each sweep what comes next. Only the clock of a time limit is not reproducible."""

    sweeps: int | None = None
    time_limit: float | None = None
    warm_up: int | None = None
    watched: bool = True
    _scores: list[tuple[int, float]] = field(default_factory=list)
    _began: int | None = None

    def __post_init__(self) -> None:
        for name, value, least in (("sweeps", self.sweeps, 1), ("warm_up", self.warm_up, 0)):
            if value is not None:
                setattr(self, name, whole_number(name, value, least, MOST_COUNTED))
        if self.time_limit is not None and not _positive(self.time_limit):
            raise InputError(f"time_limit must be a positive number of seconds, not {self.time_limit!r}")
        if self.sweeps is not None and self.warm_up is not None and self.warm_up >= self.sweeps:
            raise InputError(
                f"warm_up ({self.warm_up}) must be less than sweeps ({self.sweeps}): no sample would be taken"
            )
        if self.sweeps is None and self.time_limit is None and not self.watched:
            self.sweeps = UNWATCHED_SWEEPS + (self.warm_up or 0)

    def limits(self) -> dict[str, Any]:
        """Return what was asked for, as plain values: `Plan(**plan.limits())` begins anew."""
        return {name: getattr(self, name) for name in ("sweeps", "time_limit", "warm_up", "watched")}

    def add_score(self, sweep: int, value: float) -> None:
        """Add the held-out log loss after a sweep."""
        self._scores.append((sweep, value))

    def remove_last_score(self) -> None:
        """Remove the score that was added last."""
        if self._scores:
            self._scores.pop()

    def memory(self) -> NDArray[np.float64]:
        """Return the scores for a checkpoint, below a row with the sweep at which sampling began (-1: not yet)."""
        began = -1 if self._began is None else self._began
        return np.array([(began, 0.0), *self._scores], dtype=np.float64)

    def remember(self, memory: NDArray[np.float64]) -> None:
        """Restore the scores that `memory` returned."""
        began = int(memory[0, 0])
        self._began = None if began < 0 else began
        self._scores = [(int(sweep), float(value)) for sweep, value in memory[1:]]

    def warm_up_over(self, sweep: int, seconds: float) -> bool:
        """Return whether sampling begins after this many sweeps and seconds."""
        if self.warm_up is not None:
            return sweep >= self.warm_up
        if self.sweeps is not None and sweep >= WARM_UP_SHARE * self.sweeps:
            return True
        if self.time_limit is not None:
            return seconds >= WARM_UP_SHARE * self.time_limit
        return self.sweeps is None and self._settled(sweep)

    def sampling_begins(self, sweep: int) -> None:
        """Remove the scores of the warm-up; from now on a settled score ends the run."""
        self._scores.clear()
        self._began = sweep

    def over(self, sweep: int, seconds: float) -> bool:
        """Return whether the run stops after this many sweeps and seconds."""
        if self.sweeps is not None and sweep >= self.sweeps:
            return True
        if self.time_limit is not None:
            return seconds >= self.time_limit
        return self.sweeps is None and self._began is not None and self._settled(sweep)

    def share_done(self, sweep: int, seconds: float) -> float | None:
        """Return the share of the run that is done, from 0 to 1; None when that depends on scores to come."""
        shares = []
        if self.sweeps is not None:
            shares.append(sweep / self.sweeps)
        if self.time_limit is not None:
            shares.append(seconds / self.time_limit)
        return min(max(shares), 1.0) if shares else None

    def _settled(self, sweep: int) -> bool:
        """Return whether the score has stopped improving in this phase."""
        began = self._began or 0
        done = sweep - began
        if done >= MOST_SWEEPS:
            return True
        if done < FEWEST_SWEEPS or not self._scores:
            return False
        recent = began + 2 * done // 3
        before = [value for at, value in self._scores if at <= recent]
        after = [value for at, value in self._scores if at > recent]
        return bool(before) and bool(after) and min(after) > min(before) * (1.0 - SETTLED)
