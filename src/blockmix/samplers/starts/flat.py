"""The random start that all samplers can share: the one of `sgmc`, draw by draw.

Comparisons of samplers need one start. Memberships are drawn from a flat Dirichlet, as in the program of the paper's
authors, and strengths between weak and strong, which breaks the symmetry. No link is looked at but for the background.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.model import Model
from blockmix.samplers.starts.memberships import random_parts, start_strengths
from blockmix.tables.layout import Rows, Strengths, empty_rows

# A learned background begins at most at this share of the density, or at the least number: otherwise it can explain all
# links, and the chain stays there (lab notes, "the start": AUC 0.49 to 0.54).
BACKGROUND_SHARE, LEAST_BACKGROUND = 0.1, 1e-9
# Strengths are drawn uniformly between these.
WEAK, STRONG = 0.1, 0.9


def most_background(graph: Graph) -> float:
    """Return the largest value at which a learned background begins."""
    return max(BACKGROUND_SHARE * graph.density, LEAST_BACKGROUND)


def flat_memberships(nodes: int, communities: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw memberships of all nodes (nodes x communities) from a flat Dirichlet."""
    pi = rng.exponential(size=(nodes, communities))
    return np.asarray(pi / pi.sum(axis=1, keepdims=True))


def flat_strengths(graph: Graph, model: Model, rng: np.random.Generator) -> Strengths:
    """Draw strengths; to be called after the memberships were drawn."""
    start = start_strengths(graph, random_parts(graph, model.communities, rng), model)
    start.value[:-1] = rng.uniform(WEAK, STRONG, model.communities)
    if model.background is None:
        start.value[-1] = min(start.value[-1], most_background(graph))
    return start


def flat_rows(graph: Graph, model: Model, slots: int, rng: np.random.Generator) -> Rows:
    """Draw the same memberships as rows of the `slots` largest, scaled to one."""
    pi = flat_memberships(graph.n_nodes, model.communities, rng)
    kept = min(slots, model.communities)
    order = np.argsort(-pi, axis=1, kind="stable")[:, :kept]
    weights = np.take_along_axis(pi, order, axis=1)
    rows = empty_rows(graph.n_nodes, slots)
    rows.words[:, : 2 * kept : 2] = order
    rows.weights[:, 1 : 2 * kept : 2] = weights / weights.sum(axis=1, keepdims=True)
    rows.total[:] = graph.degrees + model.communities * model.concentrations(graph.degrees)
    return rows
