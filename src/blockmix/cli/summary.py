"""A fit in one screen: the communities, the nodes between them, the scores and what they mean."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from blockmix.report.communities import BRIDGE_SHARE, Findings
from blockmix.report.overview import guess_loss

if TYPE_CHECKING:
    from blockmix.evaluate import Scores
    from blockmix.posterior.posterior import Posterior

MOST_COMMUNITIES, MOST_MEMBERS, MOST_BRIDGES = 12, 8, 8
# With fewer samples the uncertainty of a share is not known.
FEWEST_SAMPLES = 20
LONGEST_LABEL = 28


def print_summary(post: Posterior, threshold: float, folder: Path | None) -> None:
    """Print what was found on standard output."""
    console = Console(highlight=False)
    covers = post.covers(threshold)
    facts = post.provenance
    console.print(
        f"[bold]{len(covers):,} communities[/] in {_count(post.graph.n_nodes, 'node')} and "
        f"{_count(post.graph.n_edges, 'link')}\n"
        f"A member more likely than not makes at least {threshold:.0%} of its links there. Strength:\n"
        "how likely two members are to link, with its 90% interval.\n"
    )
    if covers:
        console.print(_communities(post, covers))
    if len(covers) > MOST_COMMUNITIES:
        console.print(f"... and {len(covers) - MOST_COMMUNITIES:,} smaller ones")
    _print_bridges(console, post)
    console.print(scores_text(post))
    console.print(convergence_text(post))
    if facts["communities_chosen_by"] != "user":
        console.print(
            f"{post.n_communities:,} communities were allowed: as many as the best hard partition has"
        )
    if facts.get("model_chosen_by", "user") != "user":
        console.print(f"The {facts['model']['kind']} model was chosen: {facts['model_chosen_by']}")
    console.print(
        f"{_count(facts['sweeps'], 'sweep')} of {_count(facts['chains'], 'chain')} in "
        f"{facts['seconds']:.1f} s, seed {facts['seed']}"
    )
    if folder is not None:
        console.print(
            "\nWritten to ",
            Text(str(folder)),
            ": memberships.tsv, communities.txt, held_out.tsv, ",
            sep="",
            end="",
        )
        more = "" if post.popularity_mean is None else "popularity.tsv, "
        console.print(f"{more}run.json, posterior")
    else:
        console.print("\nNothing was written: add -o DIR to keep memberships, covers and predictions.")


def _communities(post: Posterior, covers: dict[int, Any]) -> Table:
    strengths = post.strengths()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name, side in (("community", "right"), ("members", "right"), ("strength", "left")):
        table.add_column(name, justify=side, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("most certain members", overflow="fold")
    for number, nodes in list(covers.items())[:MOST_COMMUNITIES]:
        low, high = strengths.lower[number], strengths.upper[number]
        strength = f"{_share(strengths.mean[number])} ({_share(low)} to {_share(high)})"
        names = ", ".join(shown(post.graph.labels[int(a)]) for a in nodes[:MOST_MEMBERS])
        more = f" and {len(nodes) - MOST_MEMBERS:,} more" if len(nodes) > MOST_MEMBERS else ""
        table.add_row(str(number), f"{len(nodes):,}", strength, Text(names + more))
    return table


def _print_bridges(console: Console, post: Posterior) -> None:
    if post.provenance["samples"] < FEWEST_SAMPLES:
        return
    nodes = Findings(post).bridges
    if not len(nodes):
        return
    console.print(
        f"\n[bold]{len(nodes):,} nodes bridge communities[/] (community: share of the node's links)"
    )
    table = Table(box=None, show_header=False, pad_edge=False)
    for node in nodes[:MOST_BRIDGES]:
        row = slice(post.offsets[node], post.offsets[node + 1])
        shares = [
            f"{k}: {mean:.0%} ± {sd:.0%}"
            for k, mean, sd in zip(post.community[row], post.mean[row], post.sd[row], strict=True)
            if mean >= BRIDGE_SHARE
        ]
        table.add_row(Text(shown(post.graph.labels[int(node)])), "   ".join(shares))
    console.print(table)
    if len(nodes) > MOST_BRIDGES:
        console.print(f"... and {len(nodes) - MOST_BRIDGES:,} more")


def scores_text(post: Posterior) -> str:
    """Return the scores on held-out pairs, each with its meaning."""
    scores, held_out = post.scores, post.held_out
    if scores is None or held_out is None:
        return "\nNothing was held out, so predictions are not scored: ask for it with --held-out 0.05"
    return (
        f"\n[bold]Predictions[/] of {_count(scores.n_links, 'link')} and "
        f"{_count(scores.n_non_links, 'non-link')} that the fit did not see\n"
        f"  AUC {scores.auc:.3f}: a link is ranked above a non-link {scores.auc:.0%} of the time "
        f"(chance: 50%){matched_text(scores)}\n"
        f"  log loss {scores.log_loss:.4g} per pair of nodes: lower is better, and giving every pair\n"
        f"    the same probability costs {guess_loss(held_out.density):.4g}\n"
        f"  average precision {scores.average_precision:.3f}, perplexity {scores.perplexity:.3f}: "
        f"to compare fits of one network"
    )


def matched_text(scores: Scores) -> str:
    """Return the AUC against non-links matched by degree, where there are any."""
    if isnan(scores.auc_matched):
        return ""
    return f",\n    {scores.auc_matched:.0%} where the non-link's nodes have as many links as a link's"


def convergence_text(post: Posterior) -> str:
    """Return in words whether the chains have converged, or why that is not known."""
    table = post.diagnostics()
    doubt = "Not converged." if table.known else "Convergence is unknown."
    return f"\n[bold]Chains[/] {'' if table.converged else f'[yellow]{doubt}[/] '}{table.verdict}"


def shown(label: object) -> str:
    """Return a label for the screen: cut to a readable length, unable to move the cursor.

    >>> shown("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    text = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(label)[: LONGEST_LABEL + 1]
    )
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 3] + "..."


def _share(value: float) -> str:
    return f"{value:.2f}" if value >= 0.01 else f"{value:.1g}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
