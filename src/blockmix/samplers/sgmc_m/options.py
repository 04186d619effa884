"""The settings of `sgmc-m`, checked where they come in."""

from __future__ import annotations

from dataclasses import dataclass

from blockmix.errors import InputError
from blockmix.samplers.checks import check_count, check_positive
from blockmix.samplers.langevin.options import LangevinOptions

# Rows of about so many communities are full in any case: small steps would save nothing.
FEW = 6


@dataclass(frozen=True)
class SgmcMOptions(LangevinOptions):
    """What can be set on `sgmc-m`: all that `sgmc` has, and how rows are split.

    With totals="degree" a node's step is set by its links and by how many values of it move (L10): here the followed
    communities and the bulk. Reflected steps leave some mass in communities that no link supports. Where that is more
    than the threshold leaves to the inactive ones, they become active, then candidates of the neighbours and active
    there, until rows are full. So `step`, left out, is that of `sgmc` times 1 - threshold, or times 6/K where that is
    more. A "random" start is sparse: two communities a node. There is no `preconditioned=False`.

    Arguments:
        threshold: share of a node's membership that its active communities hold, the tau of (A1); 1 makes every
            community active, which is `sgmc`.
        promotion: what a community takes along that leaves the bulk: "split" draws its share of the bulk, "equal"
            is the paper's, the value that all of the bulk has (A8).
        bulk_batch: communities of the bulk that are looked at when it moves, the m of (A7); 0 sums over all of it,
            which costs no more.
        slots: communities of a node that are shown and kept of a sample, the largest ones.
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
