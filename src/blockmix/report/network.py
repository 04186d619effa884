"""The first section of the report: what was found in a line, whether to trust it in a line, and the map."""

from __future__ import annotations

import re

from blockmix.posterior.posterior import Posterior
from blockmix.posterior.structure import first_line
from blockmix.report.communities import Findings
from blockmix.report.markup import Markup, element, joined, void
from blockmix.report.overview import counted, headline
from blockmix.report.pictures.drawing import Drawing
from blockmix.report.pictures.pack import Packed
from blockmix.report.verdict import Remark

HOW_TO_MOVE = (
    "Map of the network. Arrow keys move it, plus and minus zoom, 0 shows all, N and P go to the next and the previous "
    "node in sight, Escape clears."
)


def network_section(
    found: Findings, title: str, notes: list[Remark], drawing: Drawing, picture: str, packed: Packed
) -> Markup:
    """Write the headline, the verdict in one line, and the map with its tools, its card and its contents list."""
    return element(
        "section",
        element("p", title, class_="kicker"),
        element("h1", headline(found)),
        verdict_line(found, notes),
        element(
            "div",
            element("div", _search(), _views(drawing), _switches(), class_="tools"),
            _picture(drawing, picture),
            element(
                "div",
                element("div", id="card", class_="card", aria_live="polite"),
                _contents(found),
                class_="panel",
            ),
            class_="network",
        ),
        element("p", *_notes(found, drawing, packed), class_="note under"),
        id="network",
    )


def verdict_line(found: Findings, notes: list[Remark]) -> Markup:
    """Say in one line whether to trust the run; what there is to know in detail is in the next section."""
    state = "good" if not notes else "bad" if any(note.serious for note in notes) else "fair"
    more = "Details" if not notes else counted(len(notes), "remark")
    return element(
        "p",
        element("strong", plain_verdict(found.post)),
        " ",
        element("a", f"{more} below", href="#overview"),
        class_=f"line {state}",
    )


def plain_verdict(post: Posterior) -> str:
    """Return the first line of every summary without the figures in brackets."""
    return re.sub(r" \([^)]*\)", "", first_line(post))


def _picture(drawing: Drawing, picture: str) -> Markup:
    alt = (
        "Drawing of the network: every node is a pie chart of its communities"
        if drawing.kind == "network"
        else "Map of the network: every community is a disc of its nodes, lines are links between communities"
    )
    return element(
        "div",
        void("img", src=picture, alt=alt, id="still"),
        element("div", id="stage", tabindex="0", role="application", aria_label=HOW_TO_MOVE, hidden=True),
        element("p", id="remark", class_="note", hidden=True),
        element("div", id="tip", role="status", hidden=True),
        element("div", *_zoom_buttons(), class_="zoom", id="zoom", hidden=True),
        class_="picture", id="picture",
    )  # fmt: skip


def _contents(found: Findings) -> Markup:
    """Write the contents list, which the script fills, and the threshold above it."""
    value = element("output", f"{found.threshold:.0%}", id="threshold-value")
    return element(
        "div",
        element("h2", "Communities", class_="small"),
        element(
            "p",
            element("label", "Members: at least ", value, " of their links", for_="threshold"),
            void("input", id="threshold", type="range", min="1", max="100", step="1",
                 value=f"{100 * found.threshold:.0f}"),
            class_="threshold",
        ),
        element("div", id="legend", class_="legend", role="group", aria_label="Communities: show one only"),
        class_="contents",
    )  # fmt: skip


def _notes(found: Findings, drawing: Drawing, packed: Packed) -> list[str]:
    """Explain how to read the picture, and what of the network is not in this file."""
    graph = found.post.graph
    roles = ""
    if graph.sides is not None:
        roles = (
            "Every node is shown twice: as one that sends links, (out), and as one that receives them, (in). "
        )
        roles = (
            roles if graph.directed else "Links join nodes of two kinds; their attribute role tells which. "
        )
    if drawing.kind == "network":
        notes = [
            roles,
            "Each node is a pie chart of its communities; its area grows with its number of links. The less sure the "
            "largest share is, the softer the edge. ",
        ]
        if len(drawing.links) < graph.n_edges:
            notes.append(f"{len(drawing.links):,} of {graph.n_edges:,} links are drawn, picked at random. ")
    else:
        notes = [
            roles,
            "Each community is a disc, with the nodes that are surest of it in the middle; a node in several lies "
            "between them, at the mean of their centres weighed by its shares. The less sure its largest share is, the "
            "more a node is blurred. Lines are links between communities; nearer, nodes are pie charts and links those "
            "of nodes. ",
        ]
    if packed.nodes < graph.n_nodes:
        notes.append(f"To keep this file small it holds the {packed.nodes:,} nodes with the most links. ")
    if packed.named < packed.nodes:
        notes.append(
            f"To keep this file small it has labels of the {packed.named:,} nodes with the most links. "
        )
    if packed.links < graph.n_edges and packed.nodes == graph.n_nodes:
        notes.append(f"To keep this file small it holds {packed.links:,} of the links, picked at random. ")
    return notes


def _search() -> Markup:
    return element(
        "div",
        element("label", "Find a node", for_="search"),
        void("input", id="search", type="text", role="combobox", aria_expanded="false", spellcheck="false",
             aria_controls="hits", aria_autocomplete="list", autocomplete="off", placeholder="Label of a node"),
        element("ul", id="hits", role="listbox", aria_label="Nodes found", hidden=True),
        class_="search",
    )  # fmt: skip


def _views(drawing: Drawing) -> Markup:
    whole = "Whole network" if drawing.kind == "network" else "Map"
    return element(
        "div",
        element("button", whole, type="button", id="whole", aria_pressed="true"),
        element("button", "Neighbourhood", type="button", id="around", aria_pressed="false", disabled=True),
        class_="views", role="group", aria_label="What is drawn",
    )  # fmt: skip


def _switches() -> Markup:
    def switch(name: str, text: str, *, on: bool) -> Markup:
        box = void("input", id=f"show-{name}", type="checkbox", checked=on)
        return element("label", box, text)

    def button(name: str, text: str) -> Markup:
        return element("button", text, type="button", id=f"save-{name}", class_="quiet")

    return joined(
        element(
            "div", switch("links", "Links", on=True), switch("ghosts", "Likely missing links", on=False),
            class_="switches", role="group", aria_label="What is shown",
        ),
        element(
            "div", button("png", "PNG"), button("svg", "SVG"), button("print", "Print"),
            class_="switches", role="group", aria_label="Keep the picture",
        ),
    )  # fmt: skip


def _zoom_buttons() -> list[Markup]:
    buttons = (("in", "+", "Zoom in"), ("out", "−", "Zoom out"), ("fit", "Fit", "Show all"))
    return [
        element("button", text, type="button", id=f"zoom-{name}", aria_label=label)
        for name, text, label in buttons
    ]
