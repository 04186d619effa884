"""The experiments of Li, Ahn and Welling (2016), run again: one file per figure, `run.py` around them."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from blockmix.errors import InputError
from blockmix.experiments.figure import Figure

FIGURES = ("figure1", "figure2", "figure3", "figure4", "figure5", "figure6")


def find_figure(name: str) -> Figure:
    """Return a figure by its name or number."""
    wanted = name if name.startswith("figure") else f"figure{name}"
    if wanted not in FIGURES:
        raise InputError(f"there is no figure {name!r}; figures: {', '.join(FIGURES)}, or all")
    return cast(Figure, import_module(f"blockmix.experiments.{wanted}").FIGURE)
