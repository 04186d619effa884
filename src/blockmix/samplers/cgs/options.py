"""The settings of `cgs`, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass

from blockmix.samplers.exact import check_limits

# Seconds of a sweep for each pair, and for each community of a pair: measured as 80 + 8 K ns, within a factor of two
# (docs/lab-notes.md, "two exact samplers", "Time a sweep").
SECONDS_A_PAIR, SECONDS_A_COMMUNITY = 1e-7, 1e-8


@dataclass(frozen=True)
class CgsOptions:
    """Settings of `cgs`.

    Arguments:
        start: "partition", "random", two communities a node, or "flat", the random start of `sgmc`.
        most_gigabytes: networks whose indicators need more memory than this are an error.
        most_seconds: networks on which a sweep is expected to take longer than this are an error.
    """

    start: str = "partition"
    most_gigabytes: float = 4.0
    most_seconds: float = 60.0

    def __post_init__(self) -> None:
        check_limits(self)
