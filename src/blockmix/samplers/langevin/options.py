"""The settings that `sgmc` and `sgmc-m` share, checked when they are made, and the constants behind their defaults."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from blockmix.errors import InputError
from blockmix.samplers.checks import check_choice, check_count, check_positive, take_form

# The paper's schedule is eps_t = (1024 + t)^-0.5, for memberships and strengths alike.
PAPER_DELAY, PAPER_STEP = 1024.0, 1024.0**-0.5
# Constants chosen by log loss on netscience, us-air-712 and ca-GrQc: docs/lab-notes.md, "the paper's sampler,
# corrected", paragraph "The step".
# The first step of memberships with (L10): the one that suits all three networks (11.09, 58.02, 5.70).
FIRST_STEP = 0.3
# The first step of strengths times K: us-air-712 loses below it, netscience above it.
FIRST_STRENGTH_STEP = 0.2
# Sweeps before steps fall: 50 is best for netscience, 500 and more for us-air-712.
DELAY_SWEEPS = 100.0
# In the first so many sweeps of warm-up the background is at most what it is at the start (`starts/flat.py`).
BACKGROUND_SWEEPS = 50


# What form="paper" stands for; every entry is also a setting of its own. The paper gives no size for the random subset
# of strengths: one half is a choice made here. It gives no start either; the authors' program has a random one.
CORRECTED: dict[str, Any] = {
    "preconditioned": True, "totals": "auto", "non_links_of": "node", "scales": "exact", "strength_share": 1.0,
    "start": "partition",
}  # fmt: skip
PAPER: dict[str, Any] = {
    "preconditioned": False, "totals": "prior", "non_links_of": "network", "scales": "printed",
    "strength_share": 0.5, "start": "random",
}  # fmt: skip


@dataclass(frozen=True)
class LangevinOptions:
    """Settings of `sgmc`, for either model, and of `sgmc-m`.

    Where the paper uses one letter for two quantities, there are two names here (E10): its m is N/`batch_non_links`
    (and the `bulk` mini-batch of sgmc-m), its tau the `delay` (and the `threshold` of sgmc-m).

    Arguments:
        form: "corrected", or "paper": everything as printed. It only chooses the values of settings that are left out:
            preconditioned=False, totals="prior", non_links_of="network", scales="printed", strength_share=0.5,
            start="random", and the background is not learned. The paper's 10 + 10 partners are those of either form.
        neighbors, non_neighbors: partners sampled for the update of a node, n_1 and n_0 of (L2).
        batch_non_links: non-links in a mini-batch of pairs, n of (L1).
        non_links_of: "node" draws them from the non-links of one node (L1), "network" from all of the network, as the
            paper does (L11).
        scales: "exact" weights of sampled pairs and partners, or those "printed", which are biased (L12).
        preconditioned: True samples the posterior (L5). False is the update as the paper prints it (L6),
            to reproduce the paper's figures: its long-run memberships and strengths are not the posterior (E2). Like
            the paper it does not learn the background: it has the value given, or a tenth of the density.
        totals: "degree" gives the total of a node's phi the prior Gamma(K alpha + degree, 1), and that of a strength's
            theta one that fits its number of pairs: the same posterior in larger steps (S1). "prior" is the paper's
            Gamma(K alpha, 1). "auto" means "degree", or "prior" with `preconditioned=False`, which needs it.
        schedule: "annealed", steps that fall as (delay + t)^-decay with the iteration t, or "constant" (L9).
        step: the first step of the memberships; with totals="degree" that of a node with as many links as there are
            communities, less for nodes with fewer (L10). Left out, 0.3, or the paper's 1024^-0.5 with totals="prior".
        strength_step: the first step of the strengths. Left out, 0.2/K, or the paper's with totals="prior".
        delay: iterations before an annealed step falls. Left out, those of 100 sweeps, or 1024 with totals="prior".
        decay: how fast it falls, above 0 and at most 1.
        strength_share: share of the strengths that a mini-batch moves, a random subset of them (L13); left out, all.
        start: "partition", or "random": memberships drawn from a flat Dirichlet, as in the paper's code. Left out,
            "partition".
    """

    form: str = "corrected"
    neighbors: int = 10
    non_neighbors: int = 10
    batch_non_links: int = 32
    non_links_of: str | None = None
    scales: str | None = None
    preconditioned: bool | None = None
    totals: str | None = None
    schedule: str = "annealed"
    step: float | None = None
    strength_step: float | None = None
    delay: float | None = None
    decay: float = 0.5
    strength_share: float | None = None
    start: str | None = None
    starts: ClassVar[tuple[str, ...]] = ("partition", "random")

    def __post_init__(self) -> None:
        check_choice("form", self.form, ("corrected", "paper"))
        take_form(self, PAPER if self.form == "paper" else CORRECTED)
        for name in ("neighbors", "non_neighbors", "batch_non_links"):
            check_count(name, getattr(self, name))
        # An Euler step of more than 4 grows without bound, and one of more than 1 is far from the diffusion.
        for name, most in (("step", 1.0), ("strength_step", 1.0), ("delay", math.inf)):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name), most)
        for name in ("decay", "strength_share"):
            check_positive(name, getattr(self, name), 1.0)
        for name, known in (
            ("non_links_of", ("node", "network")),
            ("scales", ("exact", "printed")),
            ("totals", ("auto", "degree", "prior")),
            ("schedule", ("annealed", "constant")),
            ("start", self.starts),
        ):
            check_choice(name, getattr(self, name), known)
        if not isinstance(self.preconditioned, bool):
            raise InputError(f"preconditioned must be True or False, not {self.preconditioned!r}")
        if self.totals == "degree" and not self.preconditioned:
            raise InputError('preconditioned=False is the printed update, which has totals="prior" only')

    @property
    def expand(self) -> bool:
        """Return whether totals are expanded (S1)."""
        return bool(self.preconditioned) if self.totals == "auto" else self.totals == "degree"

    @property
    def share(self) -> float:
        """Return the share of the strengths that a mini-batch moves."""
        return float(self.strength_share or 1.0)

    @property
    def fixed_background(self) -> bool:
        """Return whether the background is fixed also where the model gives no value: as printed (L8)."""
        return self.form == "paper" or not self.preconditioned

    def steps(self, communities: int) -> tuple[float, float]:
        """Return the first steps of memberships and strengths.

        >>> LangevinOptions(step=0.01).steps(50)
        (0.01, 0.004)
        """
        step, strength_step = PAPER_STEP, PAPER_STEP
        if self.expand:
            step, strength_step = FIRST_STEP, FIRST_STRENGTH_STEP / communities
        return (
            step if self.step is None else float(self.step),
            strength_step if self.strength_step is None else float(self.strength_step),
        )

    def delay_of(self, iterations: int) -> float:
        """Return the iterations before the step falls; `iterations` is their number in a sweep."""
        if self.delay is not None:
            return float(self.delay)
        return DELAY_SWEEPS * iterations if self.expand else PAPER_DELAY

    def unused(self) -> dict[str, str]:
        """Return the settings that have no effect beside the others, each with the remedy."""
        remedy = 'it belongs to schedule="annealed"; leave one of them out'
        return dict.fromkeys(("delay", "decay"), remedy) if self.schedule == "constant" else {}
