"""The calibration plot in SVG: predicted against observed link frequency, with binomial intervals."""

from __future__ import annotations

import math

import numpy as np

from blockmix.evaluate import CalibrationTable
from blockmix.report.markup import Markup, element, joined, void

_SIZE, _LEFT, _BOTTOM, _TOP, _RIGHT = 420.0, 58.0, 48.0, 14.0, 14.0


def calibration_plot(table: CalibrationTable) -> Markup:
    """Draw the plot on logarithmic axes: probabilities of a sparse network span many powers of ten."""
    shown = np.flatnonzero(np.isfinite(table.predicted))
    floor = _floor(table)

    def at(value: float) -> float:
        return (math.log10(max(value, floor)) - math.log10(floor)) / -math.log10(floor)

    def x(value: float) -> float:
        return round(_LEFT + (_SIZE - _LEFT - _RIGHT) * at(value), 1)

    def y(value: float) -> float:
        return round(_SIZE - _BOTTOM - (_SIZE - _BOTTOM - _TOP) * at(value), 1)

    grid = [_tick(power, x, y) for power in range(round(math.log10(floor)), 1)]
    diagonal = void("line", x1=x(floor), y1=y(floor), x2=x(1), y2=y(1), class_="ideal")
    points = []
    for i in shown.tolist():
        p, low, high, seen = (
            float(v[i]) for v in (table.predicted, table.lower, table.upper, table.observed)
        )
        inside = bool(table.covered[i])
        note = f"predicted {p:.2g}, observed {seen:.2g} (interval {low:.2g} to {high:.2g})"
        points.append(
            element(
                "g",
                element("title", note + ("" if inside else ": outside the interval")),
                void("line", x1=x(p), x2=x(p), y1=y(low), y2=y(high), class_="whisker"),
                void("circle", cx=x(p), cy=y(seen), r=5, class_="dot" if inside else "dot off"),
            )
        )
    names = joined(
        element("text", "predicted probability", x=(_LEFT + _SIZE - _RIGHT) / 2, y=_SIZE - 8, class_="axis"),
        element(
            "text", "observed frequency", class_="axis",
            transform=f"translate(14 {(_SIZE - _BOTTOM + _TOP) / 2:g}) rotate(-90)",
        ),
    )  # fmt: skip
    return element(
        "svg", element("title", "Predicted against observed link frequency"), *grid, diagonal, *points, names,
        class_="calibration", viewBox=f"0 0 {_SIZE:g} {_SIZE:g}", role="img",
    )  # fmt: skip


def _floor(table: CalibrationTable) -> float:
    """Return the power of ten below the smallest value worth showing."""
    values = np.concatenate([table.predicted, table.observed[table.observed > 0]])
    values = values[np.isfinite(values) & (values > 0)]
    smallest = float(values.min()) if len(values) else 0.1
    return 10.0 ** max(-9, min(-1, math.floor(math.log10(smallest))))


def _tick(power: int, x: object, y: object) -> Markup:
    """Draw grid lines and numbers of one power of ten."""
    value = 10.0**power
    across, up = x(value), y(value)  # type: ignore[operator]
    label = f"{value:g}" if power >= -3 else f"1e{power}"
    return joined(
        void("line", x1=across, x2=across, y1=_TOP, y2=_SIZE - _BOTTOM, class_="grid"),
        void("line", x1=_LEFT, x2=_SIZE - _RIGHT, y1=up, y2=up, class_="grid"),
        element("text", label, x=across, y=_SIZE - _BOTTOM + 18, class_="tick"),
        element("text", label, x=_LEFT - 8, y=up + 4, class_="tick end"),
    )
