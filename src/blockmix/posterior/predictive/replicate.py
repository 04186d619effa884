"""Links drawn anew from a posterior sample, for some nodes of a network: all their links, with their exact joint law.

Given the parameters, links are those pairs that a Poisson process has a point at: one process for each community and
one for the background, (D2) and (D3). A node a has Poisson many points in community k, of mean rate_k theta_ak sum_b
theta_bk, and the other end of each is drawn in proportion to theta_bk. If both ends are among the chosen nodes, the
pair is drawn from each of them, and only the draw of the smaller one counts. In a network of two sides points within a
side do not count. In the assortative model points are then
thinned to the probability (M1). The time is that of the links of the chosen nodes, and the parameters are prepared
once for all draws.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.generators.draw import CommunityCandidates, thin
from blockmix.generators.popular import with_popularity
from blockmix.graph.sides.sides import Sides
from blockmix.tables.samples import PosteriorSample

# Samples with a rest list it for every community here: more entries than this would not fit.
_MOST_ENTRIES = 50_000_000
# The rate of a strength of one would be infinite.
_LARGEST_STRENGTH = 1.0 - 1e-9


class Ego(NamedTuple):
    """All links of some nodes: link i joins owner[i], one of them, with other[i]; of two of them it is listed twice."""

    owner: NDArray[np.int64]
    other: NDArray[np.int64]


def sample_memberships(sample: PosteriorSample, communities: int) -> Any:
    """Return the memberships of a posterior sample as a scipy CSR matrix whose rows sum to one."""
    import scipy.sparse as sp

    packed, nodes = sample.packed(), len(sample.counts)
    weights = np.asarray(packed.weights, dtype=np.float64)
    indices = np.asarray(packed.communities, dtype=np.int32)
    matrix = sp.csr_matrix((weights, indices, packed.offsets), shape=(nodes, communities))
    if sample.rest is not None:
        if nodes * communities > _MOST_ENTRIES:
            raise InputError(
                f"the samples of this sampler list all {communities:,} communities of {nodes:,} nodes, too many to "
                "draw networks from; fit with sampler='scir'"
            )
        spread = sample.rest / np.maximum(communities - np.asarray(sample.counts, dtype=np.int64), 1)
        matrix = sp.csr_matrix(matrix + (matrix.toarray() == 0) * spread[:, None])
    matrix = sp.csr_matrix(sp.diags_array(1.0 / np.asarray(matrix.sum(axis=1)).ravel()) @ matrix)
    matrix.sort_indices()
    return matrix


class Replicator:
    """Draw the links of some nodes from one posterior sample, as often as asked."""

    def __init__(
        self, sample: PosteriorSample, chosen: NDArray[np.int64], sides: Sides | None = None
    ) -> None:
        self.sides = sides
        strengths = sample.strengths.astype(np.float64)
        if strengths.ndim == 2:
            raise InputError(
                "networks cannot be drawn from the general model; predictive checks need another"
            )
        self.chosen, self.nodes = chosen, len(sample.counts)
        self.memberships = sample_memberships(sample, len(strengths) - 1)
        self.popular = sample.popularity is not None
        if sample.popularity is not None:
            theta, rates = with_popularity(self.memberships, sample.popularity.astype(np.float64)), strengths
        else:
            self.strengths = np.minimum(strengths[:-1], _LARGEST_STRENGTH)
            self.background = min(float(strengths[-1]), _LARGEST_STRENGTH)
            floor = -np.log1p(-self.background)
            # The background is one more process, in which all nodes take part alike.
            theta = with_popularity(self.memberships, np.ones(self.nodes))
            rates = np.append(np.maximum(-np.log1p(-self.strengths) - floor, 0.0), floor)
        self.rates, self.candidates = rates, CommunityCandidates(theta, rates)
        self.rows = theta[chosen]
        self.rows.sum_duplicates()
        self.means = self.rows.data * (rates * self.candidates.mass)[self.rows.indices]

    def draw(self, rng: np.random.Generator) -> Ego:
        """Draw all links of the chosen nodes."""
        counts = rng.poisson(self.means)
        owner = np.repeat(np.repeat(self.chosen, np.diff(self.rows.indptr)), counts)
        other = self.candidates.one_end(rng, np.repeat(self.rows.indices, counts)).astype(np.int64)
        is_chosen = np.zeros(self.nodes, dtype=bool)
        is_chosen[self.chosen] = True
        keep = (owner != other) & (~is_chosen[other] | (owner < other))
        if self.sides is not None:
            keep &= self.sides.joins(np.column_stack((owner, other)))
        owner, other = owner[keep], other[keep]
        if not self.popular:
            kept = self._thinned(owner, other, rng)
            owner, other = owner[kept], other[kept]
        # A pair with several points is one link.
        key = np.unique(owner * self.nodes + other)
        owner, other = key // self.nodes, key % self.nodes
        both = is_chosen[other]
        return Ego(np.concatenate((owner, other[both])), np.concatenate((other, owner[both])))

    def _thinned(
        self, owner: NDArray[np.int64], other: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Choose which points of the assortative model are kept (D2)."""
        table = (self.memberships.indptr, self.memberships.indices, self.memberships.data)
        uniforms = rng.random(len(owner))
        return np.asarray(
            thin(table, self.strengths, self.rates[:-1], self.background, owner, other, uniforms)
        )


def observed_ego(offsets: NDArray[np.int64], neighbors: NDArray[Any], chosen: NDArray[np.int64]) -> Ego:
    """Return all links of some nodes of a network, from its rows."""
    counts = np.diff(offsets)[chosen]
    begins = np.cumsum(counts) - counts
    place = np.arange(int(counts.sum())) + np.repeat(offsets[chosen] - begins, counts)
    return Ego(np.repeat(chosen, counts).astype(np.int64), neighbors[place].astype(np.int64))
