"""Is there structure at all? The answer in words, the same on the screen, in the report and in `print(post)`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.evaluate.null_models import ENOUGH
from blockmix.notebook import SHOWN_ROWS, escaped, table_html
from blockmix.posterior.evidence.compute import PREDICTION
from blockmix.posterior.quantities import expected_sizes, own_strengths

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# The background is above the strengths if so large a share of all membership is in communities weaker than it, on
# average and in so large a share of the posterior samples, of which so many a chain are looked at. On one link alone it
# is so in half of the samples; on a complete bipartite network of 40 nodes, before chains agree, in 70%.
MOSTLY, CLEARLY, MOST_SAMPLES = 0.5, 0.6, 50
# Pairs of neighbours that are drawn, at most, to see whether they are linked less often than other pairs.
WEDGES = 20_000
# Strongest members by which a community is named in a notebook.
NAMED = 5


def structure_text(post: Posterior) -> str:
    """Compare the predictions of held-out pairs with those of the density and of the degrees alone, in one sentence."""
    null = post.null
    if null is None:
        return "Not compared with chance: nothing was held out."
    if null.verdict == "too few":
        return (
            f"Too few pairs were held out to compare with chance: {held_out_kinds(post)}, where {ENOUGH} of each are "
            "needed. Hold out a larger share (held_out, --held-out)."
        )
    alone = "the density alone" if null.null == "density" else "the degrees alone"
    losses = f"log loss {null.log_loss:.4g} against {null.null_log_loss:.4g}"
    if null.verdict == "better":
        return f"Held-out pairs are predicted {null.share:.0%} better than by {alone} ({losses})."
    if null.verdict == "worse":
        return f"Held-out pairs are predicted worse than by {alone} ({losses}): do not use the communities."
    hubs = " Communities may be no more than nodes with many links." if null.null != "density" else ""
    return f"Held-out pairs are predicted no better than by {alone} ({losses}, within two standard errors).{hubs}"


def evidence_text(post: Posterior) -> str:
    """Say what the evidence of a community is, where it is defined."""
    if post.evidence_by == PREDICTION:
        return (
            "what the community adds to the log likelihood, less one for each free share of its members (all together "
            "do not pay for the description of their memberships, but predict held-out pairs so much better than the "
            "degrees alone that this is chance in one of a thousand networks at most)"
        )
    return "what the community adds to the log likelihood, less what its memberships cost to describe"


def held_out_kinds(post: Posterior) -> str:
    """Return how many links and non-links were held out, in words."""
    links, non_links = (0, 0) if post.scores is None else (post.scores.n_links, post.scores.n_non_links)
    return (
        f"{links:,} link{'' if links == 1 else 's'} and {non_links:,} non-link{'' if non_links == 1 else 's'}"
    )


def in_words(post: Posterior) -> str:
    """Say what a result is of, how many communities it has, whether the run has converged and there is structure."""
    graph, found = post.graph, len(post.covers())
    network = f"{graph.n_nodes:,} nodes, {graph.n_edges:,} links"
    if graph.sides is not None:
        network = graph.sides.in_words(graph.n_nodes, graph.n_edges)
    text = f"Posterior of {network}: {found:,} communities. "
    return text + first_line(post)


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
    """Say in a few words whether the chains have converged, and if not, why."""
    table = post.diagnostics()
    if not table.known:
        return "Convergence unknown."
    if table.converged:
        return "Converged."
    why = "the chains do not agree" if table.disagree else "too few effective samples"
    return f"Not converged: {why}."


def first_line(post: Posterior) -> str:
    """Say whether the run has converged, and whether there is structure at all."""
    return f"{convergence_word(post)} {structure_text(post)}"


class Longer(NamedTuple):
    """What a run lacks until it has converged, and what that takes at least: times the samples, sweeps and seconds.

    `sweeps` are those of the whole run, to be asked for. Sweeps and seconds are None where no number is enough.
    """

    missing: str
    times: float
    sweeps: int | None
    seconds: float | None


def longer(post: Posterior) -> Longer | None:
    """Estimate what a run takes at least until it has converged; None where it has, or where none can tell."""
    table, facts = post.diagnostics(), post.provenance
    sampled, done = facts.get("sweeps", 0) - facts.get("warm_up", 0), facts.get("sweeps", 0)
    if not table.known or table.converged or sampled <= 0:
        return None
    times = table.times_needed
    if not math.isfinite(times):
        return Longer(table.missing, times, None, None)
    sweeps = _round_up(done + (times - 1.0) * sampled)
    return Longer(table.missing, times, sweeps, (sweeps - done) * facts.get("seconds", 0.0) / done)


def longer_text(post: Posterior) -> str:
    """Say what a run lacks until it has converged, and how long that takes at least; else empty."""
    found = longer(post)
    if found is None:
        return ""
    if found.sweeps is None or found.seconds is None:
        return f"Missing: {found.missing}. Chains that do not move will not agree in a longer run."
    return (
        f"Missing: {found.missing}. That takes at least {found.sweeps:,} sweeps in all, "
        f"{duration(max(found.seconds, 1.0))} more at this speed; chains that have each found another explanation do "
        "not agree in a longer run either."
    )


def duration(seconds: float) -> str:
    """Write a time for a display.

    >>> duration(12.3), duration(300), duration(8000)
    ('12 s', '5 min', '2.2 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _round_up(value: float) -> int:
    """Round up to two digits: more would pretend to an exactness that the estimate does not have.

    >>> _round_up(17_234.5), _round_up(99.5), _round_up(8.2)
    (18000, 100, 9)
    """
    unit = int(10 ** max(len(str(math.ceil(value))) - 2, 0))
    return unit * math.ceil(value / unit)


def disassortative(post: Posterior) -> bool:
    """Return whether nodes are linked more between groups than within, so that the general model fits better.

    It is so where the background is above the strengths, and where no communities were found in a network in which
    neighbours of a node are linked to each other less often than any two nodes.
    """
    return _background_above(post) or _neighbours_apart(post)


def _neighbours_apart(post: Posterior) -> bool:
    """Return whether no two communities were found and far fewer pairs of neighbours are linked than other pairs.

    A partition into groups that link to each other, as in a bipartite network, has no triangles. Counted are pairs of
    neighbours of nodes drawn at random, with a fixed seed.
    """
    graph = post.graph
    if graph.sides is not None:
        return False
    pairs = graph.degrees * (graph.degrees - 1) // 2
    count = min(WEDGES, int(pairs.sum()))
    if post.blocks_mean is not None or not count:
        return False
    rng = np.random.default_rng(0)
    nodes = rng.choice(graph.n_nodes, size=count, p=pairs / pairs.sum())
    first = rng.integers(0, graph.degrees[nodes])
    second = (first + rng.integers(1, graph.degrees[nodes])) % graph.degrees[nodes]
    begin = graph.offsets[nodes]
    ends = np.column_stack((graph.neighbors[begin + first], graph.neighbors[begin + second]))
    linked, expected = int(graph.has_edges(ends.astype(np.int64)).sum()), count * graph.density
    return linked < min(0.5 * expected, expected - 5.0 * math.sqrt(expected)) and len(post.covers()) <= 1


def _background_above(post: Posterior) -> bool:
    """Return whether the background is above the strengths.

    Not only on average: on a network of a few links both are mostly prior, and samples differ. In the popularity model
    a strength comes on top of the background (DC1), so that this is never so.
    """
    if post.blocks_mean is not None or post.popularity_mean is not None:
        return False
    if not _mostly_weaker(post.sizes, post.strength_mean, post.background_mean):
        return False
    found = [
        _mostly_weaker(
            expected_sizes(sample, post.n_communities), own_strengths(sample), sample.probabilities[-1]
        )
        for chain, weight in zip(post.draws, post.chain_weights, strict=True)
        for sample in chain[:: -(-len(chain) // MOST_SAMPLES)]
        if weight > 0.0
    ]
    return not found or float(np.mean(found)) >= CLEARLY


def _mostly_weaker(sizes: NDArray[np.float64], strengths: NDArray[np.float64], background: float) -> bool:
    """Return whether most membership is in communities that are weaker than the background."""
    return bool(sizes[strengths < background].sum() > MOSTLY * sizes.sum())


def general_model_advice(post: Posterior) -> str:
    """Suggest the general model where nodes are linked more between groups than within; else empty."""
    if _background_above(post):
        reason = f"The background ({post.background_mean:.2g}) is above the strengths"
    elif _neighbours_apart(post):
        reason = "Neighbours of a node are linked to each other less often than other nodes are"
    else:
        return ""
    return (
        f"{reason}: groups of this network link to other groups rather than within. "
        'Fit the general model: model="mmsb" (--model mmsb).'
    )


def chains_left_out(post: Posterior) -> list[int]:
    """Return the numbers of the chains that do not count because they predict worse than the density alone."""
    worse = (post.provenance.get("pool") or {}).get("worse_than_density") or []
    return [c for c in worse if post.chain_weights[c] == 0.0]


def pool_text(post: Posterior) -> str:
    """Say which chains count and how much, where they do not all count the same; else empty."""
    weights = post.chain_weights
    pool = post.provenance.get("pool") or {}
    worse, out = pool.get("worse_than_density") or [], chains_left_out(post)
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
