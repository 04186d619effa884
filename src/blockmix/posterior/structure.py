"""Is there structure at all? The answer in words, the same on the screen, in the report and in `print(post)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from blockmix.notebook import SHOWN_ROWS, escaped, table_html

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# The background is above the strengths if so large a share of all membership is in communities weaker than it.
MOSTLY = 0.5
# Strongest members by which a community is named in a notebook.
NAMED = 5


def structure_text(post: Posterior) -> str:
    """Compare the predictions of held-out pairs with those of the density and of the degrees alone, in one sentence."""
    null = post.null
    if null is None:
        return "Not compared with chance: nothing was held out."
    alone = "the density alone" if null.null == "density" else "the degrees alone"
    losses = f"log loss {null.log_loss:.4g} against {null.null_log_loss:.4g}"
    if null.verdict == "better":
        return f"Held-out pairs are predicted {null.share:.0%} better than by {alone} ({losses})."
    if null.verdict == "worse":
        return f"Held-out pairs are predicted worse than by {alone} ({losses}): do not use the communities."
    return f"Held-out pairs are predicted no better than by {alone} ({losses}, within two standard errors)."


def in_words(post: Posterior) -> str:
    """Say what a result is of, how many communities it has, and whether there is structure."""
    graph, found = post.graph, len(post.covers())
    text = f"Posterior of {graph.n_nodes:,} nodes, {graph.n_edges:,} links: {found:,} communities. "
    return text + structure_text(post)


def posterior_html(post: Posterior) -> str:
    """Return the same with the first communities as a table, for notebooks."""
    strengths, covers = post.strengths(), post.covers()
    numbers = list(covers)
    # Communities that are not shown need no names.
    named = [post.graph.labels.take(covers[k][:NAMED]) for k in numbers[:SHOWN_ROWS]]
    columns = {
        "community": numbers,
        "members": [len(covers[k]) for k in numbers],
        "strength": strengths.mean[numbers],
        "lower": strengths.lower[numbers],
        "upper": strengths.upper[numbers],
        "strongest members": [", ".join(map(str, names)) for names in named]
        + [""] * (len(numbers) - len(named)),
    }
    return f"<div>{escaped(in_words(post))}</div>{table_html(columns)}"


def convergence_word(post: Posterior) -> str:
    """Say in one or two words whether the chains have converged."""
    table = post.diagnostics()
    if not table.known:
        return "Convergence unknown."
    return "Converged." if table.converged else "Not converged."


def first_line(post: Posterior) -> str:
    """Say whether the run has converged, and whether there is structure at all."""
    return f"{convergence_word(post)} {structure_text(post)}"


def disassortative(post: Posterior) -> bool:
    """Return whether nodes are linked more between communities than within: the background is above the strengths.

    In the popularity model a strength comes on top of the background (DC1), so that this is never so.
    """
    if post.blocks_mean is not None or post.popularity_mean is not None:
        return False
    weaker = post.sizes[post.strength_mean < post.background_mean].sum()
    return bool(weaker > MOSTLY * post.sizes.sum())


def general_model_advice(post: Posterior) -> str:
    """Suggest the general model where the background is above the strengths; else empty."""
    if not disassortative(post):
        return ""
    return (
        f"The background ({post.background_mean:.2g}) is above the strengths: groups of this network link to other "
        'groups rather than within. Fit the general model: model="mmsb" (--model mmsb).'
    )


def pool_text(post: Posterior) -> str:
    """Say which chains count and how much, where they do not all count the same; else empty."""
    weights = post.chain_weights
    pool = post.provenance.get("pool") or {}
    worse = pool.get("worse_than_density") or []
    out = [c for c in worse if weights[c] == 0.0]
    parts = []
    if out:
        one = len(out) == 1
        parts.append(
            f"{_chains(out)} {'predicts' if one else 'predict'} held-out pairs worse than the density alone, and "
            f"{'does' if one else 'do'} not count."
        )
    elif worse:
        parts.append("All chains predict held-out pairs worse than the density alone.")
    if pool.get("stacked"):
        shares = ", ".join(
            f"{c} {weights[c]:.0%}" for c in np.argsort(-weights, kind="stable") if weights[c] > 0
        )
        parts.append(f"Chains count by how well they predict held-out pairs: {shares}.")
    return " ".join(parts)


def _chains(numbers: list[int]) -> str:
    return f"Chain{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"
