"""The settings of `sgmc-m`, checked when they are made, and the constant behind its default step."""

from __future__ import annotations

from dataclasses import dataclass

from blockmix.errors import InputError
from blockmix.samplers.checks import check_count, check_positive
from blockmix.samplers.langevin.options import LangevinOptions

# With so few communities rows are full in any case, and small steps only cost score: us-air-712, K = 20, log loss and
# AUC at steps 0.03, 0.1, 0.2: docs/lab-notes.md, "active, candidate and bulk communities", "The step".
FEW = 6


@dataclass(frozen=True)
class SgmcMOptions(LangevinOptions):
    """Settings of `sgmc-m`: those of `sgmc`, and how rows are split.

    With totals="degree" a node's step depends on its links and on how many of its values move (L10): here the listed
    communities and the bulk. Reflected steps leave some mass in communities without any evidence. Where that is more
    than 1 - threshold, these become active, then candidates of the neighbours and active there, until rows are full.
    So `step`, if not given, is that of `sgmc` times 1 - threshold, or times 6/K where that is more. A "random" start
    is sparse: two communities a node. There is no `preconditioned=False`.

    Arguments:
        threshold: share of a node's membership that its active communities hold, the tau of (A1); 1 makes every
            community active, which is `sgmc`.
        promotion: the phi of a community that leaves the bulk: "split" draws its share of the bulk, "equal" is the
            paper's, the value that all of the bulk has (A8).
        bulk_batch: communities of the bulk that are sampled when it moves, the m of (A7); 0 sums over all of it,
            at the same cost.
        slots: how many communities of a node, the largest ones, are stored in a posterior sample.
    """

    threshold: float = 0.9
    promotion: str = "split"
    bulk_batch: int = 0
    slots: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("threshold", self.threshold, 1.0)
        check_count("slots", self.slots)
        if self.bulk_batch != 0 or isinstance(self.bulk_batch, bool):
            check_count("bulk_batch", self.bulk_batch)
        if self.promotion not in ("split", "equal"):
            raise InputError(f"promotion must be one of split, equal, not {self.promotion!r}")
        if not self.preconditioned:
            raise InputError("sgmc-m has no printed form (preconditioned=False); use sampler sgmc for that")

    def steps(self, communities: int) -> tuple[float, float]:
        """Return the first steps of memberships and strengths.

        >>> SgmcMOptions(threshold=0.5).steps(50)
        (0.15, 0.004)
        """
        step, strength_step = super().steps(communities)
        if self.step is None and self.expand and self.threshold < 1.0:
            step *= min(1.0, max(1.0 - self.threshold, FEW / communities))
        return step, strength_step
