"""Exact posteriors of tiny networks by quadrature, and many independent copies of them to sample."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import roots_jacobi

from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.model.reference import Globals, pair_likelihood
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.cpu import CpuClosed
from blockmix.samplers.scir.diffusion.strengths import collect_pairs
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.sampler import Scir
from blockmix.tables.layout import Key, Network, Prior, Strengths, empty_rows


def _lists(mask):
    """Offsets and neighbours of a boolean matrix."""
    ends = np.argwhere(mask)
    offsets = np.searchsorted(ends[:, 0], np.arange(len(mask) + 1)).astype(np.int64)
    return offsets, ends[:, 1].astype(np.int32)


@pytest.fixture(scope="session")
def poisoned():
    """A function that fills everything a kernel must set before it reads it with NaN or an absurd number."""

    def poison(scratch):
        for name, array in scratch._asdict().items():
            if name not in ("position", "at_node"):
                array[...] = np.nan if array.dtype.kind == "f" else 10**6
        return scratch

    return poison


@pytest.fixture(scope="session")
def kernel_case(sparse_rows, random_memberships):
    """A function that draws a network, held-out pairs, memberships and strengths on both sides of delta."""

    def build(seed, nodes=12, communities=6, slots=6, most=3, below=True, link=0.35, hide=0.15, alpha=0.2):
        rng = np.random.default_rng(seed)
        upper = np.triu(rng.random((nodes, nodes)) < link, 1)
        hidden = np.triu(rng.random((nodes, nodes)) < hide, 1)
        linked, hidden = upper | upper.T, hidden | hidden.T
        observed = ~(hidden | np.eye(nodes, dtype=bool))
        pi = random_memberships(rng, nodes, communities, most)
        rows = sparse_rows(pi, slots)
        rows.total[:] = rng.uniform(0.5, 9.0, nodes)
        beta = rng.uniform(0.2, 0.95, communities)
        if below:
            beta[-1] = 0.01
        delta = 0.06
        value = np.append(beta, delta)
        return SimpleNamespace(
            pi=pi,
            total=rows.total.astype(np.float64),
            rows=rows,
            adjacency=linked.astype(float),
            observed=observed,
            network=Network(*_lists(linked & observed), *_lists(hidden)),
            strengths=Strengths(value, np.full(communities + 1, 5.0), np.full(communities + 1, 3.0)),
            members=np.stack([pi.sum(axis=0), (pi**2).sum(axis=0)], axis=1),
            prior=Prior(1.0, 1.0, 1.0, 1.0),
            key=Key(np.uint32(11), np.uint32(12), np.uint32(0)),
            g=Globals(beta, delta, alpha),
        )

    return build


def dirichlet_rule(points, alpha):
    """Points and weights of Gauss-Jacobi quadrature with the density of Dirichlet(alpha, alpha) as weight."""
    x, weights = roots_jacobi(points, alpha - 1.0, alpha - 1.0)
    return (x + 1.0) / 2.0, weights / weights.sum()


def posterior_moments(edges, nodes, alpha, beta, delta):
    """E[pi_a1] and E[pi_a1^2] for every node, K = 2, strengths fixed; alpha of all nodes, or of each.

    Gauss-Jacobi quadrature over every pi_a1 with the Dirichlet density as weight. The likelihood is a
    polynomial of degree N - 1 in each: N points are exact.
    """
    beta = np.asarray(beta)
    rules = [dirichlet_rule(nodes, value) for value in np.broadcast_to(alpha, nodes)]
    links = {tuple(sorted(edge)) for edge in edges}
    total, first, second = 0.0, np.zeros(nodes), np.zeros(nodes)
    for chosen in product(*(zip(*rule, strict=True) for rule in rules)):
        x, weights = np.array(chosen).T
        pi = np.stack([x, 1.0 - x], axis=1)
        mass = np.prod(weights)
        for a in range(nodes):
            for b in range(a + 1, nodes):
                mass *= pair_likelihood(int((a, b) in links), pi[a], pi[b], beta, delta)
        total += mass
        first += mass * x
        second += mass * x * x
    return first / total, second / total


def two_points(means):
    """(S5) Points and weights of Gauss's rule for Beta(1, theta) laws with these means (.001 at least), one a row."""
    rules = [roots_jacobi(2, max(1.0 / max(mean, 1e-3) - 2.0, -1.0 + 1e-12), 0.0) for mean in means]
    return np.array([(1.0 + x) / 2.0 for x, _ in rules]), np.array([w / w.sum() for _, w in rules])


def resummed_non_link(mine, other, beta, delta):
    """(G4) T for one non-link and all pairs of values, a factor for every community, by SciPy's rule of two points.

    It is not symmetric: what a non-link says to one end is not quite what it says to the other.
    """
    log = 0.0
    for k, strength in enumerate(beta):
        v, r = (strength - delta) / (1.0 - delta) * mine[:, None, k], other[None, :, k]
        points, weights = two_points(other[:, k])
        log = log + r * sum(w * np.log1p(-v * t) / t for t, w in zip(points.T, weights.T, strict=True))
    return np.exp(log)


