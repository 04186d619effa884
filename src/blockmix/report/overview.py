"""What was found in words and figures, how good the predictions are, what to mind, and how it was computed."""

from __future__ import annotations

import json
from math import isnan
from typing import Any

import numpy as np

from blockmix.graph.sides.sides import reciprocity
from blockmix.posterior.evidence.compute import PREDICTION
from blockmix.posterior.posterior import Posterior
from blockmix.posterior.predictive.words import scored
from blockmix.report.communities import Findings
from blockmix.report.markup import Markup, element, joined
from blockmix.report.verdict import Remark


def overview(found: Findings, notes: list[Remark]) -> Markup:
    """Write the section with what was found in words, the remarks, the figures and the scores."""
    return element(
        "section",
        element("h2", "What was found, and how sure it is"),
        element("p", lead(found), class_="lead"),
        verdict(notes),
        figures(found),
        scores(found.post),
        id="overview",
    )


def headline(found: Findings) -> str:
    """State what was found, in one line."""
    count = len(found.numbers)
    what = counted(count, "community", "communities") if count else "No clear communities"
    graph = found.post.graph
    if graph.sides is None:
        return f"{what} in {counted(graph.n_nodes, 'node')}"
    first, second = graph.sides.first, graph.n_nodes - graph.sides.first
    if graph.directed:
        return f"{what} in a directed network of {counted(first, 'node')}"
    return f"{what} in a bipartite network of {first:,} and {counted(second, 'node')}"


def lead(found: Findings) -> str:
    """Describe what was found in a few sentences."""
    bridges, graph = len(found.bridges), found.post.graph
    share = f"{found.threshold:.0%}"
    between = (
        "No node surely belongs to more than one"
        if not bridges
        else f"{counted(bridges, 'node')} surely {'belongs' if bridges == 1 else 'belong'} to more than one"
    )
    left = len(found.post.unclear(found.threshold))
    outside = "Every node is in one." if not left else f"{counted(left, 'node')} in no clear community."
    return (
        f"Each node divides its links among communities; it counts as a member where, more likely than not, it "
        f"makes at least {share} of them. {listing(found.post)} {outside} {between}. Every share comes with a "
        f"{found.level:.0%} credible interval, and all numbers are averages over the posterior of a mixed-membership "
        f"model of the {counted(graph.n_edges, 'link')}."
    )


def no_evidence(post: Posterior) -> bool:
    """Return whether evidence is not defined in the model of this result; communities are then numbered by size."""
    return bool(np.isnan(post.evidence).all())


def listing(post: Posterior) -> str:
    """Say which communities are listed."""
    if no_evidence(post):
        return "A community is listed if it has two members or more: evidence is not defined in this model."
    if post.evidence_by == PREDICTION:
        return (
            "A community is listed if it adds more than one nat for each free share of its members, since all together "
            "they predict held-out pairs."
        )
    return "A community is listed if it adds more to the likelihood than its memberships cost to describe."


def strength_meaning(post: Posterior) -> str:
    """Say what the strength of a community is the probability of, which depends on the model: (M1), (M9), (DC1)."""
    graph, popular = post.graph, post.popularity_mean is not None
    if graph.sides is not None:
        ends = "a sender to a receiver" if graph.directed else "a node of one kind to a node of the other"
        return f"the probability of a link from {ends}, both fully in the community and of popularity one"
    if post.blocks_mean is not None:
        return (
            "the probability that two nodes fully in the community are linked; links between two communities have "
            "probabilities of their own"
        )
    return f"the probability that two nodes{' of popularity one' if popular else ''} fully in the community are linked"


def verdict(notes: list[Remark]) -> Markup:
    """Write the remarks, or the statement that there are none."""
    if not notes:
        return element(
            "div", element("p", element("strong", "No problem was found in this run."),
                           " Scores had settled, the chains agree, and no check below raised a concern."),
            class_="verdict good",
        )  # fmt: skip
    serious = any(note.serious for note in notes)
    items = [element("li", element("strong", n.headline), " " + n.advice) for n in notes]
    return element(
        "div",
        element("p", element("strong", "Read this first" if serious else "Worth knowing")),
        element("ul", *items),
        class_="verdict bad" if serious else "verdict fair",
        role="note",
    )


def figures(found: Findings) -> Markup:
    """Write the four numbers that describe network and result."""
    graph = found.post.graph
    weight = (
        "" if graph.weights is None else f", of weight {graph.total_weight / graph.n_edges:.3g} on average"
    )
    mean_degree = 2 * graph.n_edges / max(graph.n_nodes, 1)
    count, links = graph.n_nodes, f"{mean_degree:.1f} links each on average"
    if graph.sides is not None and graph.directed:
        count, back = graph.sides.first, reciprocity(graph)
        links = f"each in two roles, out and in; {mean_degree:.1f} links in each on average"
        weight += f"; {back:.0%} have one back" if back is not None else ""
    elif graph.sides is not None:
        links = f"{graph.sides.first:,} of the first kind, {count - graph.sides.first:,} of the second"
    entries = [
        (f"{count:,}", "nodes", links),
        (f"{graph.n_edges:,}", "links", f"{graph.density:.2g} of all pairs" + weight),
        (f"{len(found.numbers):,}", "communities", f"of {found.post.n_communities:,} the model was given"),
        (f"{len(found.bridges):,}", "bridge nodes", "surely in two communities or more"),
    ]
    between = "probability of a link between nodes that share no community"
    if found.post.blocks_mean is not None:
        between = "probability of a link between members of different communities, on average"
    elif found.post.popularity_mean is not None:
        between = "probability of a link between nodes of popularity one that share no community"
    entries.append((f"{found.post.background_mean:.2g}", "background", between))
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", element("b", value), element("span", meaning)))
            for value, name, meaning in entries
        ),
        class_="figures",
    )


