"""When warm-up ends and when a run stops: by sweeps, by time, or when scores have settled and chains agree.

Without limits a run ends when all of this holds: the held-out score has settled, the chains agree (R-hat and effective
sample sizes of quantities without labels), and as many sweeps were sampled as warmed up. Chains that do not agree are
waited for as long as the comparisons say that they will within the most sweeps that the run may make, which depend on
the work of a sweep (`choices.limit`). Where they do not come to agree the result says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError

# Share of the sweeps or the time that goes to warm-up by default.
WARM_UP_SHARE = 0.4
# Without limits: warm-up and sampling each last at least this many sweeps, the warm-up at most that many.
FEWEST_SWEEPS, MOST_WARM_UP = 120, 1000
# The most sweeps of a run without limits on a small network, and the share of them that may be warm-up. A limit in
# seconds would make the result depend on the machine.
MOST_BY_DEFAULT, MOST_WARM_UP_SHARE = 30_000, 1 / 3
# Chains that will not agree within that, by the last comparison, are waited for until there are so many times as many
# sampling sweeps as the warm-up had, or so many of them, whichever is more.
MOST_TIMES, LEAST_LIMIT = 2, 1000
# Chains are compared again when so many times as many sweeps were sampled.
CHECK_AGAIN = 1.25
# Sweeps between evaluations.
EVALUATE_EVERY = 10
# The last comparison says how many samples the chains need, as far as few samples tell. In runs on karate, lesmis and
# polbooks what was left then took 0.33 to 1.2 times as long: no end is announced before this share of them.
LEAST_OF_NEEDED = 0.3
# A score has settled when its best value improved by less than this share over the last third of the phase.
SETTLED = 0.002
# Without limits and without held-out pairs there is no score to watch: warm-up and the first comparison of the chains
# come after so many sweeps.
UNWATCHED_WARM_UP, UNWATCHED_SWEEPS = 200, 500


# Sweeps are part of the key of random numbers, 32 bits wide.
MOST_COUNTED = 4_000_000_000


class TimeLeft(NamedTuple):
    """Seconds until a run may end, and until it ends in any case, as far as the last comparison of its chains tells."""

    least: float
    most: float


class Checked(Protocol):
    """What a comparison of chains gave: whether it can tell, whether they agree, what is missing and how much more."""

    @property
    def known(self) -> bool:
        """Whether it can be told if the chains agree."""

    @property
    def converged(self) -> bool:
        """Whether they do."""

    @property
    def missing(self) -> str:
        """What is missing, in a few words."""

    @property
    def times_needed(self) -> float:
        """How many times as many samples it takes at least until they agree."""


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
    most: int = MOST_BY_DEFAULT
    _scores: list[tuple[int, float]] = field(default_factory=list)
    _began: int | None = None
    _agreed_at: int | None = None
    _missing: str = ""
    # Sampling sweeps after which the chains will agree, by the last comparison; infinite where it does not tell.
    _needed: float = math.inf

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

    def limits(self) -> dict[str, Any]:
        """Return what was asked for, as plain values; `most` follows from the network and is not asked for."""
        return {name: getattr(self, name) for name in ("sweeps", "time_limit", "warm_up", "watched")}

    def add_score(self, sweep: int, value: float) -> None:
        """Add the held-out log loss after a sweep."""
        self._scores.append((sweep, value))

    def remove_last_score(self) -> None:
        """Remove the score that was added last."""
        if self._scores:
            self._scores.pop()

    def memory(self) -> NDArray[np.float64]:
        """Return the scores for a checkpoint, below a row with the sweep at which sampling began (-1: not yet).

        Beside it is what the last comparison of the chains gave: the sampling sweeps that they need, or the sweep at
        which they agreed, below zero; 0 if it gave neither.
        """
        began = -1 if self._began is None else self._began
        given = self._needed if math.isfinite(self._needed) else -(self._agreed_at or 0)
        return np.array([(began, given), *self._scores], dtype=np.float64)

    def remember(self, memory: NDArray[np.float64]) -> None:
        """Restore the scores that `memory` returned."""
        began = int(memory[0, 0])
        self._began = None if began < 0 else began
        given = float(memory[0, 1])
        self._needed = given if given > 0 else math.inf
        self._agreed_at = int(-given) if given < 0 else None
        self._scores = [(int(sweep), float(value)) for sweep, value in memory[1:]]

    def warm_up_over(self, sweep: int, seconds: float) -> bool:
        """Return whether sampling begins after this many sweeps and seconds."""
        if self.warm_up is not None:
            return sweep >= self.warm_up
        if self.sweeps is not None and sweep >= WARM_UP_SHARE * self.sweeps:
            return True
        if self.time_limit is not None:
            return seconds >= WARM_UP_SHARE * self.time_limit
        if self.sweeps is None and not self.watched:
            return sweep >= min(UNWATCHED_WARM_UP, self._most_warm_up)
        return self.sweeps is None and (sweep >= self._most_warm_up or self._settled(sweep))

    def sampling_begins(self, sweep: int) -> None:
        """Remove the scores of the warm-up; from now on the scores and checks of the sampling end the run."""
        self._scores.clear()
        self._began = sweep

    def check_due(self, sweep: int) -> bool:
        """Return whether the chains are to be compared after this sweep: a run without limits ends when they agree.

        The first time is when as many sweeps were sampled as warmed up, and then each time they are a quarter more. The
        sweeps depend on the length of the warm-up alone, so that a resumed run makes the same checks.
        """
        if not self._open_ended or self._began is None:
            return False
        return sweep == self._check_from(sweep)

    def add_check(self, sweep: int, table: Checked) -> None:
        """Note what a comparison of the chains gave; where it cannot tell, the score decides alone."""
        self._missing = table.missing
        self._agreed_at = sweep if table.converged or not table.known else None
        waiting = table.known and not table.converged
        self._needed = table.times_needed * (sweep - (self._began or 0)) if waiting else math.inf

    def over(self, sweep: int, seconds: float) -> bool:
        """Return whether the run stops after this many sweeps and seconds."""
        if self.sweeps is not None and sweep >= self.sweeps:
            return True
        if self.time_limit is not None:
            return seconds >= self.time_limit
        if self.sweeps is not None or self._began is None:
            return False
        if sweep >= self._began + self.most_sampled:
            return True
        return self._agreed_at == sweep and self._settled(sweep)

    @property
    def most_sampled(self) -> int:
        """Sampling sweeps after which a run without limits ends although its chains do not agree or its score falls.

        All that its work allows where they agree, or will within that by their last comparison; else fewer.
        """
        return self._allowed if self._waits else self._given_up

    @property
    def _given_up(self) -> int:
        """Sampling sweeps after which chains that will not agree are given up."""
        return min(max(LEAST_LIMIT, MOST_TIMES * (self._began or 0)), self._allowed)

    @property
    def _allowed(self) -> int:
        """Sampling sweeps that the work of a sweep allows; never fewer than were warmed up."""
        began = self._began or 0
        return max(self.most - began, began, FEWEST_SWEEPS)

    @property
    def _waits(self) -> bool:
        """Whether the chains agree, so that the score alone is missing, or will within the sweeps that are allowed."""
        return self._agreed_at is not None or self._needed <= self._allowed

    @property
    def _most_warm_up(self) -> int:
        return min(MOST_WARM_UP, int(MOST_WARM_UP_SHARE * self.most))

    def share_done(self, sweep: int, seconds: float) -> float | None:
        """Return the share of the run that is done, from 0 to 1; None when that depends on scores to come."""
        shares = []
        if self.sweeps is not None:
            shares.append(sweep / self.sweeps)
        if self.time_limit is not None:
            shares.append(seconds / self.time_limit)
        return min(max(shares), 1.0) if shares else None

    def seconds_left(self, sweep: int, seconds: float, seconds_a_sweep: float | None) -> TimeLeft | None:
        """Estimate the seconds that are left; None while nothing can tell.

        Where sweeps or the time are given both ends are the same. A run without limits ends at a comparison of its
        chains, as late as the last one says that they will agree, or as early as at `LEAST_OF_NEEDED` of that; before
        the first comparison, at the first one or at its limit.
        """
        least = [] if self.time_limit is None else [self.time_limit - seconds]
        most = list(least)
        if seconds_a_sweep is not None and (self.sweeps is not None or self._open_ended):
            first, last = (self.sweeps, self.sweeps) if self.sweeps is not None else self._ends(sweep)
            least.append((first - sweep) * seconds_a_sweep)
            most.append((last - sweep) * seconds_a_sweep)
        return TimeLeft(max(min(least), 0.0), max(min(most), 0.0)) if least else None

    def _ends(self, sweep: int) -> tuple[int, int]:
        """Return the first and the last sweep at which a run without limits may end, as far as it can tell now."""
        if self._began is None:
            begins = max(sweep, min(FEWEST_SWEEPS, self._most_warm_up) if self.watched else UNWATCHED_WARM_UP)
            first = self._first_check(begins if self.warm_up is None else self.warm_up)
            return first, max(self.most, first)
        if sweep < self._first_check():
            return self._first_check(), self._began + self._allowed
        check, end = self._check_after(sweep, 0.0), self._began + self.most_sampled
        if math.isfinite(self._needed):
            needed = LEAST_OF_NEEDED * self._needed
            # The next comparison may find that they will not agree in time: likely only where that is not far off.
            near = 2 * self._needed > self._allowed
            check = self._check_after(sweep, min(needed, self._given_up) if near else needed)
        if self._waits:
            needed = self._needed if math.isfinite(self._needed) else 0.0
            end = min(self._check_after(sweep, needed), self._began + self._allowed)
        return min(check, end), end

    def _check_after(self, sweep: int, sampled: float) -> int:
        """Return the first comparison after this sweep by which so many sweeps were sampled: a run ends at one."""
        return self._check_from(max(sweep + 1, (self._began or 0) + math.ceil(sampled)))

    def missing(self, sweep: int) -> str:
        """Return in a few words what must still happen before a run without limits ends; else empty."""
        if not self._open_ended:
            return ""
        if self._began is None:
            score = " whose score has settled" if self.watched else ""
            return f"a warm-up{score}, at most {self._most_warm_up if self.watched else UNWATCHED_WARM_UP:,} sweeps"
        if sweep < self._first_check():
            return f"{self._first_check() - sweep:,} sweeps until the chains are compared"
        parts = [] if self._settled(sweep) else ["a settled score"]
        return ", ".join([*parts, *filter(None, [self._missing])]) or "the next comparison of the chains"

    def reason(self, sweep: int, chains: int) -> str:
        """Return in words why a run of so many chains ended after this sweep."""
        if self.sweeps is not None and sweep >= self.sweeps:
            return f"it had {self.sweeps:,} sweeps to make"
        if self.time_limit is not None:
            return f"the time limit of {self.time_limit:g} s was reached"
        if self._agreed_at is None and chains > 1:
            return self._disagreement(sweep)
        if not self._settled(sweep):
            return f"the limit of {sweep:,} sweeps was reached before the held-out score had settled"
        if not self.watched:
            return (
                "the chains agreed"
                if chains > 1
                else f"{sweep:,} sweeps were made; without held-out pairs none can tell"
            )
        agreed = " and the chains agreed" if chains > 1 else ""
        return f"the held-out score had settled{agreed}"

    def _disagreement(self, sweep: int) -> str:
        """Return in words which limit ended a run whose chains do not agree."""
        sampled = sweep - (self._began or 0)
        if sampled >= self._allowed:
            return f"the limit of {sweep:,} sweeps was reached before the chains agreed"
        return (
            f"the chains did not agree in {sampled:,} sampling sweeps, and are not expected to within the limit of "
            f"{self.most:,} sweeps"
        )

    @property
    def _open_ended(self) -> bool:
        return self.sweeps is None and self.time_limit is None

    def _check_from(self, sweep: int) -> int:
        """Return the first sweep from here on after which the chains are compared."""
        began, due = self._began or 0, self._first_check()
        while due < sweep:
            due = _round_up(began + CHECK_AGAIN * (due - began))
        return due

    def _first_check(self, began: int | None = None) -> int:
        """Return the sweep after which chains are first compared: as many were sampled as warmed up, or a few more."""
        began = (self._began or 0) if began is None else began
        least = FEWEST_SWEEPS if self.watched else min(UNWATCHED_SWEEPS - UNWATCHED_WARM_UP, self._allowed)
        return _round_up(began + max(least, began))

    def _settled(self, sweep: int) -> bool:
        """Return whether the score has stopped improving in this phase; without one nothing is waited for."""
        if not self.watched:
            return True
        began = self._began or 0
        done = sweep - began
        if done < FEWEST_SWEEPS or not self._scores:
            return False
        recent = began + 2 * done // 3
        before = [value for at, value in self._scores if at <= recent]
        after = [value for at, value in self._scores if at > recent]
        return bool(before) and bool(after) and min(after) > min(before) * (1.0 - SETTLED)


def _round_up(sweeps: float) -> int:
    """Return the first sweep from here on at which an evaluation is due."""
    return EVALUATE_EVERY * math.ceil(sweeps / EVALUATE_EVERY)
