"""The likelihood of a hard partition, strengths integrated out: of nodes that are alike, or that differ in degree.

Links inside a part of strength w, with P pairs and L links, have a likelihood whose integral over w is its *evidence*.

- `EqualNodes`: a pair is linked with probability w, uniform on [0, 1]. The evidence is B(1 + L, 1 + P - L).
- `NodesByDegree`: links are Poisson counts with rate w t_a t_b, as in (DC1), with popularities t_a in proportion to the
  degree, one on average, and w exponential. With P the sum of t_a t_b over the pairs inside the evidence is
  L!/(1 + P)^(1 + L), but for factors t_a t_b that every partition has (Karrer and Newman 2011). Under the law of equal
  nodes a group of hubs is a community, and a network of hubs is one part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

from blockmix.graph.graph import Graph
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.counting import PartCounts

Floats = NDArray[np.float64]
# Functions of parts are computed for so many at once, so that what they need stays in the cache.
AT_ONCE = 1 << 14


class PartLaw(Protocol):
    """A law of the links inside parts and between them."""

    @property
    def mean_weight(self) -> float:
        """What a node weighs on average."""

    @property
    def pairs_in_all(self) -> float:
        """The sum of t_a t_b over all pairs of nodes."""

    def evidence_of(self, links: Floats, pairs: Floats) -> Floats:
        """Compute the log probability of links among pairs, their strength integrated out."""

    def at_strength(self, links: Floats, pairs: Floats, strength: float) -> Floats:
        """Compute the log probability of links among pairs at a given strength."""

    def strength_of(self, links: float, pairs: float) -> float:
        """Return a strength that links among pairs speak for; it is never zero."""


@dataclass(frozen=True)
class EqualNodes:
    """Every node weighs one, and a pair is linked or not."""

    pairs_in_all: float
    mean_weight: float = 1.0

    def evidence_of(self, links: Floats, pairs: Floats) -> Floats:
        """Compute log B(1 + L, 1 + P - L)."""
        return np.asarray(betaln(1 + links, 1 + pairs - links))

    def at_strength(self, links: Floats, pairs: Floats, strength: float) -> Floats:
        """Compute L log w + (P - L) log(1 - w)."""
        return np.asarray(links * np.log(strength) + (pairs - links) * np.log1p(-strength))

    def strength_of(self, links: float, pairs: float) -> float:
        """Return the share of linked pairs, one link and one non-link added."""
        return (links + 1) / (pairs + 2)


@dataclass(frozen=True)
class NodesByDegree:
    """A node weighs its degree, and pairs have Poisson numbers of links."""

    pairs_in_all: float
    mean_weight: float

    def evidence_of(self, links: Floats, pairs: Floats) -> Floats:
        """Compute log(L!) - (1 + L) log(1 + P)."""
        return np.asarray(gammaln(1 + links) - (1 + links) * np.log1p(pairs))

    def at_strength(self, links: Floats, pairs: Floats, strength: float) -> Floats:
        """Compute L log w - w P."""
        return np.asarray(links * np.log(strength) - strength * pairs)

    def strength_of(self, links: float, pairs: float) -> float:
        """Return the mean rate, one link and one pair added."""
        return (links + 1) / (pairs + 1)


def weights_by_degree(graph: Graph) -> NDArray[np.signedinteger]:
    """Return what nodes weigh where they differ in degree; an isolated node weighs one, so that no part is empty."""
    kind = np.int32 if len(graph.neighbors) + graph.n_nodes < 2**31 else np.int64
    return np.maximum(graph.degrees, 1).astype(kind)


def law_of(graph: Graph, weights: NDArray[np.signedinteger] | None) -> PartLaw:
    """Return the law of a network whose nodes have these weights; without weights all are alike."""
    if weights is None:
        return EqualNodes(float(graph.n_pairs))
    wide = weights.astype(np.float64)
    mean = float(wide.mean())
    return NodesByDegree(float((wide.sum() ** 2 - (wide * wide).sum()) / (2 * mean * mean)), mean)


def pairs_inside(law: PartLaw, counts: PartCounts) -> Floats:
    """Compute the sum of t_a t_b over the pairs inside every part: half of (sum t_a)^2 - sum t_a^2."""
    weight = counts.weight.astype(np.float64)
    return np.asarray((weight * weight - counts.squares) / (2 * law.mean_weight * law.mean_weight))


def log_evidence(law: PartLaw, counts: PartCounts, workers: Workers) -> Floats:
    """Compute the evidence of every part."""

    def evidence(begin: int, end: int) -> Floats:
        some = counts.those(slice(begin, end))
        return law.evidence_of(some.inside.astype(np.float64), pairs_inside(law, some))

    return _piecewise(len(counts.nodes), evidence, workers)


def _piecewise(count: int, values: Callable[[int, int], Floats], workers: Workers) -> Floats:
    """Return the values of [0, count), computed on all workers in pieces small enough for the cache."""
    found = np.empty(count)

    def task(_: int, begin: int, end: int) -> None:
        for first in range(begin, end, AT_ONCE):
            last = min(first + AT_ONCE, end)
            found[first:last] = values(first, last)

    workers.share(count, task)
    return found


def integrated_likelihood(
    law: PartLaw, links: int, counts: PartCounts, communities: int, workers: Workers
) -> float:
    """Compute log p(links, parts), the evidence of all parts and of what is between them, and the prior of the parts.

    `links` are those of the network; of the `communities` that are allowed those without a part are empty.
    """
    total = float(log_evidence(law, counts, workers).sum())
    total += float(law.evidence_of(*between(law, links, counts)))
    alpha, nodes = 1.0 / communities, counts.nodes
    shares = _piecewise(len(nodes), lambda a, b: gammaln(nodes[a:b] + alpha) - gammaln(alpha), workers)
    return total + float(shares.sum())


def between(law: PartLaw, links: int, counts: PartCounts) -> tuple[Floats, Floats]:
    """Return the links and the pairs between parts."""
    pairs = max(law.pairs_in_all - float(pairs_inside(law, counts).sum()), 0.0)
    return np.float64(links - int(counts.inside.sum())), np.float64(pairs)  # type: ignore[return-value]


def background_of(law: PartLaw, links: int, counts: PartCounts) -> float:
    """Return the strength that the links between parts speak for."""
    return law.strength_of(*map(float, between(law, links, counts)))
