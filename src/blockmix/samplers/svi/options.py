"""The settings of `svi`, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass

from blockmix.errors import InputError
from blockmix.samplers.checks import check_choice, check_count, check_positive


@dataclass(frozen=True)
class SviOptions:
    """Settings of `svi`; docs/lab-notes.md has the figures behind the defaults.

    Arguments:
        pairs: "joint" keeps the two indicators of a pair together, (V2): a tighter bound, in closed form. "factors" is
            the published form, one factor an indicator, (V3), iterated to `tolerance`.
        neighbors, non_neighbors: partners sampled for the update of a node, n_1 and n_0.
        batch_non_links: non-links in a mini-batch of pairs.
        step, delay, decay: the step of a node after t updates of its own, step (1 + t/delay)^-decay, (V7).
        strength_step, strength_delay, strength_decay: the same for strengths, t counting mini-batches.
        tolerance, most_rounds: of "factors" alone: a pair's updates end when a round changes its factors by less, or
            after so many rounds.
        start: "partition" or "random".
    """

    pairs: str = "joint"
    neighbors: int = 32
    non_neighbors: int = 16
    batch_non_links: int = 256
    step: float = 1.0
    delay: float = 100.0
    decay: float = 0.6
    strength_step: float = 0.125
    strength_delay: float = 64.0
    strength_decay: float = 0.6
    tolerance: float = 1e-3
    most_rounds: int = 50
    start: str = "partition"

    def __post_init__(self) -> None:
        for name in ("neighbors", "non_neighbors", "batch_non_links", "most_rounds"):
            check_count(name, getattr(self, name))
        for name in ("delay", "strength_delay", "tolerance"):
            check_positive(name, getattr(self, name))
        for name in ("step", "strength_step"):
            value = getattr(self, name)
            if not isinstance(value, float | int) or not 0 < value <= 1:
                raise InputError(f"{name} must be above 0 and at most 1, not {value!r}")
        for name in ("decay", "strength_decay"):
            value = getattr(self, name)
            if not isinstance(value, float | int) or not 0 <= value <= 1:
                raise InputError(
                    f"{name} must lie between 0 and 1, above 0.5 for the steps to converge, not {value!r}"
                )
        for name, known in (("pairs", ("joint", "factors")), ("start", ("partition", "random"))):
            check_choice(name, getattr(self, name), known)

    def unused(self) -> dict[str, str]:
        """Return the settings that have no effect beside the others, each with the remedy."""
        remedy = 'it belongs to pairs="factors"; add that, or leave it out'
        return dict.fromkeys(("tolerance", "most_rounds"), remedy) if self.pairs == "joint" else {}
