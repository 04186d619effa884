"""The settings of `lmc`, checked when they are made, and its constants with their evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from blockmix.errors import InputError
from blockmix.samplers.checks import check_choice, take_form
from blockmix.samplers.exact import check_limits

# Constants: docs/lab-notes.md, "two exact samplers".
# Seconds of a sweep for each pair, and for each community of a pair: measured as 220 + 35 K ns, within a factor of two
# ("Time a sweep").
SECONDS_A_PAIR, SECONDS_A_COMMUNITY = 3e-7, 4e-8
# Share of every membership that is spread evenly at the start: no phi may begin at zero. Not compared.
SPREAD = 0.05
# The acceptance rate at which Langevin proposals explore fastest (Roberts and Rosenthal 1998).
BEST_ACCEPTANCE = 0.574
# The number of a refreshed component is part of a 16-bit word of the random stream.
MOST_REFRESHED = 1000


# The background of form="paper" where none is given: at most this share of the density, as in the same form of `sgmc`.
PAPER_BACKGROUND = 0.1
# What form="paper" stands for; every entry is also a setting of its own. Damping 1 and 4 refreshed components adapt to
# steps of 1.3 to 2.2 where damping 0 ends at 8e-3 to 8e-6 ("The metric of the paper under a Metropolis-Hastings test").
CORRECTED: dict[str, Any] = {
    "damping": 1.0, "refresh": 4, "totals": "degree", "widened": True, "start": "partition",
}  # fmt: skip
PAPER: dict[str, Any] = {
    "damping": 0.0, "refresh": 0, "totals": "prior", "widened": False, "start": "random",
}  # fmt: skip


@dataclass(frozen=True)
class LmcOptions:
    """Settings of `lmc`.

    Arguments:
        form: "corrected", or "paper": the metric of the paper under the test, and nothing else. It only chooses the
            values of settings that are left out: damping=0, refresh=0, totals="prior", widened=False,
            start="random", and the background is not learned: it has the value given, or a tenth of the density.
        step: the first step h of every block; in warm-up each adapts its own, which is then fixed.
        acceptance: the acceptance rate that steps are adapted to.
        damping: c of (H2): components well below it are moved by `refresh` only; 0 is the metric of the paper. Left
            out, 1.
        refresh: components of every row that a sweep draws from the prior and tests (H5). Left out, 4.
        totals: "degree" expands the totals of phi and theta as in (H1), (H7); "prior" leaves them their Gamma priors,
            as in the paper. Left out, "degree".
        widened: whether proposals of strengths have the second term of their variance (H2). Left out, True.
        start: "partition", "random", two communities a node, or "flat", the random start of `sgmc`. Left out,
            "partition".
        most_gigabytes: networks whose pairs need more memory than this are an error.
        most_seconds: networks on which a sweep is expected to take longer than this are an error.
    """

    form: str = "corrected"
    step: float = 0.3
    acceptance: float = BEST_ACCEPTANCE
    damping: float | None = None
    refresh: int | None = None
    totals: str | None = None
    widened: bool | None = None
    start: str | None = None
    most_gigabytes: float = 4.0
    most_seconds: float = 60.0

    def __post_init__(self) -> None:
        check_choice("form", self.form, ("corrected", "paper"))
        take_form(self, PAPER if self.form == "paper" else CORRECTED)
        check_limits(self)
        check_choice("totals", self.totals, ("degree", "prior"))
        if not isinstance(self.widened, bool):
            raise InputError(f"widened must be True or False, not {self.widened!r}")
        for name in ("step", "acceptance", "damping"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, float | int) or not math.isfinite(value):
                raise InputError(f"{name} must be a number, not {value!r}")
        if self.step <= 0:
            raise InputError(f"step must be positive, not {self.step!r}")
        if not 0 < self.acceptance < 1:
            raise InputError(f"acceptance must lie strictly between 0 and 1, not {self.acceptance!r}")
        if self.damping is None or self.damping < 0:
            raise InputError(
                f"damping must not be negative, not {self.damping!r}; 0 is the metric of the paper"
            )
        n = self.refresh
        if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= MOST_REFRESHED:
            raise InputError(f"refresh must be a whole number from 0 to {MOST_REFRESHED}, not {n!r}")
