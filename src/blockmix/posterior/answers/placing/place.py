"""Where new nodes belong, from their links to known ones, without a new fit.

Everything else stays at its posterior mean, and the posterior of the memberships pi of a new node is sampled
(`chain`). In all models the probability of a link to node b, or its rate, is linear in pi,

    p_b = sum_k pi_k g_bk,   g_bk = background + pi_bk (strength_k - background)   (M1),
                             g_bk = sum_l B_kl pi_bl                               (M9),
    rate_b = r sum_k pi_k f_bk,   f_bk = r_b (eps + w_k pi_bk)                     (DC3).

Non-links are summed over all nodes at once. Rates need sum_b f_bk alone. Of probabilities log(1 - p_b) is close to
-p_b - p_b^2/2, so that the sums of g_bk and g_bk g_bl suffice; nodes with a g_bk above `NEAR` are counted exactly. The
sums over all nodes are made once, and the linked ones are subtracted. In the models with a strength for each community
only those of the neighbours can explain a link better than the background: all others are one community together,
"elsewhere", with their alphas and the mean of their non-links.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.posterior.answers.of_links import link_rate, link_weights, strength_matrix
from blockmix.posterior.answers.placing.chain import MOST_UNITS, Evidence, Scratch, place_node
from blockmix.posterior.answers.shares import refuse_sides
from blockmix.posterior.answers.table import Answer

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

Values = NDArray[np.float64]

CHAINS, WARM_UP, DRAWS = 16, 50, 4000
# Terms beyond the square of a non-link below this are less than 0.0004; of those above at most so many are exact.
NEAR, MOST_NEAR = 0.1, 2000
# Choices of a community that one node may take, some seconds; a node with more of them has fewer draws.
_MOST_WORK, _FEWEST_DRAWS = 3e9, 400
LEAST_MEAN = 1e-2


class _Candidates(NamedTuple):
    """The communities a new node may be in, its linked nodes, whether "elsewhere" is the last candidate."""

    used: NDArray[np.int64]
    nodes: NDArray[np.int64]
    elsewhere: bool


class _Placing:
    """What all new nodes share: g or f of every known node without its base, sums over all nodes, priors."""

    def __init__(self, post: Posterior) -> None:
        self.post = post
        self.nodes = post.graph.n_nodes
        self.general, self.popular = post.blocks_mean is not None, post.popularity_mean is not None
        # Of the general model B pi_b, of the others the part above the background.
        self.slopes = sp.csr_array(link_weights(post) @ strength_matrix(post).T)
        self.sums = np.asarray(self.slopes.sum(axis=0)).ravel()
        self.base = np.full(self.nodes, 0.0 if self.general else post.background_mean)
        if post.popularity_mean is not None:
            self.base = link_rate(post.background_mean) * post.popularity_mean.astype(np.float64)
        self.alpha = _alpha(post)
        self.rho = _rho(post) if self.popular else float("nan")

    @cached_property
    def products(self) -> sp.csr_array:
        """The sums over all nodes of the products of two slopes."""
        return sp.csr_array(self.slopes.T @ self.slopes)

    @cached_property
    def columns(self) -> sp.csc_array:
        """The slopes, community by community."""
        return sp.csc_array(self.slopes)

    def candidates(self, nodes: NDArray[np.int64]) -> _Candidates:
        """Return the communities in which a node with these links may be."""
        count = self.post.n_communities
        used = np.arange(count) if self.general else np.unique(self.slopes[nodes].indices)
        return _Candidates(used.astype(np.int64), nodes, len(used) < count)

    def rows(self, chosen: _Candidates, nodes: NDArray[np.int64]) -> Values:
        """Return g or f of these nodes, in the candidate communities."""
        found = np.asarray(self.slopes[nodes][:, chosen.used].todense(), dtype=np.float64)
        if chosen.elsewhere:
            found = np.column_stack((found, np.zeros(len(nodes))))
        return np.asarray(found + self.base[nodes][:, None])

    def total(self, chosen: _Candidates) -> Values:
        """Return the sums of g or f over all nodes, "elsewhere" with the mean of the other communities."""
        found = self.sums[chosen.used]
        if chosen.elsewhere:
            others = self.post.n_communities - len(chosen.used)
            found = np.append(found, max(self.sums.sum() - found.sum(), 0.0) / others)
        return np.asarray(found + self.base.sum())

    def prior(self, chosen: _Candidates) -> Values:
        """Return the alphas of the candidates."""
        found = np.full(len(chosen.used), self.alpha)
        others = self.post.n_communities - len(chosen.used)
        return np.append(found, self.alpha * others) if chosen.elsewhere else found

    def squares(self, chosen: _Candidates) -> Values:
        """Return the sums of g_bk g_bl over all nodes; of "elsewhere" with the base alone."""
        found = np.asarray(self.products[chosen.used][:, chosen.used].todense(), dtype=np.float64)
        slopes = self.sums[chosen.used]
        if chosen.elsewhere:
            found, slopes = np.pad(found, (0, 1)), np.append(slopes, 0.0)
        base = self.base[0] if self.nodes else 0.0
        return np.asarray(found + base * (slopes[:, None] + slopes) + self.nodes * base**2)

    def evidence(self, nodes: NDArray[np.int64]) -> tuple[Evidence, _Candidates]:
        """Return what links to these nodes, and none to all others, say."""
        chosen = self.candidates(nodes)
        links, alpha, total = self.rows(chosen, nodes), self.prior(chosen), self.total(chosen)
        none = np.empty((0, len(alpha)))
        if self.popular:
            return Evidence(links, alpha, self.rho + total, np.zeros(0), np.zeros((0, 0)), none), chosen
        near = self.rows(chosen, self._near(chosen))
        linear = np.maximum(total - links.sum(axis=0) - near.sum(axis=0), 0.0)
        quadratic = self.squares(chosen) - links.T @ links - near.T @ near
        # All non-links at their first order: (1 + x/s)^-s is close to e^-x.
        scales = 1.0 + (total - links.sum(axis=0)) / (alpha.sum() + len(links))
        return Evidence(links, alpha, np.maximum(scales, 1e-3), linear, quadratic, near), chosen

    def _near(self, chosen: _Candidates) -> NDArray[np.int64]:
        """Return the nodes without a link whose part of the likelihood is computed exactly: those above `NEAR`."""
        slopes = self.columns[:, chosen.used]
        large = slopes.data + self.base[slopes.indices] > NEAR
        nodes = np.setdiff1d(slopes.indices[large], chosen.nodes).astype(np.int64)
        if len(nodes) > MOST_NEAR:
            largest = self.slopes[nodes][:, chosen.used].max(axis=1).toarray().ravel()
            nodes = nodes[np.argsort(-largest, kind="stable")[:MOST_NEAR]]
        return nodes


def transform(post: Posterior, links: Any, seed: int) -> Answer:
    """See `Posterior.transform`."""
    refuse_sides(post, "the place of a new node")
    listed = links.items() if isinstance(links, Mapping) else [("new", links)]
    placing, rng = _Placing(post), np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {"node": [], "community": [], "share": [], "sd": []}
    if placing.popular:
        columns |= {"popularity": [], "popularity_sd": []}
    for name, neighbours in listed:
        evidence, chosen = placing.evidence(_neighbours(post, name, neighbours))
        draws = _draws(evidence, placing.rho, rng)
        mean, sd = draws.mean(axis=0), draws.std(axis=0)
        order = np.argsort(-mean[: len(chosen.used)], kind="stable")
        for i in order[mean[order] >= LEAST_MEAN].tolist():
            row = [name, int(chosen.used[i]), float(mean[i]), float(sd[i]), float(mean[-1]), float(sd[-1])]
            for column, value in zip(columns.values(), row, strict=False):
                column.append(value)
    return Answer(columns)


def _draws(evidence: Evidence, rho: float, rng: np.random.Generator) -> Values:
    """Return samples of the memberships, and of the popularity in the last column, from several chains."""
    links, count = evidence.links.shape
    work = (WARM_UP * CHAINS + DRAWS) * count * (2.0 * links + len(evidence.near) + count)
    each = max(int(DRAWS * min(1.0, _MOST_WORK / work)), _FEWEST_DRAWS) // CHAINS
    draws = np.empty((CHAINS, each, count + 1))
    most = links if np.isnan(rho) else links * MOST_UNITS
    pi, proposed, counts, weights = np.zeros((4, count))
    scratch = Scratch(pi, proposed, counts, weights, np.zeros((most, 2), dtype=np.int64))
    for chain in draws:
        place_node(evidence, scratch, rho, WARM_UP, chain, rng)
    return draws.reshape(-1, count + 1)


def _alpha(post: Posterior) -> float:
    if post.concentration is not None:
        return post.concentration.mean / post.n_communities
    prior = post.provenance.get("model")
    value = prior.get("alpha") if isinstance(prior, Mapping) else None
    return float(value) if isinstance(value, int | float) and value > 0 else 0.3 / post.n_communities


def _rho(post: Posterior) -> float:
    """Return the shape of the prior of popularities (DC2): from the trace, or else from the popularities themselves."""
    spread = post.trace.get("spread")
    if spread is not None:
        sampled = np.asarray(spread, dtype=np.float64)[~np.asarray(post.trace["warm_up"], dtype=bool)]
        sampled = sampled[np.isfinite(sampled) & (sampled > 0)]
        if len(sampled):
            return float(1.0 / np.mean(sampled) ** 2)
    values = np.asarray(post.popularity_mean, dtype=np.float64)
    return float(values.mean() ** 2 / max(values.var(), 1e-6))


def _neighbours(post: Posterior, name: Any, neighbours: Any) -> NDArray[np.int64]:
    if isinstance(neighbours, str) or not isinstance(neighbours, Iterable):
        raise InputError(f"the links of {name!r:.40} must be a list of labels of known nodes")
    nodes = np.unique(post.graph.labels.indices(list(neighbours)))
    nodes = nodes[np.diff(post.offsets)[nodes] > 0]
    if not len(nodes):
        raise InputError(
            f"{name!r:.40} has no link to a node with known memberships: nothing says where it belongs"
        )
    return nodes
