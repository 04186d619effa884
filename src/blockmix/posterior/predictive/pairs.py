"""What a result predicts: the probability of a link between any two nodes, and how held-out pairs were predicted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.evaluate import CalibrationTable, DegreeCalibration, Scores, calibration, calibration_by_degree
from blockmix.evaluate.null_models import NullComparison, compare_with_null
from blockmix.graph.labels import Label
from blockmix.graph.query import checked_pairs
from blockmix.graph.sides.sides import check_across, first_side, node_pairs
from blockmix.tables.popular import PopularPredictor
from blockmix.tables.predictor import Predictor

if TYPE_CHECKING:
    from blockmix.posterior.posterior import HeldOutPairs, Posterior


class Predictions:
    """Link probabilities as methods of `Posterior`, with the scores and the calibration of those of held-out pairs."""

    @property
    def _post(self) -> Posterior:
        return cast("Posterior", self)

    def link_probability(self, pairs: Iterable[Sequence[Label]] | NDArray[Any]) -> NDArray[np.float64]:
        """Return the probability that each pair of labels is linked, averaged over the samples kept of every chain.

        Chains count by `chain_weights`. In a directed network the pair (a, b) is the link from a to b, in one of two
        kinds of nodes the first label is of the first kind.
        """
        listed = pairs if isinstance(pairs, np.ndarray) else list(pairs)
        if len(listed) == 0:
            return np.zeros(0)
        if any(isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2 for pair in listed):
            raise InputError("link_probability takes pairs of node labels, two to a pair")
        return self.node_link_probability(node_pairs(self._post.graph, listed))

    def node_link_probability(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the same as `link_probability` for node numbers, an array of shape (n, 2)."""
        pairs = checked_pairs(pairs, self._post.graph.n_nodes)
        same = pairs[:, 0] == pairs[:, 1]
        if same.any():
            label = self._post.graph.labels[int(pairs[int(np.argmax(same)), 0])]
            raise InputError(f"a node has no link to itself: the pair ({label}, {label}) cannot be predicted")
        check_across(self._post.graph, pairs)
        if not all(self._post.draws) or not self._post.draws:
            raise InputError("this run kept no samples: it was stopped during warm-up; fit for longer")
        total = np.zeros(len(pairs))
        for weight, chain in zip(self._post.chain_weights, self._post.draws, strict=True):
            if weight > 0.0:
                mean = np.zeros(len(pairs))
                for sample in chain:
                    self.predictor.add_sample(sample, pairs, mean)
                total += weight / len(chain) * mean
        return total

    @cached_property
    def predictor(self) -> Predictor:
        """The predictor of this network: nodes isolated in training have one prediction in common."""
        return (
            Predictor(self.unlinked)
            if self._post.popularity_mean is None
            else PopularPredictor(self.unlinked, first=first_side(self._post.graph))
        )

    @cached_property
    def unlinked(self) -> NDArray[np.bool_]:
        """Nodes isolated in training: without links, or with all of them held out.

        They have the same posterior, so that predictions average over all of them (`blockmix.tables.predictor`).
        """
        return np.asarray(self.training_degrees <= 0)

    @property
    def training_degrees(self) -> NDArray[np.int64]:
        """Number of links of every node without those that were held out."""
        degrees = self._post.graph.degrees.copy()
        if self._post.held_out is not None:
            np.subtract.at(degrees, self._post.held_out.pairs[self._post.held_out.links].ravel(), 1)
        return np.maximum(degrees, 0)

    @property
    def scores(self) -> Scores | None:
        """Scores on the held-out pairs, averaged over all samples; None when nothing was held out."""
        return None if self._post.held_out is None else self._post.held_out.scores

    @property
    def perplexity(self) -> float:
        """Perplexity (M4) on the held-out pairs; NaN when nothing was held out."""
        return float("nan") if self.scores is None else self.scores.perplexity

    def calibration(self, bins: int = 10) -> CalibrationTable:
        """Compare predicted with observed link frequencies on the held-out pairs, reweighted to the network."""
        held_out = self._needs_held_out()
        return calibration(held_out.probability, held_out.links, held_out.density, bins)

    def calibration_by_degree(self) -> DegreeCalibration:
        """Compare links observed with links predicted by the training degrees of both nodes, on the held-out pairs.

        A ratio of 3 means that there are three times as many links as predicted between nodes of these degrees (M16).
        """
        held_out, degrees = self._needs_held_out(), self.training_degrees
        return calibration_by_degree(
            held_out.probability,
            held_out.links,
            degrees[held_out.pairs],
            held_out.density,
            all_degrees=degrees,
        )

    def _needs_held_out(self) -> HeldOutPairs:
        if self._post.held_out is None:
            raise InputError(
                "nothing was held out in this run; fit with held_out=0.05 to see the calibration"
            )
        return self._post.held_out

    @cached_property
    def null(self) -> NullComparison | None:
        """The held-out log loss beside that of the density and of the degrees alone; None if nothing was held out."""
        held_out = self._post.held_out
        if held_out is None or not 0 < np.count_nonzero(held_out.links) < len(held_out.links):
            return None
        return compare_with_null(
            held_out.probability, held_out.pairs, held_out.links, self.training_degrees, held_out.density,
            first_side(self._post.graph),
        )  # fmt: skip
