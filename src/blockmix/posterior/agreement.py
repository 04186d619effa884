"""Whether the chains of a run agree, while it runs: the same quantities that judge its result."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from blockmix.graph.graph import Graph
from blockmix.graph.sides.sides import first_side
from blockmix.graph.split import HeldOut
from blockmix.posterior.diagnostics import DiagnosticsTable, invariant_diagnostics
from blockmix.samplers.live import LiveChain
from blockmix.tables.popular import PopularPredictor
from blockmix.tables.predictor import Predictor


class Agreement:
    """Compares the chains of a run by quantities that do not depend on how communities are numbered."""

    def __init__(self, graph: Graph, data: HeldOut, communities: int) -> None:
        self.graph, self.n_communities = graph, communities
        self.held_out = data if data.n_pairs else None
        self._training = data.training

    @cached_property
    def predictor(self) -> Predictor:
        """The predictor of this network; by itself it tells samples with popularities from those without."""
        return PopularPredictor(np.asarray(self._training.degrees <= 0), first=first_side(self._training))

    def check(self, chains: list[LiveChain]) -> DiagnosticsTable:
        """Return the table of the samples that the chains have kept so far."""
        return invariant_diagnostics(self, [chain.draws() for chain in chains])
