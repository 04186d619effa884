"""Whether a run can be trusted, in words: what has not converged, what is missing, and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from blockmix.posterior.closed_form.estimate import ADVICE
from blockmix.posterior.diagnostics import DiagnosticsTable
from blockmix.posterior.posterior import Posterior
from blockmix.posterior.predictive.words import degree_text, range_text
from blockmix.posterior.structure import general_model_advice, longer_text, pool_text, structure_text
from blockmix.report.traces import Trace, read_trace

# Fewer samples, of all chains together, are little evidence of how sure a share is.
FEW_SAMPLES = 100
# The held-out log loss still falls if its last third of samples gained more than this share.
STILL_FALLING = 0.01
# Membership that is lost in a sweep, on average over samples: above this a node needs more slots.
MUCH_DROPPED = 0.01
_SENTENCE_ENDS = re.compile(r"(?<=\.) (?=[A-Z])")


@dataclass(frozen=True)
class Remark:
    """One thing to know: `serious` if results should not be used as they are."""

    serious: bool
    headline: str
    advice: str


def remarks(post: Posterior) -> list[Remark]:
    """List all reasons to doubt the run, the most serious first; empty if every check was made and there are none."""
    found = [_interrupted(post), _samples(post)]
    trace = read_trace(post)
    if trace is not None:
        found += [_falling(trace), _dropped(trace)]
    found += [_structure(post), _general(post), _pool(post)]
    found += [
        _chains(post.diagnostics(), longer_text(post)),
        _calibration(post),
        _degrees(post),
        _held_out(post),
        _closed_form(post.diagnostics()),
    ]
    return sorted((r for r in found if r is not None), key=lambda r: not r.serious)


def _structure(post: Posterior) -> Remark | None:
    """Compare with the null models: what is not better than they are is no evidence of communities."""
    if post.null is None or post.null.verdict == "better":
        return None
    if post.null.verdict == "too few":
        return Remark(False, structure_text(post), "Until then nothing shows that communities predict links.")
    return Remark(
        True,
        structure_text(post),
        "The network may have no communities, too few links were held out to tell, or the model does not fit it.",
    )


def _general(post: Posterior) -> Remark | None:
    headline, _, advice = general_model_advice(post).partition(" Fit ")
    return Remark(True, headline, f"Fit {advice}") if headline else None


def _pool(post: Posterior) -> Remark | None:
    text = pool_text(post)
    return (
        Remark(False, text, "Means and predictions are averages over the chains that count.")
        if text
        else None
    )


def _interrupted(post: Posterior) -> Remark | None:
    if not post.provenance.get("interrupted"):
        return None
    return Remark(
        False, "The run was interrupted before its end.", "What is shown is what it had found until then."
    )


def _samples(post: Posterior) -> Remark | None:
    samples = post.provenance.get("samples")
    if samples is None or samples >= FEW_SAMPLES:
        return None
    what = "One sample was" if samples == 1 else f"Only {samples:,} samples were"
    return Remark(
        samples < FEW_SAMPLES // 5,
        f"{what} taken after the warm-up.",
        "Means are rough, and intervals tell little about how sure they are: fit for more sweeps.",
    )


def _falling(trace: Trace) -> Remark | None:
    """Compare the last held-out log losses: was it still falling when the run ended?"""
    if "log_loss" not in trace.values:
        return None
    loss = trace.sampling("log_loss")[:1]
    loss = loss[np.isfinite(loss)]
    if len(loss) < 6:
        return None
    gain = 1.0 - float(loss[-1] / loss[-max(2, len(loss) // 3)])
    if gain <= STILL_FALLING:
        return None
    return Remark(
        True,
        f"The held-out log loss was still falling: by {gain:.1%} over the last third of the samples.",
        "The chains had not settled; a longer run will find something else, and better.",
    )


def _dropped(trace: Trace) -> Remark | None:
    if "dropped" not in trace.values:
        return None
    dropped = trace.sampling("dropped")
    mean = float(np.nanmean(dropped)) if np.isfinite(dropped).any() else 0.0
    if mean <= MUCH_DROPPED:
        return None
    return Remark(
        True,
        f"{mean:.1%} of all membership was dropped in an average sweep.",
        "Nodes have more communities than they have slots: fit again with a larger number of slots.",
    )


def _chains(table: DiagnosticsTable, longer: str = "") -> Remark | None:
    """Describe the comparison of chains: one sentence, what follows from it, and how much longer it would take."""
    if table.converged:
        # Pages show single communities: a doubt about them is worth knowing also where the chains agree.
        headline, _, advice = table.matching.partition(": ")
        return Remark(False, f"{headline}.", advice) if headline else None
    # What was not held out has a remark of its own.
    headline, *rest = _SENTENCE_ENDS.split(
        replace(table, held_out=True, closed_form=None).verdict, maxsplit=1
    )
    return Remark(table.known and table.disagree, headline, " ".join(filter(None, [*rest, longer])))


def _calibration(post: Posterior) -> Remark | None:
    headline = range_text(post)
    advice = "Rankings may still be good; see the calibration plot before using the probabilities themselves."
    return Remark(False, headline, advice) if headline else None


def _degrees(post: Posterior) -> Remark | None:
    headline, _, advice = degree_text(post).partition(" model=")
    end = (
        f"model={advice}" if advice else "See the table by degree before using the probabilities themselves."
    )
    return Remark(False, headline, end) if headline else None


def _closed_form(table: DiagnosticsTable) -> Remark | None:
    """Warn where the closed form for non-links moves results by more than is easily ignored."""
    if table.closed_form is None or not table.closed_form.much:
        return None
    return Remark(False, table.closed_form.headline, ADVICE)


def _held_out(post: Posterior) -> Remark | None:
    if post.held_out is not None:
        return None
    return Remark(
        False,
        "Nothing was held out, so predictions are not scored.",
        "Fit with held_out=0.05 (--held-out 0.05) to see how good they are.",
    )
