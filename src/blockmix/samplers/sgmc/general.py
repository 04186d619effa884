"""`sgmc` for the general model: a full symmetric K x K matrix of strengths, equations (B1) to (B3).

Everything but the strengths is that of the assortative model. A mini-batch costs O(n K + K^2) a node, so that K up
to a few hundred is practical.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.langevin.dynamics import StrengthState
from blockmix.samplers.langevin.strengths import theta_at
from blockmix.samplers.sgmc.options import SgmcOptions
from blockmix.samplers.sgmc.sampler import Sgmc, SgmcState
from blockmix.samplers.starts.profiles import find_profiles


class BlockSgmc(Sgmc):
    """The sampler of the general model bound to a network: any pattern of links between groups can be found.

    There is no background: a sweep reports the smallest strength in its place. With start="partition" nodes
    that link to the same others begin together, whether or not they are linked among themselves.
    """

    def __init__(self, data: HeldOut, model: Model, options: SgmcOptions, workers: Workers) -> None:
        if options.non_links_of == "network":
            raise InputError(
                'non_links_of="network", which form="paper" includes, is for the assortative model that the paper '
                'samples; leave it out, or set non_links_of="node"'
            )
        super().__init__(data, model, options, workers)
        self.how = self.how._replace(learn_background=False)

    def _parts(self, rng: np.random.Generator) -> NDArray[np.int64]:
        return find_profiles(self.graph, self.communities, rng)

    def _strengths_of(self, parts: NDArray[np.int64]) -> StrengthState:
        """Return strengths at the density of links between each two parts."""
        k = self.communities
        ends = parts[self.graph.edges()]
        links = np.zeros((k, k))
        np.add.at(links, (ends[:, 0], ends[:, 1]), 1.0)
        links = links + links.T - np.diag(np.diag(links))
        sizes = np.bincount(parts, minlength=k).astype(np.float64)
        pairs = np.outer(sizes, sizes) - np.diag(sizes * (sizes + 1) / 2)
        return self.strengths_at((links + 1.0) / (np.maximum(pairs, links) + 2.0), pairs)

    def _random_strengths(self, rng: np.random.Generator) -> StrengthState:
        """Draw strengths of the size of the density, each its own multiple, which breaks the symmetry."""
        k = self.communities
        density = max(self.graph.density, 1.0 / max(self.graph.n_pairs, 1))
        value = np.minimum(density * rng.exponential(size=(k, k)), 0.9)
        pairs = np.full((k, k), 2.0 * self.graph.n_pairs / k**2)
        return self.strengths_at(np.triu(value) + np.triu(value, 1).T, pairs)

    def strengths_at(self, value: NDArray[np.float64], pairs: NDArray[np.float64]) -> StrengthState:
        """Return a symmetric matrix of strengths; the expansions M of (S1) begin at `pairs`."""
        prior = np.tile(np.array(self.model.eta[::-1], dtype=np.float64), (value.size, 1))
        expansion = pairs.ravel() * self.how.expand
        return theta_at(value.ravel(), expansion, prior, np.zeros(1), np.array(value, dtype=np.float64))

    def strengths(self, state: SgmcState) -> NDArray[np.float64]:
        """Return the K x K matrix of strengths."""
        return state.strengths.blocks

    def _background(self, state: SgmcState) -> float:
        return float(state.strengths.blocks.min())
