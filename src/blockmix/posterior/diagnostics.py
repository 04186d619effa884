"""Whether chains agree, and what their samples are worth: a table of statistics and a verdict in words.

`quantities` says what is compared, `convergence` has the statistics. Quantities that depend on the matching of
communities are in the table and do not decide the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockmix.notebook import table_html
from blockmix.posterior import convergence
from blockmix.posterior.closed_form.estimate import ClosedForm, estimate
from blockmix.posterior.quantities import (
    KINDS,
    MATCHED,
    Followed,
    Quantity,
    Samples,
    invariant_quantities,
    quantities,
)
from blockmix.posterior.views import _Table
from blockmix.tables.samples import PosteriorSample

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# R-hat above this means that chains disagree; with fewer effective samples the ends of intervals are rough.
R_HAT, FEW_EFFECTIVE = 1.05, 100.0
# With fewer effective samples the Monte Carlo error of a mean is more than a fifth of the standard deviation.
FEWEST_FOR_MEANS = 25.0
# At most this share of the quantities may miss a limit: so many do by chance.
MAY_MISS = 0.05
FEWEST_DRAWS = 8
_NOT_COLUMNS = ("chains", "draws", "held_out", "closed_form")


@dataclass(frozen=True, eq=False, repr=False)
class DiagnosticsTable(_Table):
    """Quantity by quantity: mean, sd, Monte Carlo error of the mean, R-hat, effective sample sizes.

    `kind` is "scalar", "held-out pair", "sampled pair" (link probabilities), "co-membership", "sorted size", "sorted
    strength"; or "matched strength", "matched membership", which depend on how the communities of the chains were
    matched and do not count for the verdict. R-hat is NaN with one chain, and all statistics are for a quantity
    that never changed. `held_out` tells whether pairs were held out, so that predictions could be checked.
    `closed_form` says by how much the closed form for non-links moves results, where the run had it.
    """

    quantity: list[str]
    kind: list[str]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    mcse: NDArray[np.float64]
    rhat: NDArray[np.float64]
    ess_bulk: NDArray[np.float64]
    ess_tail: NDArray[np.float64]
    chains: int
    draws: int
    held_out: bool = True
    closed_form: ClosedForm | None = None

    def columns(self) -> dict[str, Any]:
        """Return the columns by name, ready for a data frame: `pandas.DataFrame(table.columns())`."""
        return {name: column for name, column in super().columns().items() if name not in _NOT_COLUMNS}

    def __len__(self) -> int:
        return len(self.quantity)

    def _repr_html_(self) -> str:
        return table_html(self.columns(), self.verdict)

    @property
    def verdict(self) -> str:
        """In plain words, whether the chains have converged, and which checks could not be made."""
        parts = [self._agreement(), self._size(), self.matching] if self._enough else [self._too_little()]
        if not self.held_out:
            parts.append("Nothing was held out: predictions were not checked.")
        if self.closed_form is not None:
            parts.append(str(self.closed_form))
        return " ".join(part for part in parts if part)

    @property
    def known(self) -> bool:
        """Whether it can be told if the chains have converged: two chains or more, and enough draws that vary."""
        return self._enough and self.chains > 1

    @property
    def converged(self) -> bool:
        """Whether the chains were compared and agree, and there are enough effective samples."""
        return self.known and not self.disagree and not self.few

    @property
    def matching(self) -> str:
        """A warning where chains agree but single communities may not be the same in all of them; else empty."""
        matched = np.isin(self.kind, MATCHED) & ~np.isnan(self.rhat)
        above = int((self.rhat[matched] > R_HAT).sum())
        if not self.known or self.disagree or above <= MAY_MISS * int(matched.sum()):
            return ""
        return (
            f"Single communities are less certain: R-hat is above {R_HAT} for {above} of {int(matched.sum())} "
            "strengths and memberships of matched communities, which may not be the same one in every chain."
        )

    @property
    def worst_rhat(self) -> float:
        """The largest R-hat of the quantities that decide; NaN if it is unknown."""
        return float(self.rhat[self.decides].max()) if self.known else float("nan")

    @property
    def least_ess(self) -> float:
        """The smallest bulk effective sample size of the quantities that decide; NaN if it is unknown."""
        return float(self.ess_bulk[self.decides].min()) if self._enough else float("nan")

    @property
    def disagree(self) -> bool:
        """Whether R-hat is too large for more quantities of a kind that decides than may be by chance."""
        return max(self._shares().values(), default=0.0) > MAY_MISS

    @property
    def few(self) -> bool:
        """Whether a scalar, or more of all quantities that decide than may be by chance, has few effective samples."""
        below, decides = self.ess_bulk < FEW_EFFECTIVE, self.decides
        scalars = decides & (np.array(self.kind, dtype=object) == "scalar")
        return bool(below[scalars].any()) or int(below[decides].sum()) > MAY_MISS * int(decides.sum())

    @property
    def decides(self) -> NDArray[np.bool_]:
        """Which quantities count for the verdict: those that vary and do not depend on the numbering."""
        return np.array([kind not in MATCHED for kind in self.kind], dtype=bool) & ~np.isnan(self.ess_bulk)

    @property
    def _enough(self) -> bool:
        return self.draws >= FEWEST_DRAWS and bool(self.decides.any()) and not self._undefined

    @property
    def _undefined(self) -> int:
        return int((~np.isfinite(self.mean)).sum())

    def _shares(self) -> dict[str, float]:
        """Compute for every kind that decides the share of quantities whose R-hat is too large."""
        kinds, decides = np.array(self.kind, dtype=object), self.decides
        return {
            kind: float((self.rhat[decides & (kinds == kind)] > R_HAT).mean())
            for kind in dict.fromkeys(kinds[decides].tolist())
        }

    @property
    def missing(self) -> str:
        """In a few words, what is missing until the chains have converged; empty where they have or none can tell."""
        if not self.known:
            return ""
        parts = []
        if self.disagree:
            above, followed = int((self.rhat[self.decides] > R_HAT).sum()), int(self.decides.sum())
            # One scalar is enough; of some hundred quantities it would be 0%.
            share = f"{self.share_above:.0%}" if 100 * above >= followed else f"{above} of {followed}"
            parts.append(f"R-hat above {R_HAT} for {share}")
        if self.few:
            parts.append(f"{self.least_ess:,.0f} effective samples")
        return ", ".join(parts)

    @property
    def share_above(self) -> float:
        """The share of the quantities that decide whose R-hat is too large."""
        return float((self.rhat[self.decides] > R_HAT).mean())

    def figures(self) -> dict[str, float | int | None]:
        """Return the numbers of the verdict by name."""
        decides, matched = self.decides, np.isin(self.kind, MATCHED) & ~np.isnan(self.rhat)
        apart = self.rhat > R_HAT
        return {
            "draws": self.draws,
            "quantities": int(decides.sum()),
            "r_hat": self.worst_rhat,
            "r_hat_limit": R_HAT,
            "quantities_above_r_hat_limit": int((apart & decides).sum()),
            "effective_samples": self.least_ess,
            "effective_samples_limit": FEW_EFFECTIVE,
            "quantities_below_effective_samples_limit": int((self.ess_bulk[decides] < FEW_EFFECTIVE).sum()),
            "share_above_r_hat_limit": self.share_above if self.known else None,
            "matched_quantities": int(matched.sum()),
            "matched_above_r_hat_limit": int((apart & matched).sum()),
            "closed_form_moves_memberships": None
            if self.closed_form is None
            else self.closed_form.memberships,
            "closed_form_moves_strengths": None if self.closed_form is None else self.closed_form.strengths,
        }

    @property
    def times_needed(self) -> float:
        """How many times as many samples it takes at least until the chains have converged.

        Effective samples grow as samples do, and R-hat^2 - 1 falls as their number: both hold for chains that mix. Of
        chains that stay apart there are never enough, so that the answer is a lower bound. 1 where they have converged,
        NaN where none can tell, infinite where no chain moves.
        """
        if not self.known:
            return float("nan")
        kinds, decides = np.array(self.kind, dtype=object), self.decides
        short = FEW_EFFECTIVE / self.ess_bulk
        apart = (self.rhat**2 - 1.0) / (R_HAT**2 - 1.0)
        limits = [1.0, _all_but_few(short[decides]), *short[decides & (kinds == "scalar")]]
        limits += [_all_but_few(apart[decides & (kinds == kind)]) for kind in self._shares()]
        return float(max(limits))

    def _too_little(self) -> str:
        if self.draws < FEWEST_DRAWS or not len(self):
            return (
                f"Too few draws ({self.draws} a chain) to tell whether the chains have converged: run longer."
            )
        if self._undefined:
            return f"{self._undefined} of the {len(self)} quantities followed are not finite: the run went wrong."
        return "Nothing that is followed ever changed: whether the chains have converged cannot be told."

    def _agreement(self) -> str:
        if self.chains == 1:
            return "One chain: whether another would find the same is unknown; fit with chains=4 to see."
        rhat = self.rhat[self.decides]
        above, worst = int((rhat > R_HAT).sum()), self.worst_rhat
        if not self.disagree:
            most, but = (R_HAT, f"all but {above} of the") if above else (worst, "all")
            followed = f"{but} {len(rhat)} quantities followed"
            return f"The {self.chains} chains agree: R-hat is at most {most:.2f} for {followed}."
        shares = self._shares()
        return (
            f"The {self.chains} chains do not agree: R-hat is above {R_HAT} for {above} of the {len(rhat)} quantities "
            f"followed, {_number(worst)} at worst, most of all for {KINDS[max(shares, key=lambda k: shares[k])]}. "
            "Run longer; where it stays so, the network has several explanations, and means and intervals span all "
            "of them."
        )

    def _size(self) -> str:
        sizes = self.ess_bulk[self.decides]
        few, least = int((sizes < FEW_EFFECTIVE).sum()), self.least_ess
        if not few:
            return f"Effective samples: {least:,.0f} or more."
        if not self.few:
            return f"Effective samples: {FEW_EFFECTIVE:.0f} or more for all but {few}, {least:,.0f} at worst."
        usable = not self.disagree and least >= FEWEST_FOR_MEANS
        what = (
            "means are usable, the ends of intervals are rough"
            if usable
            else "means are rough too, not only the ends of intervals"
        )
        return (
            f"Few effective samples: below {FEW_EFFECTIVE:.0f} for {few} of the {len(sizes)}, {least:,.0f} at "
            f"worst; {what}."
        )


def diagnostics(post: Posterior) -> DiagnosticsTable:
    """Compute the table for a posterior, from the samples at sweeps that all chains have kept."""
    samples = common_samples(post.draws)
    enough = len(samples) > 0 and len(samples[0]) >= convergence.FEWEST_DRAWS
    table = table_of(list(quantities(post, samples)) if enough else [], samples, post.held_out is not None)
    return replace(table, closed_form=estimate(post))


def invariant_diagnostics(run: Followed, draws: Sequence[Sequence[PosteriorSample]]) -> DiagnosticsTable:
    """Compute the table of what decides alone, for a run that has not ended."""
    samples = common_samples(draws)
    enough = len(samples) > 0 and len(samples[0]) >= convergence.FEWEST_DRAWS
    found = list(invariant_quantities(run, samples)) if enough else []
    return table_of(found, samples, run.held_out is not None)


def table_of(found: list[Quantity], samples: Samples, held_out: bool) -> DiagnosticsTable:
    """Compute the statistics of the quantities that were followed."""
    numbers = (
        np.empty((0, 6)) if not found else _statistics(np.stack([quantity.values for quantity in found]))
    )
    mean, sd, mcse, rhat, ess_bulk, ess_tail = numbers.T
    return DiagnosticsTable(
        [quantity.name for quantity in found], [quantity.kind for quantity in found], mean, sd, mcse, rhat, ess_bulk,
        ess_tail, len(samples), len(samples[0]) if samples else 0, held_out,
    )  # fmt: skip


def common_samples(draws: Sequence[Sequence[PosteriorSample]]) -> Samples:
    """Return the samples of every chain at the sweeps at which all chains kept one."""
    kept = [{sample.sweep for sample in chain} for chain in draws]
    sweeps = set.intersection(*kept) if kept else set()
    return [[sample for sample in chain if sample.sweep in sweeps] for chain in draws]


def _statistics(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute mean, sd, MCSE, R-hat, bulk and tail ESS, one row a quantity (quantities x chains x samples)."""
    mean, sd = values.mean(axis=(1, 2)), values.std(axis=(1, 2))
    table = np.stack(
        [
            mean, sd, convergence.mcse(values), convergence.r_hat(values), convergence.bulk_ess(values),
            convergence.tail_ess(values),
        ],
        axis=1,
    )  # fmt: skip
    still = np.ptp(values, axis=2).max(axis=1) == 0.0
    # No chain moves, and they are at different values. Rounding would make R-hat merely large.
    table[still] = np.array([np.nan, np.nan, np.nan, np.inf, 1.0, 1.0])
    table[np.ptp(values, axis=(1, 2)) == 0.0, 2:] = np.nan
    table[:, 0], table[:, 1] = mean, sd
    return table


def _all_but_few(values: NDArray[np.float64]) -> float:
    """Return the smallest value above which at most `MAY_MISS` of the values are."""
    return float(np.quantile(values, 1.0 - MAY_MISS, method="inverted_cdf"))


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "without bound"