def scores(post: Posterior) -> Markup | None:
    """Write the scores on held-out pairs, each with its meaning in a sentence."""
    result, null = post.scores, post.null
    if result is None or null is None or not scored(post):
        return None
    entries = [
        ("AUC", f"{result.auc:.3f}", f"A held-out link is ranked above a non-link {result.auc:.0%} of the time; "
         "guessing gives 50%."),
        ("AUC, same degrees", "" if isnan(result.auc_matched) else f"{result.auc_matched:.3f}", "The same against "
         "non-links between nodes that have as many links as those of a link have."),
        ("Log loss", f"{result.log_loss:.4g}", "Cost per pair of nodes, lower is better; by the density alone it is "
         f"{null.density_log_loss:.4g}, by the degrees alone {null.degree_log_loss:.4g}."),
        ("Average precision", f"{result.average_precision:.3f}", "How pure the top of the ranking is; compare it "
         "only between fits with the same held-out pairs."),
        ("Perplexity", f"{result.perplexity:.3f}", "1 is a perfect prediction, 2 a fair coin, on the held-out "
         "pairs as they are."),
    ]  # fmt: skip
    weights = post.weight_scores
    if weights is not None:
        entries += [
            ("Weights", f"{weights.correlation:.2f}", "Rank correlation of expected and observed weights of held-out "
             "links."),
            ("Log score of a weight", f"{weights.log_score:.3f}", "Log density of a held-out link's weight, higher is "
             f"better; by one law for all links it is {weights.null_log_score:.3f}."),
        ]  # fmt: skip
    return joined(
        element("h3", "How well it predicts", class_="part"),
        element(
            "p",
            f"Judged on {counted(result.n_links, 'link')} and {counted(result.n_non_links, 'non-link')} "
            "that the fit did not see.",
        ),
        element(
            "dl",
            *(
                element("div", element("dt", name), element("dd", element("b", value), element("span", text)))
                for name, value, text in entries
                if value
            ),
            class_="figures scores",
        ),
    )


def facts_section(post: Posterior, command: str | None) -> Markup:
    """Write how the result was computed: time, machine, seed, and a fold-out list of everything else."""
    known = post.provenance
    rows = [(name, text) for name, text in _facts(known, command) if text]
    table = element(
        "table",
        element("tbody", *(element("tr", element("th", n, scope="row"), element("td", t)) for n, t in rows)),
        class_="facts",
    )
    everything = json.dumps(known, indent=2, default=str, ensure_ascii=False)
    return element(
        "section",
        element("h2", "How it was computed"),
        table,
        element(
            "details",
            element("summary", "Everything that was recorded"),
            element("pre", everything, tabindex="0"),
        ),
        id="run",
    )


def _facts(known: dict[str, Any], command: str | None) -> list[tuple[str, str]]:
    seconds, total = known.get("seconds"), known.get("total_seconds")
    memory = known.get("peak_memory_bytes")
    machine = [
        {"cpu": "processor", "cuda": "GPU"}.get(str(known.get("device")), str(known.get("device", ""))),
        counted(known["threads"], "thread") if "threads" in known else "",
        f"{memory / 2**30:.2g} GiB at most" if memory else "",
        f"Python {known['python']}" if "python" in known else "",
    ]
    run = [
        counted(known["chains"], "chain") if "chains" in known else "",
        counted(known["sweeps"], "sweep") if "sweeps" in known else "",
        f"{known['warm_up']:,} of them warm-up" if "warm_up" in known else "",
        counted(known["samples"], "sample") + " in all" if "samples" in known else "",
    ]
    took = "" if seconds is None else duration(seconds)
    if seconds is not None and total is not None and total > 1.2 * seconds + 1:
        took += f" of sampling, {duration(total)} in all"
    chosen = known.get("communities_chosen_by", "user")
    return [
        ("Time", took),
        ("Machine", ", ".join(part for part in machine if part)),
        ("Run", ", ".join(part for part in run if part)),
        ("Ended because", str(known.get("stopped_by") or "")),
        ("Seed", f"{known['seed']} (the same seed gives the same result)" if "seed" in known else ""),
        ("Number of communities", "" if chosen == "user" else f"chosen by {chosen}"),
        ("Link model", _model(known)),
        ("Command", command or str(known.get("command", ""))),
        ("Computed", str(known.get("created", "")).replace("T", " ").replace("+00:00", " UTC")),
        ("Program", f"blockmix {known['blockmix']}" if "blockmix" in known else ""),
        ("Fingerprint of the network", str(known.get("graph_fingerprint", ""))[:16]),
    ]


def _model(known: dict[str, Any]) -> str:
    """Return the link model, and why it was chosen if it was."""
    why = known.get("model_chosen_by", "user")
    kind, law = str(known.get("model", {}).get("kind", "")), known.get("model", {}).get("weights")
    kind += "" if law is None else f", weights are {law}"
    return kind if why == "user" else f"{kind}, chosen: {why}"


def duration(seconds: float) -> str:
    """Write a time in the unit a person would use.

    >>> duration(4.117), duration(75), duration(7300)
    ('4.1 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def counted(number: int, what: str, plural: str | None = None) -> str:
    """Write a number and its noun.

    >>> counted(1, "node"), counted(1200, "node")
    ('1 node', '1,200 nodes')
    """
    return f"{number:,} {what if number == 1 else plural or what + 's'}"
