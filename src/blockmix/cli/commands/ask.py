"""`blockmix ask`: questions about a result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from blockmix.cli.guard import print_json
from blockmix.errors import InputError, printable

if TYPE_CHECKING:
    from blockmix.posterior.answers.table import Answer
    from blockmix.posterior.posterior import Posterior

_DEFAULT_TOP = 20


class _Question(NamedTuple):
    """What a question needs behind its name, how it is answered, and whether the answer can be cut to the top rows."""

    needs: tuple[str, ...]
    answer: Callable[[Posterior, list[str], int], Any]
    cut: bool = True


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InputError(f"{text!r:.40} is not the number of a community")
    return int(text)


def _compare(post: Posterior, words: list[str], top: int) -> Answer:
    from blockmix.posterior.storage import load

    found = post.compare(load(Path(words[0])))
    communities = found.communities
    communities.note = (
        f"{found.common:,} nodes in both; ONMI {found.scores.onmi:.3f}, omega {found.scores.omega:.3f}; "
        f"{len(found.moved):,} nodes moved"
    )
    return communities


def _moved(post: Posterior, words: list[str], top: int) -> Answer:
    from blockmix.posterior.storage import load

    return post.compare(load(Path(words[0]))).moved


def _subgraph(post: Posterior, words: list[str], top: int) -> Answer:
    from blockmix.posterior.answers.table import Answer

    graph = post.subgraph(_number(words[0]))
    first, second = (graph.labels.take(ends) for ends in graph.edges().T)
    return Answer(
        {"node_a": first, "node_b": second}, note=f"{graph.n_nodes:,} nodes, {graph.n_edges:,} links"
    )


def _names(post: Posterior, words: list[str], top: int) -> Answer:
    from blockmix.posterior.answers.table import Answer

    found = post.names(by=words[0] if words else None)
    return Answer({"community": list(found), "name": list(found.values())})


_QUESTIONS: dict[str, _Question] = {
    "node": _Question(("NODE",), lambda post, words, top: post.node(words[0])),
    "members": _Question(("COMMUNITY",), lambda post, words, top: post.members(_number(words[0]), top=top)),
    "bridges": _Question((), lambda post, words, top: post.bridges(top=top)),
    "similar": _Question(("NODE",), lambda post, words, top: post.similar_nodes(words[0], top=top)),
    "none": _Question((), lambda post, words, top: post.nodes_in_none()),
    "pair": _Question(("NODE", "NODE"), lambda post, words, top: _pair(post, words)),
    "missing": _Question(
        ("[NODE]",), lambda post, words, top: post.missing_links(words[0] if words else None, top=top)
    ),
    "surprising": _Question((), lambda post, words, top: post.surprising_links(top=top)),
    "overlap": _Question((), lambda post, words, top: post.overlap()),
    "roles": _Question(("COMMUNITY",), lambda post, words, top: post.roles(_number(words[0]), top=top)),
    "quality": _Question((), lambda post, words, top: post.quality(), cut=False),
    "names": _Question(("[ATTRIBUTE]",), _names, cut=False),
    "attribute": _Question(("ATTRIBUTE",), lambda post, words, top: post.attribute_test(words[0])),
    "subgraph": _Question(("COMMUNITY",), _subgraph, cut=False),
    "compare": _Question(("DIR",), _compare, cut=False),
    "moved": _Question(("DIR",), _moved),
    "place": _Question(("NODE...",), lambda post, words, top: post.transform(words)),
}


def _pair(post: Posterior, words: list[str]) -> Answer:
    from blockmix.posterior.answers.table import Answer

    pair = [tuple(words)]
    columns = post.link_intervals(pair).columns()
    columns["share_community"] = post.share_probability(pair)
    if post.blocks_mean is None:
        made = post.link_communities(pair)
        columns |= {"community": made["community"], "in_it": made["probability"], "between": made["between"]}
    return Answer(columns)


def ask(
    result: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder written by blockmix fit -o.", show_default=False)
    ],
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help=f"One of {', '.join(_QUESTIONS)}.",
            show_default=False,
            autocompletion=lambda incomplete: [name for name in _QUESTIONS if name.startswith(incomplete)],
        ),
    ],
    about: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ABOUT]...", help="What it is about: nodes, a community, an attribute."),
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Rows to show at most.")] = _DEFAULT_TOP,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Answer a question about a result.

    \b
      blockmix ask run node ann        the communities of a node, with intervals
      blockmix ask run members 3       the strongest members of a community
      blockmix ask run roles 3         its hubs and connectors
      blockmix ask run bridges         nodes that surely belong to several
      blockmix ask run similar ann     the nodes most like one
      blockmix ask run none            nodes in no clear community
      blockmix ask run pair ann bob    link probability, shared communities
      blockmix ask run missing         the most likely links that are not there
      blockmix ask run missing ann     those of a node
      blockmix ask run surprising      the least likely links that are there
      blockmix ask run overlap         communities that share members or nest
      blockmix ask run quality         density, conductance, modularity of each
      blockmix ask run names           a name for each, by its members
      blockmix ask run names dept      the same by an attribute of the nodes
      blockmix ask run attribute dept  do communities go with an attribute?
      blockmix ask run subgraph 3      the links between the members of one
      blockmix ask run compare run2    which communities two results share
      blockmix ask run moved run2      nodes that are in another one there
      blockmix ask run place ann bob   where a new node with these links belongs
    """
    from blockmix.posterior.storage import load

    if question not in _QUESTIONS:
        raise InputError(f"there is no question {question!r:.40}; questions: {', '.join(_QUESTIONS)}")
    found, words = _QUESTIONS[question], about or []
    _check_words(question, found.needs, words)
    answer = found.answer(load(result), words, top)
    if as_json:
        rows = answer.rows()
        print_json({"question": question, "about": words, "rows": rows[:top] if found.cut else rows,
                    "note": answer.note})  # fmt: skip
    else:
        # The note can quote attributes and other folders.
        print(printable(answer.text(top if found.cut else None), keep="\n"))


def _check_words(question: str, needs: tuple[str, ...], words: list[str]) -> None:
    least = sum(not need.startswith("[") for need in needs)
    most = None if any(need.endswith("...") for need in needs) else len(needs)
    if len(words) < least or (most is not None and len(words) > most):
        usage = f"blockmix ask DIR {question} {' '.join(needs)}".rstrip()
        raise InputError(f"{len(words)} words behind {question} do not fit; use: {usage}")
