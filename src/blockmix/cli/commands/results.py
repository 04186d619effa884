"""`blockmix predict` and `blockmix evaluate`: what can be done with a result."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockmix.cli.guard import COMPLETE, THRESHOLD, print_json, warn
from blockmix.errors import InputError, printable, readable

if TYPE_CHECKING:
    from blockmix.evaluate import CoverFile, CoverScores
    from blockmix.posterior.posterior import Posterior

_RESULT = typer.Argument(metavar="DIR", help="Folder written by blockmix fit -o.", show_default=False)


def predict(
    result: Annotated[Path, _RESULT],
    pairs: Annotated[
        str,
        typer.Argument(
            metavar="PAIRS",
            help="Pairs of labels, one per line, plain or compressed; - for standard input.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write here; standard output if not given."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Predict the probability that pairs of nodes are linked, averaged over the posterior.

    Labels are separated by blanks, tabs or commas. The answer is a table of
    node_a, node_b and probability, and of the expected weight where links
    have weights. In a directed network the first label is that of the node which
    sends the link, with two kinds of nodes that of the first kind.

    \b
      blockmix predict run pairs.txt > answers.tsv
      echo "ann bob" | blockmix predict run -
    """
    from blockmix.graph.sides.sides import plain_ends
    from blockmix.posterior.export.files import prediction_table, write_predictions
    from blockmix.posterior.export.pair_files import read_pairs
    from blockmix.posterior.storage import load

    post = load(result)
    graph = post.graph
    nodes = read_pairs(pairs, graph.labels, graph.sides)
    values = {"probability": post.node_link_probability(nodes)}
    if post.weight_law is not None:
        values["expected_weight"] = post.node_expected_weight(nodes)
    if output is not None:
        write_predictions(output, graph, nodes, values)
    if as_json:
        listed = [
            {"node_a": a, "node_b": b, **{name: float(found[i]) for name, found in values.items()}}
            for i, (a, b) in enumerate(zip(*plain_ends(graph, nodes), strict=True))
        ]  # fmt: skip
        print_json({"pairs": len(nodes), "predictions": listed})
    elif output is None:
        # Tables are UTF-8 whatever the terminal's encoding, as files are.
        sys.stdout.flush()
        # On a terminal labels must not move the cursor; in a pipe they stay as they are.
        screen = sys.stdout.isatty()
        for piece in prediction_table(graph, nodes, values):
            shown = printable(piece, keep="\t\n") if screen else piece
            sys.stdout.buffer.write(shown.encode("utf-8"))
        sys.stdout.buffer.flush()


def evaluate(
    result: Annotated[Path, _RESULT],
    truth: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Known communities, plain or compressed: one a line, labels separated by tabs or blanks; or a node "
            "and its group a line.",
            show_default=False,
        ),
    ],
    layout: Annotated[
        str,
        typer.Option(
            "--truth-layout",
            metavar="LAYOUT",
            help="communities: one a line; nodes: a node and its group a line; auto: recognised.",
        ),
    ] = "auto",
    threshold: Annotated[
        float,
        typer.Option(
            metavar="T", min=0.0, max=1.0, help=f"Threshold T for the communities found. {THRESHOLD}."
        ),
    ] = 0.1,
    all_nodes: Annotated[
        bool, typer.Option("--all-nodes", help="Compare on every node, also those no known community lists.")
    ] = False,
    complete: Annotated[bool, typer.Option("--complete", help=COMPLETE)] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a summary.")
    ] = False,
) -> None:
    """Compare the communities found with known ones, and show the scores on held-out pairs.

    Where the known communities leave nodes out, both covers are compared on
    the nodes they list.

    \b
      blockmix evaluate run --truth communities.txt
      blockmix evaluate run --truth groups.txt.gz --threshold 0.2 --json
    """
    from blockmix.posterior.storage import load

    post = load(result)
    file = _read_truth(truth, post, layout)
    if layout == "auto":
        read, other = ("a node and its group a line", "communities") if file.layout == "nodes" else (
            "a community a line", "nodes"
        )  # fmt: skip
        warn(
            f"{truth}: read as {read}, {len(file.communities):,} groups (--truth-layout {other} reads it the other way)"
        )
    if file.n_unknown:
        warn(
            f"{truth}: {file.n_unknown:,} labels are not in the network and are left out "
            f"({readable(file.first_unknown or '')} ...)"
        )
    if not file.communities:
        raise InputError(f"{truth}: lists no community: there is nothing to compare with")
    agreement = _compare(post, file, threshold, all_nodes, complete)
    by_role = _by_role(post, file, threshold, complete)
    if as_json:
        from blockmix.cli.record import score_record

        found: dict[str, Any] = asdict(agreement) | score_record(post)
        found |= {"nodes": post.graph.n_nodes, "threshold": threshold, "unknown_labels": file.n_unknown}
        found["truth_layout"] = file.layout
        found["by_role"] = (
            None if by_role is None else {role: asdict(scores) for role, scores in by_role.items()}
        )
        print_json(found)
    else:
        _print_agreement(post, agreement, by_role)


