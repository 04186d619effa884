"""The page: sections, data, styles and scripts put together in one file that needs nothing else."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from blockmix._version import __version__
from blockmix.posterior.structure import evidence_text
from blockmix.report.attributes import attributes_section
from blockmix.report.communities import Findings
from blockmix.report.diagnostics import diagnostics_section
from blockmix.report.markup import Markup, element, joined, json_block, source_hash, void
from blockmix.report.network import network_section
from blockmix.report.overview import facts_section, no_evidence, overview, strength_meaning
from blockmix.report.payload import page_data
from blockmix.report.pictures.drawing import draw
from blockmix.report.pictures.pack import pack_nodes
from blockmix.report.pictures.picture import data_address, still_picture
from blockmix.report.verdict import remarks

_VIEWPORT = Markup('<meta name="viewport" content="width=device-width, initial-scale=1">')
SCRIPTS = ("report.js",)
STYLES = ("uplot.css", "report.css")
_SECTIONS = (
    ("network", "Map"), ("overview", "How sure"), ("communities", "Communities"),
    ("bridges", "Bridges"), ("diagnostics", "Diagnostics"), ("run", "Run"),
)  # fmt: skip


@cache
def asset(name: str) -> str:
    """Read a file of the folder `assets`."""
    return files("blockmix.report").joinpath("assets", name).read_text("utf-8")


def build_page(found: Findings, title: str, command: str | None, seed: int) -> str:
    """Write the whole file as text."""
    drawing, colours = draw(found, seed=seed)
    packed = pack_nodes(found, seed=seed)
    picture = data_address(still_picture(found, drawing, colours, packed.entries))
    notes = remarks(found.post)
    body = joined(
        element("a", "Skip to the content", href="#network", class_="skip"),
        _header(),
        element(
            "main",
            network_section(found, title, notes, drawing, picture, packed),
            overview(found, notes),
            _communities(found),
            attributes_section(found.post),
            _bridges(found),
            diagnostics_section(found.post),
            facts_section(found.post, command),
        ),
        _footer(),
        json_block("data", page_data(found, drawing, colours, packed, seed=seed)),
        *(
            Markup(f'<script type="text/plain" id="block-{name}">{block.text}</script>')
            for name, block in packed.blocks.items()
        ),
        *(Markup(f"<script>{asset(name)}</script>") for name in SCRIPTS),
    )
    return (
        "<!doctype html>\n"
        + element("html", _head(title, _style()), element("body", body), lang="en", data_theme="auto")
        + "\n"
    )


def beginning() -> str:
    """Return what every report of this version begins with: the policy that all of the page is under."""
    whole = "<!doctype html>\n" + element("html", _head("", _style()), lang="en", data_theme="auto")
    return whole[: whole.index(_VIEWPORT)]


def _style() -> str:
    return "".join(asset(name) for name in STYLES)


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
        _VIEWPORT,
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


def _communities(found: Findings) -> Markup:
    order = (
        "The largest come first, by their expected number of members. "
        if no_evidence(found.post)
        else f"Those with the most evidence come first: {evidence_text(found.post)}. "
    )
    return element(
        "section",
        element("h2", "Communities"),
        element(
            "p",
            f"{order}Strength is {strength_meaning(found.post)}; a bar shows it with its {found.level:.0%} interval. "
            "The most certain members are those whose interval starts highest. A bridge is a node that surely belongs "
            "to both communities.",
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
            "Plots are drawn with uPlot (MIT licence).",
        ),
        element(
            "details", element("summary", "Licences"), element("pre", asset("LICENCES.txt"), tabindex="0")
        ),
    )
