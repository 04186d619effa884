"""A fit in one screen: the communities, the nodes between them, the scores and what they mean.

Every number comes from the record that `--json` prints (`blockmix.cli.record`).
"""

from __future__ import annotations

from math import isnan
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from blockmix.cli.record import MOST_COMMUNITIES
from blockmix.errors import printable

LONGEST_LABEL = 28
_COLOURS = {True: "green", False: "yellow", None: "yellow"}


def print_summary(values: dict[str, Any]) -> None:
    """Print what was found on standard output; `values` is the record of the run."""
    console = Console(highlight=False)
    convergence = values["convergence"]
    rest = values["first_line"].removeprefix(convergence)
    console.print(f"[bold {_COLOURS[values['converged']]}]{convergence}[/][bold]{rest}[/]")
    _print_communities(console, values)
    _print_bridges(console, values)
    console.print(scores_text(values))
    console.print(f"\n[bold]Chains[/] {values['verdict']}")
    for name in ("pooling", "advice"):
        if values[name]:
            console.print(values[name])
    if values["communities_chosen_by"] != "user":
        console.print(
            f"{values['communities']:,} communities were allowed: as many as the best hard partition has"
            f"{_in_use_text(values)}"
        )
    if values["model_chosen_by"] != "user":
        console.print(f"The {values['model']} model was chosen: {printable(values['model_chosen_by'])}")
    if values["device_chosen_by"] != "user":
        console.print(f"Computed on the device {values['device']}: {printable(values['device_chosen_by'])}")
    stopped = f"\nThe run ended because {printable(values['stopped_by'])}." if values["stopped_by"] else ""
    console.print(
        f"{_count(values['sweeps'], 'sweep')} ({values['warm_up']:,} of them warm-up) of "
        f"{_count(values['chains'], 'chain')} in {values['seconds']:.1f} s, seed {values['seed']}{stopped}"
    )
    if values["longer"]:
        console.print(values["longer"])


def _in_use_text(values: dict[str, Any]) -> str:
    """Say how many of them are in use in the posterior samples."""
    if values["communities_in_use"] is None:
        return ""
    low, high = values["communities_in_use_lower"], values["communities_in_use_upper"]
    number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    verb = "is" if high == 1 else "are"
    return f"; {number} of them {verb} in use ({values['level']:.0%} of posterior samples)"


def _print_communities(console: Console, values: dict[str, Any]) -> None:
    """Print how many communities there are, what counts as one, and the first of them."""
    count, threshold = values["communities_found"], values["threshold"]
    found = _count(count, "community", "communities") if count else "No clear communities"
    sides, what = values["sides"], f"{_count(values['nodes'], 'node')} and {_count(values['edges'], 'link')}"
    if sides is not None:
        back = sides["reciprocity"]
        what = f"a network: {sides['in_words']}" + (
            "" if back is None else f", {back:.0%} of them with one back"
        )
    role = " in a role" if sides is not None and sides["kind"] == "directed" else ""
    console.print(
        f"[bold]{found}[/] in {what}; {_count(values['nodes_in_no_community'], 'node')}{role} in no clear community"
    )
    if not count:
        console.print("No community adds more to the likelihood than its memberships cost to describe.")
        return
    alone = values["listed_nodes_without_links"]
    if alone:
        has, is_placed = ("has", "is") if alone == 1 else ("have", "are")
        console.print(
            f"{_count(alone, 'member')} {has} no link in the network and {is_placed} placed where links are least "
            "likely; nothing else tells."
        )
    console.print(
        f"A node is a member where it makes at least {threshold:.0%} of its links: of its largest community "
        "on average, of any other more likely than not.\n"
        f"Strength: how likely two members are to link, with its {values['level']:.0%} interval. "
        f"{_evidence_text(values)}\n"
    )
    console.print(_table(values["community_table"]))
    if values["more_communities"]:
        others = "smaller ones" if isnan(values["total_evidence"]) else "with less evidence"
        console.print(f"... and {values['more_communities']:,} {others}")