def _read_truth(truth: Path, post: Posterior, layout: str) -> CoverFile:
    """Read known communities; without roles in a network that has some, a node is a member in every role."""
    import numpy as np

    from blockmix.errors import GraphFormatError
    from blockmix.evaluate import read_cover_file

    graph = post.graph
    try:
        file = read_cover_file(truth, graph.labels, layout)
    except GraphFormatError:
        if graph.sides is None or not graph.sides.named:
            raise
    else:
        if file.communities or graph.sides is None:
            return file
    plain = graph.sides.plain_labels(graph.labels)
    file = read_cover_file(truth, plain, layout)
    number = {label: place for place, label in enumerate(plain)}
    node_of = np.array([number[label] for label in graph.sides.plain(graph.labels)])
    return replace(file, communities=[np.flatnonzero(np.isin(node_of, part)) for part in file.communities])


def _by_role(
    post: Posterior, file: CoverFile, threshold: float, complete: bool
) -> dict[str, CoverScores] | None:
    """Compare the communities of each side alone; None for a network without sides."""
    sides = post.graph.sides
    if sides is None:
        return None
    found = {}
    for side, name in enumerate(sides.names):
        parts = [part[(part >= sides.first) == bool(side)] for part in file.communities]
        of_side = replace(file, communities=[part for part in parts if len(part)])
        if of_side.communities:
            found[name] = _compare(post, of_side, threshold, False, complete)
    return found


def _compare(
    post: Posterior, file: CoverFile, threshold: float, all_nodes: bool, complete: bool
) -> CoverScores:
    import numpy as np

    from blockmix.evaluate import compare_covers, restrict

    found: Any = list(post.covers(threshold, complete=complete).values())
    if not found:
        raise InputError(
            "this run found no clear communities: there is nothing to compare; --complete compares those without clear "
            "evidence too"
        )
    listed = np.unique(np.concatenate(file.communities))
    if all_nodes or len(listed) == post.graph.n_nodes:
        return compare_covers(found, file.communities, post.graph.n_nodes)
    found = restrict(found, listed)
    if not found:
        raise InputError(
            "none of the communities found has a node that the file lists: there is nothing to compare; --all-nodes "
            "compares on every node"
        )
    # The nodes of the comparison are numbered anew: scores count pairs of them.
    found, truth = (
        [np.searchsorted(listed, members) for members in cover] for cover in (found, file.communities)
    )
    return compare_covers(found, truth, len(listed))


def _print_agreement(post: Posterior, agreement: CoverScores, by_role: dict[str, CoverScores] | None) -> None:
    from rich.console import Console

    from blockmix.cli.record import score_record
    from blockmix.cli.summary import scores_text

    console = Console(highlight=False)
    console.print(
        f"[bold]{agreement.n_found:,} communities found, {agreement.n_truth:,} known[/], compared on "
        f"{agreement.n_nodes:,} of {post.graph.n_nodes:,} nodes (1 is perfect)\n"
        f"  ONMI  {agreement.onmi:.3f}  shared information, 0 for unrelated covers\n"
        f"  omega {agreement.omega:.3f}  pairs that share as many communities, above chance\n"
        f"  F1    {agreement.f1:.3f}  mean overlap of each community with its best match"
    )
    for role, scores in (by_role or {}).items():
        console.print(
            f"  of the nodes that are {role}: ONMI {scores.onmi:.3f}, omega {scores.omega:.3f}, F1 {scores.f1:.3f}"
        )
    console.print(scores_text(score_record(post)))