def resummed_moments(edges, nodes, alpha, beta, delta, points=40):
    """The same of the chain's own law: a sweep of conditionals with non-links as in (G4), iterated to its fixed point.

    The conditionals of both ends of a non-link belong to no joint density, so there is nothing to integrate.
    """
    rules = [dirichlet_rule(points, value) for value in np.broadcast_to(alpha, nodes)]
    pi = [np.stack([x, 1.0 - x], axis=1) for x, _ in rules]
    linked = {tuple(sorted(edge)) for edge in edges}
    conditionals = []
    for a in range(nodes):
        law = np.expand_dims(rules[a][1], [b for b in range(nodes) if b != a])
        for b in range(nodes):
            if b != a:
                if tuple(sorted((a, b))) in linked:
                    pair = delta + np.einsum("ik,jk,k->ij", pi[a], pi[b], np.asarray(beta) - delta)
                else:
                    pair = resummed_non_link(pi[a], pi[b], beta, delta)
                pair = pair if a < b else pair.T
                law = law * np.expand_dims(pair, [c for c in range(nodes) if c not in (a, b)])
        conditionals.append(law / law.sum(axis=a, keepdims=True))
    law, before = np.full((points,) * nodes, points**-nodes), 0.0
    while np.abs(law - before).max() > 1e-14:
        before = law
        for a, conditional in enumerate(conditionals):
            law = law.sum(axis=a, keepdims=True) * conditional
    marginals = [law.sum(axis=tuple(b for b in range(nodes) if b != a)) for a in range(nodes)]
    moments = [(m @ x, m @ (x * x)) for m, (x, _) in zip(marginals, rules, strict=True)]
    return np.array(moments).T


def copies_of(edges, nodes, copies, weights=None):
    """Disjoint copies of a network with every pair between two of them held out: they are independent.

    Node a of copy c has number c * nodes + a: with as many batches as nodes a copy's nodes move one by one.
    """
    shift = nodes * np.arange(copies)[:, None, None]
    ends, values = (
        (np.array(edges)[None] + shift).reshape(-1, 2),
        None if weights is None else weights * copies,
    )
    graph = Graph.from_edges(ends, nodes=np.arange(nodes * copies), weights=values)
    size = nodes * copies
    own = np.arange(size) // nodes
    hidden = np.argwhere(own[:, None] != own[None, :])
    offsets = np.arange(size + 1, dtype=np.int64) * (size - nodes)
    return HeldOut(
        graph, np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=bool), "none", 0.0, graph.density, 0,
        offsets, hidden[:, 1].astype(graph.neighbors.dtype),
    )  # fmt: skip


class FixedStrengths(Scir):
    """The sampler with the strengths held where they are."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        kernels = self.kernels

        def hold(state, _):
            kernels._refresh_members(state)
            if isinstance(kernels, CpuClosed):
                collect_pairs(kernels.statistics, state.strengths.value, kernels.counts)

        kernels.update_strengths = hold


def even_rows(nodes, communities, slots, total):
    """Every node equally in every community."""
    rows = empty_rows(nodes, slots)
    rows.words[:, : 2 * communities : 2] = np.arange(communities)
    rows.weights[:, 1 : 2 * communities : 2] = 1.0 / communities
    rows.total[:] = total
    return rows


def first_memberships(rows):
    """pi_a1 of every node, wherever community 0 stands in its row."""
    ids, weights = rows.words[:, ::2], rows.weights[:, 1::2]
    used = np.cumprod(ids >= 0, axis=1).astype(bool)
    return np.where(used & (ids == 0), weights, 0.0).sum(axis=1).astype(np.float64)


def sampled_moments(edges, nodes, alpha, beta, delta, options, sweeps, copies, seed=1, burn_in=200):
    """Means over time of pi_a1 and pi_a1^2 in every copy: two arrays of (copies, nodes)."""
    data = copies_of(edges, nodes, copies)
    with Workers(1) as workers:
        model = Model(len(beta), alpha=alpha, background=delta)
        sampler = FixedStrengths(data, model, ScirOptions(batches=nodes, **options), workers)
        value = np.append(beta, delta)
        total = data.training.degrees + len(beta) * model.concentrations(data.training.degrees)
        rows = even_rows(nodes * copies, len(beta), sampler.slots, total)
        state = sampler.start_at(rows, Strengths(value, np.ones_like(value), np.ones_like(value)))
        first, second = np.zeros(nodes * copies), np.zeros(nodes * copies)
        for sweep in range(burn_in + sweeps):
            sampler.step(state, (seed, 2), False)
            if sweep >= burn_in:
                x = first_memberships(state.rows)
                first += x
                second += x * x
    return first.reshape(copies, nodes) / sweeps, second.reshape(copies, nodes) / sweeps


@pytest.fixture(scope="session")
def tiny():
    """The helpers above, for tests to call."""
    return SimpleNamespace(
        posterior_moments=posterior_moments,
        resummed_moments=resummed_moments,
        two_points=two_points,
        copies_of=copies_of,
        sampled_moments=sampled_moments,
        even_rows=even_rows,
        first_memberships=first_memberships,
        FixedStrengths=FixedStrengths,
    )