def _evidence_text(values: dict[str, Any]) -> str:
    """Say what evidence is, or that this model has none."""
    if isnan(values["total_evidence"]):
        where = (
            "for weights or two sides"
            if values["model"] == "popularity"
            else f"in the {values['model']} model"
        )
        return f"Evidence is not defined {where}: the largest community is the first."
    return f"Evidence: {values['evidence_text']}."


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    columns = (("community", "right"), ("members", "right"), ("strength", "left"), ("evidence", "right"))
    for name, side in columns:
        table.add_column(name, justify=side, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("strongest members", overflow="fold")
    for row in rows[:MOST_COMMUNITIES]:
        low, high = _share(row["strength_lower"]), _share(row["strength_upper"])
        names = ", ".join(shown(label) for label in row["strongest_names"])
        more = f" and {row['more_members']:,} more" if row["more_members"] else ""
        evidence = "n/a" if row["evidence"] != row["evidence"] else f"{row['evidence']:,.0f}"
        table.add_row(
            str(row["community"]), f"{row['members']:,}", f"{_share(row['strength'])} ({low} to {high})", evidence,
            Text(names + more),
        )  # fmt: skip
    return table


def _print_bridges(console: Console, values: dict[str, Any]) -> None:
    count, bridges = values["bridge_nodes"], values["bridges"]
    if not count:
        return
    console.print(
        f"\n[bold]{_count(count, 'node')} {'bridges' if count == 1 else 'bridge'} communities[/] (community: share of "
        "the node's links)"
    )
    table = Table(box=None, show_header=False, pad_edge=False)
    for bridge in bridges:
        shares = [f"{m['community']}: {m['mean']:.0%} ± {m['sd']:.0%}" for m in bridge["memberships"]]
        table.add_row(Text(shown(bridge["name"])), "   ".join(shares))
    console.print(table)
    if values["more_bridge_nodes"]:
        console.print(f"... and {values['more_bridge_nodes']:,} more")


def scores_text(values: dict[str, Any]) -> str:
    """Return the scores on held-out pairs, each with its meaning."""
    if values["log_loss"] is None:
        return "\nNothing was held out, so predictions are not scored: ask for it with --held-out 0.05"
    text = (
        f"\n[bold]Predictions[/] of {_count(values['held_out_links'], 'link')} and "
        f"{_count(values['held_out_non_links'], 'non-link')} that the fit did not see\n"
        f"  AUC {values['auc']:.3f}: a link is ranked above a non-link {values['auc']:.0%} of the time "
        f"(chance: 50%){_matched_text(values)}\n"
        f"  log loss {values['log_loss']:.4g} per pair of nodes: lower is better"
    )
    if values["null_model"] is not None:
        text += (
            f"; by the density\n    alone it is {values['density_log_loss']:.4g}, by the degrees alone "
            f"{values['degree_log_loss']:.4g}"
        )
    text += (
        f"\n  average precision {values['average_precision']:.3f}, perplexity {values['perplexity']:.3f}: "
        "to compare fits of one network"
    )
    text += _weights_text(values)
    return (
        f"{text}\n[bold]Calibration[/] {values['calibration_verdict']}"
        if values["calibration_verdict"]
        else text
    )


def _weights_text(values: dict[str, Any]) -> str:
    """Return how well the weights of held-out links are predicted, where links have weights."""
    scores = values["weight_scores"]
    if scores is None:
        return ""
    return (
        f"\n  weights ({scores['law']}): expected and observed ones have a rank correlation of "
        f"{scores['correlation']:.2f}; log score\n    {scores['log_score']:.3f} a link, higher is better; by one law "
        f"for all links it is {scores['null_log_score']:.3f}"
    )


def _matched_text(values: dict[str, Any]) -> str:
    """Return the AUC against non-links matched by degree, where there are any."""
    if isnan(values["auc_matched"]):
        return ""
    return f",\n    {values['auc_matched']:.0%} where the non-link's nodes have as many links as a link's"


def shown(label: object) -> str:
    """Return a label for the screen: cut to a readable length, unable to move the cursor.

    >>> shown("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    text = printable(str(label)[: LONGEST_LABEL + 1])
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 3] + "..."


def _share(value: float) -> str:
    return f"{value:.2f}" if value >= 0.01 else f"{value:.1g}"


def _count(number: int, what: str, plural: str | None = None) -> str:
    return f"{number:,} {what if number == 1 else plural or what + 's'}"
