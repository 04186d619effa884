"""Two parts of the diagnostics: calibration by the degrees of nodes, and posterior predictive checks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from blockmix.evaluate import DegreeCalibration
from blockmix.posterior.posterior import Posterior
from blockmix.posterior.predictive.checks import PredictiveChecks, can_check
from blockmix.report.markup import Markup, element, joined


def degree_calibration(table: DegreeCalibration) -> Markup:
    """Write links observed over links predicted, by the training degrees of both nodes."""
    ranges = "; ".join(f"{name}: {text}" for name, text in table.group_ranges.items() if name != "no")
    how = (
        "Are links predicted as well between nodes with few links as between nodes with many? Held-out pairs are "
        "sorted by the number of training links of their nodes. Above 1 there are more links than predicted; rows "
        f"are marked where the {table.confidence:.0%} interval leaves out 1 and the ratio is beyond 1.25 or below 0.8. "
        f"Training links of a node: {ranges}."
    )
    rows = [
        (
            table.names[i], f"{table.n_pairs[i]:,}", f"{table.n_links[i]:,}", f"{table.expected[i]:,.1f}",
            f"{table.ratio[i]:.2f}", _interval(table.lower[i], table.upper[i]), "off" if table.off[i] else "",
        )
        for i in range(len(table))
    ]  # fmt: skip
    head = ("Links of the two nodes", "Pairs", "Links", "Expected", "Observed / predicted", "Interval", "")
    return joined(
        element("h3", "Calibration by degree"),
        element("p", how, class_="note"),
        element("div", _table(head, rows), class_="scroll"),
        element("p", table.verdict or "No class of pairs is off."),
    )


def predictive_section(checks: PredictiveChecks) -> Markup:
    """Write the statistics of the network beside those of networks drawn from the posterior."""
    how = (
        f"Does the network look like one that the fitted model would draw? {checks.replicates} networks were drawn "
        f"from the posterior; a network of the model lies inside an interval with a probability of {checks.level:.0%}. "
        "Clustering is the share of pairs of neighbours that are linked; ranking at equal degrees is how often a "
        "held-out link is ranked above a non-link whose nodes have as many links."
    )
    rows = [
        (
            row["statistic"], _number(row["observed"]), _number(row["mean"]),
            f"{_number(row['lower'])} to {_number(row['upper'])}", "off" if row["off"] else "",
        )
        for row in checks.rows()
    ]  # fmt: skip
    return joined(
        element("h3", "Predictive checks"),
        element("p", how, class_="note"),
        element(
            "div", _table(("Statistic", "Network", "Drawn, mean", "Interval", ""), rows), class_="scroll"
        ),
        element("p", checks.verdict),
    )


def predictive_part(post: Posterior) -> Markup | None:
    """Write the predictive checks where networks can be drawn from the model."""
    return predictive_section(post.predictive_checks()) if can_check(post) else None


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Markup:
    """Write a table whose first and last columns are words and the others numbers."""
    sides = [None, *["right"] * (len(head) - 2), None]
    titles = (element("th", name, scope="col", class_=side) for name, side in zip(head, sides, strict=True))
    body = (
        element(
            "tr",
            *(
                element("td", value, data_name=name or "Remark", class_=side)
                for name, value, side in zip(head, row, sides, strict=True)
            ),
        )
        for row in rows
    )
    return element("table", element("thead", element("tr", *titles)), element("tbody", *body))


def _interval(lower: float, upper: float) -> str:
    return f"{lower:.2f} to {upper:.2f}" if np.isfinite(upper) else f"{lower:.2f} or more"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
