"""The settings of `svi`, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blockmix.errors import InputError
from blockmix.samplers.checks import check_choice, check_count, check_positive, take_form

# What form="paper" stands for; every entry is also a setting of its own. The schedules, (1024 + t)^-0.5 for nodes and
# (1024 + t)^-0.9 for strengths, 50 rounds to 1e-5 and ten sets of non-links a node are those of the program of the
# publication's authors (svinet, "stratified random node").
CORRECTED: dict[str, Any] = {
    "pairs": "joint", "evidence": "partners", "weighted": True, "batch_non_links": 256,
    "step": 1.0, "delay": 100.0, "decay": 0.6, "strength_step": 0.125, "strength_delay": 64.0, "strength_decay": 0.6,
    "tolerance": 1e-3, "start": "partition",
}  # fmt: skip
PAPER: dict[str, Any] = {
    "pairs": "factors", "evidence": "pairs", "weighted": False,
    "step": 1024.0**-0.5, "delay": 1024.0, "decay": 0.5,
    "strength_step": 1024.0**-0.9, "strength_delay": 1024.0, "strength_decay": 0.9,
    "tolerance": 1e-5, "start": "even",
}  # fmt: skip
# Sets that the non-links of a node are divided into in the published form: its mini-batches have N/10 of them.
PAPER_SETS = 10


@dataclass(frozen=True)
class SviOptions:
    """Settings of `svi`; docs/lab-notes.md has the figures behind the defaults.

    Arguments:
        form: "corrected", or "paper": the algorithm of Gopalan et al. (2012). It only chooses the values of settings
            that are left out: pairs="factors", evidence="pairs", weighted=False, batch_non_links=N/10, the published
            steps, tolerance=1e-5, start="even", and the background is not learned: it has the value given, or a tenth
            of the density.
        pairs: "joint" keeps the two indicators of a pair together, (V2): a tighter bound, in closed form. "factors" is
            the published form, one factor an indicator, (V3), iterated to `tolerance`. Left out, "joint".
        evidence: what counts in a step. "partners": every node of a mini-batch samples partners of its own (V8).
            "pairs": the pairs of the mini-batch alone, and all nodes move (V10). Left out, "partners".
        weighted: whether non-links are weighted after a balanced hold-out. Left out, True.
        neighbors, non_neighbors: partners sampled for the update of a node, n_1 and n_0; of "partners" alone.
        batch_non_links: non-links in a mini-batch of pairs. Left out, 256.
        step, delay, decay: the step of a node after t updates of its own, step (1 + t/delay)^-decay, (V7). Left out, 1,
            100, 0.6.
        strength_step, strength_delay, strength_decay: the same for strengths, t counting mini-batches. Left out, 0.125,
            64, 0.6.
        tolerance, most_rounds: of "factors" alone: a pair's updates end when a round changes its factors by less, or
            after so many rounds. `tolerance`, left out, is 1e-3.
        start: "partition", "random": the parts nearest to random nodes, "even": every node about evenly in all
            communities, or "flat": the random start of `sgmc`. Left out, "partition".
    """

    form: str = "corrected"
    pairs: str | None = None
    evidence: str | None = None
    weighted: bool | None = None
    neighbors: int = 32
    non_neighbors: int = 16
    batch_non_links: int | None = None
    step: float | None = None
    delay: float | None = None
    decay: float | None = None
    strength_step: float | None = None
    strength_delay: float | None = None
    strength_decay: float | None = None
    tolerance: float | None = None
    most_rounds: int = 50
    start: str | None = None

    def __post_init__(self) -> None:
        check_choice("form", self.form, ("corrected", "paper"))
        take_form(self, PAPER if self.form == "paper" else CORRECTED)
        for name in ("neighbors", "non_neighbors", "most_rounds"):
            check_count(name, getattr(self, name))
        if self.batch_non_links is not None:
            check_count("batch_non_links", self.batch_non_links)
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
        for name, known in (
            ("pairs", ("joint", "factors")),
            ("evidence", ("partners", "pairs")),
            ("start", ("partition", "random", "even", "flat")),
        ):
            check_choice(name, getattr(self, name), known)
        if not isinstance(self.weighted, bool):
            raise InputError(f"weighted must be True or False, not {self.weighted!r}")

    def non_links(self, nodes: int) -> int:
        """Return the non-links in a mini-batch of a network of so many nodes.

        >>> SviOptions().non_links(5000), SviOptions(form="paper").non_links(5000)
        (256, 500)
        """
        return self.batch_non_links or max(1, nodes // PAPER_SETS)

    def steps(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Return step, delay and decay of the nodes, and of the strengths."""
        names = ("step", "delay", "decay")
        node, strength = ([float(getattr(self, f"{of}{name}")) for name in names] for of in ("", "strength_"))
        return (node[0], node[1], node[2]), (strength[0], strength[1], strength[2])

    def unused(self) -> dict[str, str]:
        """Return the settings that have no effect beside the others, each with the remedy."""
        found: dict[str, str] = {}
        if self.pairs == "joint":
            remedy = 'it belongs to pairs="factors"; add that, or leave it out'
            found |= dict.fromkeys(("tolerance", "most_rounds"), remedy)
        if self.evidence == "pairs":
            remedy = 'it belongs to evidence="partners"; add that, or leave it out'
            found |= dict.fromkeys(("neighbors", "non_neighbors"), remedy)
        return found
