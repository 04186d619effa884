"""What calibration found, in words: the same on the screen, in JSON and in the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blockmix.posterior.structure import held_out_kinds

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# At most this share of the ranges of predictions may be outside their interval, and always one: so many are by chance.
MAY_MISS = 0.1


def scored(post: Posterior) -> bool:
    """Return whether both links and non-links were held out, so that predictions can be checked."""
    held_out = post.held_out
    return held_out is not None and 0 < int(held_out.links.sum()) < len(held_out.links)


def link_model(post: Posterior) -> str:
    """Return the link model of a result, by what it has."""
    if post.blocks_mean is not None:
        return "mmsb"
    return "assortative" if post.popularity_mean is None else "popularity"


def range_text(post: Posterior) -> str:
    """Say in how many ranges of predictions the observed frequency is another; empty where that may be by chance."""
    if not scored(post):
        return ""
    table = post.calibration()
    missed = int((~table.covered).sum())
    if missed <= max(1, int(MAY_MISS * len(table))):
        return ""
    return f"Predicted link probabilities are off in {missed} of {len(table)} ranges."


def degree_text(post: Posterior) -> str:
    """Say between nodes of which degrees links are predicted wrongly, and which model comes nearer; empty for none."""
    if not scored(post):
        return ""
    table = post.calibration_by_degree()
    advice = ""
    if table.worst(table.linked) is not None and link_model(post) == "assortative":
        advice = ' model="popularity" (--model popularity) comes nearer to degrees.'
    return table.verdict + advice


def calibration_text(post: Posterior) -> str:
    """Say what is wrong with the predicted probabilities; that nothing was found wrong where nothing was."""
    if not scored(post):
        return "Not known: both links and non-links must be held out to check predictions."
    found = " ".join(text for text in (range_text(post), degree_text(post)) if text)
    if not found and post.null is not None and post.null.verdict == "too few":
        return f"Not known: {held_out_kinds(post)} were held out, too few to check predictions."
    return found or "Predicted link probabilities agree with held-out pairs, by range and by degree."
