"""The section about attributes of nodes: which communities they mark out, by the permutation test."""

from __future__ import annotations

from typing import Any

from blockmix.errors import InputError
from blockmix.posterior.posterior import Posterior
from blockmix.report.markup import Markup, element

# More attributes than this, and more rows of each, are left to `Posterior.attribute_test`.
MOST_ATTRIBUTES, MOST_ROWS = 12, 8
LEVEL = 0.05


def attributes_section(post: Posterior) -> Markup | None:
    """Write the section, or nothing where the network has no attributes."""
    table = post.graph.attributes
    if table is None or not len(table):
        return None
    shown = [_attribute(post, name) for name in list(table)[:MOST_ATTRIBUTES]]
    left = len(table) - MOST_ATTRIBUTES
    more = f" {left} more attributes are not shown." if left > 0 else ""
    return element(
        "section",
        element("h2", "Attributes of nodes"),
        element(
            "p",
            "For each community and value: the share of its members that have the value (of a number, their mean) "
            "beside that of all nodes. The test permutes the values over the nodes; p is adjusted for all rows of an "
            f"attribute together. Memberships are taken at their means.{more}",
            class_="note",
        ),
        *shown,
        id="attributes",
    )


def _attribute(post: Posterior, name: str) -> Markup:
    try:
        answer = post.attribute_test(name)
    except InputError as error:
        return element("div", element("h3", name), element("p", f"Not tested: {error}.", class_="note"))
    sure = [row for row in answer if row.p < LEVEL][:MOST_ROWS]
    body = _table(sure) if sure else None
    return element("div", element("h3", name), element("p", f"{answer.note}."), body)


def _table(rows: list[Any]) -> Markup:
    names = ("Community", "Value", "Share", "All nodes", "z", "p")
    sides = (None, None, "right", "right", "right", "right")
    head = element(
        "tr", *(element("th", n, scope="col", class_=s) for n, s in zip(names, sides, strict=True))
    )
    lines = (
        element(
            "tr",
            *(
                element("td", value, data_name=n, class_=s)
                for value, n, s in zip(cells, names, sides, strict=True)
            ),
        )
        for cells in map(_cells, rows)
    )
    return element("div", element("table", element("thead", head), element("tbody", *lines)), class_="scroll")


def _cells(row: Any) -> tuple[str, ...]:
    numbers = (f"{row.share:.3g}", f"{row.expected:.3g}", f"{row.z:.1f}", f"{row.p:.3g}")
    return (str(row.community), row.value, *numbers)
