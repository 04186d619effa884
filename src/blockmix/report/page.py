"""The page: sections, data, styles and scripts put together in one file that needs nothing else."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np

from blockmix._version import __version__
from blockmix.report.attributes import attributes_section
from blockmix.report.communities import Findings
from blockmix.report.diagnostics import diagnostics_section
from blockmix.report.markup import Markup, element, joined, json_block, source_hash, void
from blockmix.report.overview import overview
from blockmix.report.payload import page_data
from blockmix.report.pictures.drawing import Drawing, draw
from blockmix.report.pictures.pack import Block, pack_nodes
from blockmix.report.pictures.picture import data_address, still_picture
from blockmix.report.verdict import remarks

# Run in this order: the drawing may fail where there is no WebGL, and the rest still works.
SCRIPTS = ("drawing.js", "report.js")
STYLES = ("uplot.css", "report.css")
_SECTIONS = (
    ("overview", "Overview"), ("network", "Network"), ("communities", "Communities"),
    ("bridges", "Bridges"), ("diagnostics", "Diagnostics"),
)  # fmt: skip


@cache
def asset(name: str) -> str:
    """Read a file of the folder `assets`."""
    return files("blockmix.report").joinpath("assets", name).read_text("utf-8")


def build_page(found: Findings, title: str, command: str | None, seed: int) -> str:
    """Write the whole file as text."""
    drawing, colours = draw(found, seed=seed)
    block = pack_nodes(found, seed=seed)
    body = joined(
        element("a", "Skip to the content", href="#overview", class_="skip"),
        _header(),
        element(
            "main",
            overview(found, title, remarks(found.post), command),
            _network(found, drawing, data_address(still_picture(found, drawing, colours)), block),
            _communities(found),
            attributes_section(found.post),
            _bridges(found),
            diagnostics_section(found.post),
        ),
        _footer(),
        json_block("data", page_data(found, drawing, colours, block)),
        Markup(f'<script type="text/plain" id="block">{block.text}</script>'),
        *(Markup(f"<script>{asset(name)}</script>") for name in SCRIPTS),
    )
    style = "".join(asset(name) for name in STYLES)
    return (
        "<!doctype html>\n"
        + element("html", _head(title, style), element("body", body), lang="en", data_theme="auto")
        + "\n"
    )


def _head(title: str, style: str) -> Markup:
    """Write title, styles, and the policy: nothing is loaded, only these scripts run, no text becomes markup."""
    scripts = " ".join(source_hash(asset(name)) for name in SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src {source_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    return element(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        Markup(f'<meta name="generator" content="blockmix {__version__}">'),
        element("title", f"{title} · blockmix"),
        Markup(f"<style>{style}</style>"),
    )


def _header() -> Markup:
    links = (element("a", name, href=f"#{identity}") for identity, name in _SECTIONS)
    return element(
        "header",
        element("div", _mark(), element("span", "blockmix"), class_="brand"),
        element("nav", *links, aria_label="Sections"),
        element("button", "Theme: auto", type="button", id="theme", class_="quiet"),
        class_="top",
    )


def _mark() -> Markup:
    """Draw three overlapping discs."""
    discs = (("#0072B2", 8, 9), ("#E69F00", 16, 9), ("#009E73", 12, 16))
    return element(
        "svg", *(void("circle", cx=x, cy=y, r=6.5, fill=c, fill_opacity=0.82) for c, x, y in discs),
        viewBox="0 0 24 24", aria_hidden="true",
    )  # fmt: skip


def _network(found: Findings, drawing: Drawing, picture: str, block: Block) -> Markup:
    alt = (
        "Drawing of the network: every node is a pie chart of its communities"
        if drawing.kind == "network"
        else "Drawing of the communities: every disc is one, lines are links between their members"
    )
    return element(
        "section",
        element("h2", "The network"),
        element("p", *_drawing_notes(found, drawing, block), class_="note"),
        element(
            "div",
            element("div", _search(), _view_buttons(drawing), class_="tools"),
            element(
                "div",
                void("img", src=picture, alt=alt, id="still"),
                element("div", id="stage", tabindex="0", role="application", aria_label=_HOW_TO_MOVE, hidden=True),
                element("p", id="remark", class_="note", hidden=True),
                element("div", id="tip", role="status", hidden=True),
                element("div", *_zoom_buttons(), class_="zoom", id="zoom", hidden=True),
                class_="picture", id="picture",
            ),
            element("div", element("p", _CARD_HINT, class_="note"), id="card", class_="card", aria_live="polite"),
            element("div", id="legend", class_="legend", role="group", aria_label="Show one community only"),
            class_="network",
        ),
        id="network",
    )  # fmt: skip


_HOW_TO_MOVE = "Network drawing. Arrow keys move it, plus and minus zoom, 0 shows all, Escape clears."
_CARD_HINT = "Search for a node, or click one, to see the communities it belongs to and how sure that is."


def _drawing_notes(found: Findings, drawing: Drawing, block: Block) -> list[str]:
    graph = found.post.graph
    notes = []
    if drawing.kind == "network":
        notes.append("Each node is a pie chart of its communities; its area grows with its number of links. ")
        if len(drawing.links) < graph.n_edges:
            notes.append(f"{len(drawing.links):,} of {graph.n_edges:,} links are drawn, picked at random. ")
    else:
        some = len(drawing.ids) < len(found.numbers)
        first = "largest communities" if _by_size(found) else "communities with the most evidence"
        which = f"the {len(drawing.ids):,} {first}" if some else "its communities"
        notes.append(
            f"With {graph.n_nodes:,} nodes the whole network would be a ball of wool, so {which} are drawn: a "
            "disc for each, its area the number of members, a line where many links run between two. Choose a "
            "node to see its neighbourhood. "
        )
    if block.nodes < graph.n_nodes:
        notes.append(f"To keep this file small it holds the {block.nodes:,} nodes with the most links. ")
    if block.links < graph.n_edges and block.nodes == graph.n_nodes:
        notes.append(f"To keep this file small it holds {block.links:,} of the links, picked at random. ")
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


def _view_buttons(drawing: Drawing) -> Markup:
    whole = "Whole network" if drawing.kind == "network" else "All communities"
    return element(
        "div",
        element("button", whole, type="button", id="whole", aria_pressed="true"),
        element("button", "Neighbourhood", type="button", id="around", aria_pressed="false", disabled=True),
        class_="views", role="group", aria_label="What is drawn",
    )  # fmt: skip


def _zoom_buttons() -> list[Markup]:
    buttons = (("in", "+", "Zoom in"), ("out", "−", "Zoom out"), ("fit", "Fit", "Show all"))
    return [
        element("button", text, type="button", id=f"zoom-{name}", aria_label=label)
        for name, text, label in buttons
    ]


def _by_size(found: Findings) -> bool:
    """Return whether communities are numbered by size, because their evidence is not defined in this model."""
    return bool(np.isnan(found.post.evidence).all())


def _communities(found: Findings) -> Markup:
    order = (
        "The largest come first, by their expected number of members. "
        if _by_size(found)
        else "Those with the most evidence come first: what a community adds to the log likelihood, less what its "
        "memberships cost to describe. "
    )
    return element(
        "section",
        element("h2", "Communities"),
        element(
            "p",
            f"{order}Strength is the probability that two nodes fully in the community are "
            f"linked, with its {found.level:.0%} interval. The most certain members are those whose interval starts "
            "highest. A bridge is a node that surely belongs to both communities.",
            class_="note",
        ),
        element("div", id="community-table", class_="scroll"),
        _without_script(),
        id="communities",
    )


def _bridges(found: Findings) -> Markup:
    text = (
        "Nodes that surely belong to two communities or more, those with the largest second share first. A node "
        "whose community is merely unknown is not among them."
        if len(found.bridges)
        else "No node surely belongs to two communities or more."
    )
    return element(
        "section",
        element("h2", "Bridge nodes"),
        element("p", text, class_="note"),
        element("div", id="bridge-table", class_="scroll"),
        id="bridges",
    )


def _without_script() -> Markup:
    return element("noscript", element("p", "Tables, search and plots need JavaScript.", class_="note"))


def _footer() -> Markup:
    return element(
        "footer",
        element(
            "p",
            f"Made by blockmix {__version__}. This file is complete: it loads nothing and sends nothing. "
            "Drawn with sigma.js, graphology and uPlot (MIT licences).",
        ),
        element(
            "details", element("summary", "Licences"), element("pre", asset("LICENCES.txt"), tabindex="0")
        ),
    )
