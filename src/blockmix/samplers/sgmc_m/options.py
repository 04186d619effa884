"""The settings of `sgmc-m`, checked when they are made, and the constant behind its default step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from blockmix.samplers.checks import check_choice, check_count, check_positive, take_form
from blockmix.samplers.langevin.options import LangevinOptions
from blockmix.samplers.sgmc_m.frame import SplitSettings

# With so few communities rows are full in any case, and small steps only cost score: us-air-712, K = 20, log loss and
# AUC at steps 0.03, 0.1, 0.2: docs/lab-notes.md, "active, candidate and bulk communities", "The step".
FEW = 6


# What form="paper" stands for besides that of `sgmc`; every entry is also a setting of its own. The paper gives no size
# for the mini-batch of the bulk: ten is a choice made here.
SPLIT_CORRECTED: dict[str, Any] = {
    "candidates": "sampled", "promotion": "split", "bulk_update": "exact", "bulk_noise": "sum", "bulk_batch": 0,
}  # fmt: skip
SPLIT_PAPER: dict[str, Any] = {
    "candidates": "all", "promotion": "printed", "bulk_update": "means", "bulk_noise": "one", "bulk_batch": 10,
    "start": "flat",
}  # fmt: skip


@dataclass(frozen=True)
class SgmcMOptions(LangevinOptions):
    """Settings of `sgmc-m`: those of `sgmc`, and how rows are split.

    With totals="degree" a node's step depends on its links and on how many of its values move (L10): here the listed
    communities and the bulk. Reflected steps leave some mass in communities without any evidence. Where that is more
    than 1 - threshold, these become active, then candidates of the neighbours and active there, until rows are full.
    So `step`, if not given, is that of `sgmc` times 1 - threshold, or times 6/K where that is more. A "random" start
    is sparse, two communities a node; "flat" is the random start of `sgmc`, with rows that are long at first.
    form="paper" adds to that of `sgmc` candidates="all", promotion="printed", bulk_update="means", bulk_noise="one",
    bulk_batch=10 and start="flat". Active sets are those of (A1) in either form, unless active="printed".

    Arguments:
        threshold: share of a node's membership that its active communities hold, the tau of (A1); 1 makes every
            community active, which is `sgmc`.
        candidates: from which neighbours candidates come, those "sampled" for the update, or "all" (A2). Left out,
            "sampled".
        active: "reached" counts communities, largest first, until they hold `threshold`; "printed" those with which it
            is not reached, so that none is active where one alone holds it (A1). No part of form="paper": such a
            community would go to the bulk, and the node's membership would be spread evenly (E6).
        promotion: the phi of a community that leaves the bulk: "split" draws its share of the bulk, "equal" is the
            value that all of the bulk has, for as many as are needed, "printed" the same for as many as the paper
            prints (A8). Left out, "split".
        bulk_update: "exact" sums over the bulk, or the "means" of the paper (A12). Left out, "exact".
        bulk_noise: the noise of a "sum", or "one" for the shared value, as printed (A13). Left out, "sum".
        bulk_batch: communities of the bulk that are sampled when it moves, the m of (A7) and (A12); 0 sums over all of
            it, at the same cost. Left out, 0.
        slots: how many communities of a node, the largest ones, are stored in a posterior sample.
    """

    threshold: float = 0.9
    candidates: str | None = None
    active: str = "reached"
    promotion: str | None = None
    bulk_update: str | None = None
    bulk_noise: str | None = None
    bulk_batch: int | None = None
    slots: int = 32
    starts: ClassVar[tuple[str, ...]] = ("partition", "random", "flat")

    def __post_init__(self) -> None:
        check_choice("form", self.form, ("corrected", "paper"))
        take_form(self, SPLIT_PAPER if self.form == "paper" else SPLIT_CORRECTED)
        super().__post_init__()
        check_positive("threshold", self.threshold, 1.0)
        check_count("slots", self.slots)
        if self.bulk_batch != 0 or isinstance(self.bulk_batch, bool):
            check_count("bulk_batch", self.bulk_batch)
        for name, known in (
            ("candidates", ("sampled", "all")),
            ("active", ("reached", "printed")),
            ("promotion", ("split", "equal", "printed")),
            ("bulk_update", ("exact", "means")),
            ("bulk_noise", ("sum", "one")),
        ):
            check_choice(name, getattr(self, name), known)

    @property
    def settings(self) -> SplitSettings:
        """Return the settings of rows as kernels read them."""
        return SplitSettings(
            float(self.threshold), int(self.bulk_batch or 0), self.promotion != "split",
            self.promotion == "printed", self.candidates == "all", self.bulk_update == "means",
            self.bulk_noise == "one", self.active == "printed",
        )  # fmt: skip

    def steps(self, communities: int) -> tuple[float, float]:
        """Return the first steps of memberships and strengths.

        >>> SgmcMOptions(threshold=0.5).steps(50)
        (0.15, 0.004)
        """
        step, strength_step = super().steps(communities)
        if self.step is None and self.expand and self.threshold < 1.0:
            step *= min(1.0, max(1.0 - self.threshold, FEW / communities))
        return step, strength_step
