"""The last section of the report: traces, calibration of predictions, agreement of chains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.posterior.diagnostics import R_HAT, DiagnosticsTable
from blockmix.posterior.posterior import Posterior
from blockmix.posterior.predictive.words import scored
from blockmix.report.calibration import calibration_plot
from blockmix.report.checks import degree_calibration, predictive_part
from blockmix.report.markup import Markup, element, joined
from blockmix.report.overview import counted

_FIRST_ROWS = 10
_COLUMNS = {
    "quantity": "Quantity", "kind": "Kind", "mean": "Mean", "sd": "Sd", "mcse": "Monte Carlo error", "rhat": "R-hat",
    "ess_bulk": "ESS, bulk", "ess_tail": "ESS, tail",
}  # fmt: skip

_TEXT = ("quantity", "kind")


def diagnostics_section(post: Posterior) -> Markup:
    """Write traces, which the page's script draws, then chains and calibration where there are any."""
    return element(
        "section",
        element("h2", "Diagnostics"),
        element(
            "p",
            "What the sampler did over its sweeps. The shaded part is the warm-up, which does not count. Curves "
            "that still rise or fall at the end, or chains that stay apart, mean that the run was too short.",
            class_="note",
        ),
        element("div", id="traces", class_="traces"),
        _calibration(post) if scored(post) else None,
        degree_calibration(post.calibration_by_degree()) if scored(post) else None,
        predictive_part(post),
        _agreement(post.diagnostics()),
        id="diagnostics",
    )


def _calibration(post: Posterior) -> Markup:
    """Write the calibration plot and how to read it."""
    table = post.calibration()
    how = (
        "Do predicted probabilities come true? Held-out pairs are sorted by their prediction into "
        f"{counted(len(table), 'range')}. A dot shows how many of a range are links, as a frequency in the whole "
        f"network, a bar its {table.confidence:.0%} binomial interval. Where predictions mean what they say, "
        "bars cross the diagonal."
    )
    inside = int(table.covered.sum())
    return element(
        "div",
        element("div", calibration_plot(table), class_="plot"),
        element(
            "div",
            element("h3", "Calibration"),
            element("p", how),
            element("p", f"{inside} of {len(table)} ranges agree with the diagonal.", class_="note"),
        ),
        class_="calibration-row",
    )


def _agreement(chains: DiagnosticsTable) -> Markup:
    """Write the verdict, R-hat and effective sample sizes; what decides first, and of that the worst."""
    title = element("h3", "Agreement of chains")
    if not len(chains):
        return joined(title, element("p", chains.verdict))
    worst = np.lexsort((-np.nan_to_num(chains.rhat, nan=0.0), ~chains.decides))
    more = None
    if len(worst) > _FIRST_ROWS:
        more = element(
            "details",
            element("summary", f"All {len(worst)} quantities"),
            element("div", _table(chains, worst), class_="scroll"),
        )
    return joined(
        title,
        element("p", chains.verdict),
        element(
            "p",
            f"R-hat compares chains with each other: 1 is perfect agreement, above {R_HAT} they disagree. ESS is "
            "the number of independent samples that would be worth as much, for means (bulk) and for the ends of "
            "intervals (tail). Matched strengths and memberships depend on which communities of the chains were "
            "taken for the same; they do not count for the verdict.",
            class_="note",
        ),
        element("div", _table(chains, worst[:_FIRST_ROWS]), class_="scroll"),
        more,
    )


def _table(chains: DiagnosticsTable, rows: NDArray[np.int64]) -> Markup:
    values = chains.columns()
    head = (
        element("th", title, scope="col", class_=None if name in _TEXT else "right")
        for name, title in _COLUMNS.items()
    )
    body = (
        element("tr", *(_cell(name, title, values[name][i]) for name, title in _COLUMNS.items()))
        for i in rows.tolist()
    )
    return element("table", element("thead", element("tr", *head)), element("tbody", *body))


def _cell(name: str, title: str, value: object) -> Markup:
    if not isinstance(value, float | np.floating):
        return element("td", str(value), data_name=title, class_="wide" if name == "quantity" else None)
    digits = {"rhat": ".3f", "ess_bulk": ",.0f", "ess_tail": ",.0f"}.get(name, ".3g")
    return element("td", "n/a" if np.isnan(value) else format(value, digits), data_name=title, class_="right")
