"""The quantities by which chains are compared, as arrays of chains x samples.

Most of them do not depend on how communities are numbered, and only these decide whether chains agree: scalars, link
probabilities of held-out and of sampled pairs, co-memberships sum_k pi_ak pi_bk of sampled pairs, and sizes and
strengths in decreasing order. Strengths and memberships of numbered communities, after the communities of the chains
were matched, stand beside them: a matching can be wrong, and chains that agree can then seem to differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from blockmix.evaluate.likelihood import training_pairs
from blockmix.tables.samples import PosteriorSample

if TYPE_CHECKING:
    from blockmix.graph.graph import Graph
    from blockmix.posterior.posterior import Posterior
    from blockmix.tables.predictor import Predictor

Samples = list[list[PosteriorSample]]

# Held-out pairs whose log loss is averaged, and those of them, half links, whose probability is followed singly.
MOST_SCORED, MOST_HELD_OUT = 2000, 60
# Sampled pairs: so many links, and so many pairs of nodes with a common neighbour. The draw is the same for every run.
SAMPLED_LINKS, SAMPLED_NEAR, SEED = 40, 40, 18
MOST_COMMUNITIES, MOST_NODES = 30, 30
# Communities of fewer expected members are mostly prior, and differ between chains.
LEAST_SIZE = 2.0

# Kinds, with the words for several of them; those of `MATCHED` depend on how communities are numbered.
KINDS = {
    "scalar": "scalars",
    "held-out pair": "link probabilities of held-out pairs",
    "sampled pair": "link probabilities of sampled pairs",
    "co-membership": "co-memberships",
    "sorted size": "sizes",
    "sorted strength": "strengths",
    "popularity": "popularities",
    "matched strength": "strengths of matched communities",
    "matched membership": "memberships in matched communities",
}
MATCHED = ("matched strength", "matched membership")


class Quantity(NamedTuple):
    """What is followed: its name, its kind (`KINDS`), and its values, chains x samples."""

    name: str
    kind: str
    values: NDArray[np.float64]


class Followed(Protocol):
    """What the quantities are computed from: a posterior, or a run that has not ended."""

    @property
    def graph(self) -> Graph:
        """The network."""

    @property
    def held_out(self) -> Split | None:
        """The held-out pairs, if there are any."""

    @property
    def predictor(self) -> Predictor:
        """The predictor of this network."""

    @property
    def n_communities(self) -> int:
        """Number of communities K."""


class Split(Protocol):
    """Held-out pairs, and which of them are links."""

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Node numbers, two a row."""

    @property
    def links(self) -> NDArray[np.bool_]:
        """Which pairs are links."""


def quantities(post: Posterior, samples: Samples) -> Iterator[Quantity]:
    """Yield all quantities of a posterior; `samples` has those of every chain at common sweeps."""
    if not samples or not samples[0]:
        return
    yield from invariant_quantities(post, samples)
    yield from _matched_strengths(post, samples)
    yield from _matched_memberships(post, samples)


def invariant_quantities(post: Followed, samples: Samples) -> Iterator[Quantity]:
    """Yield the quantities that do not depend on how communities are numbered."""
    if samples[0][0].strengths.ndim == 1:
        values = [[sample.probabilities[-1] for sample in chain] for chain in samples]
        yield Quantity("background", "scalar", np.array(values, dtype=np.float64))
    yield from _pairs(post, samples)
    yield from _sorted(post, samples)
    yield from _popularities(post, samples)


def _pairs(post: Followed, samples: Samples) -> Iterator[Quantity]:
    """Yield log likelihood and log losses, link probabilities of held-out and sampled pairs, and co-memberships."""
    scored, links, chosen = _held_out(post)
    sampled, seen = sampled_pairs(post.graph), training_pairs(post.graph, _all_held_out(post))
    ends = np.cumsum([len(scored), len(sampled)])
    pairs = np.ascontiguousarray(np.concatenate([scored, sampled, seen.pairs]))
    shape = (len(samples), len(samples[0]))
    probability, together = np.zeros((*shape, ends[-1])), np.zeros((*shape, len(sampled)))
    likelihood = np.zeros(shape)
    for place in np.ndindex(shape):
        sample, found = samples[place[0]][place[1]], np.zeros(len(pairs))
        post.predictor.add_sample(sample, pairs, found)
        probability[place], likelihood[place] = found[: ends[-1]], seen.log_likelihood(found[ends[-1] :])
        post.predictor.add_sample(_co_membership(sample), sampled, together[place])
    of_scored, of_sampled = np.split(probability, ends[:1], axis=-1)
    if len(seen.pairs):
        name = "log likelihood" if seen.complete else f"log likelihood, from {len(seen.pairs):,} pairs"
        yield Quantity(name, "scalar", likelihood)
    if len(scored):
        yield Quantity("held-out log loss", "scalar", _log_loss(of_scored, links))
    if len(sampled):
        losses = _log_loss(of_sampled, post.graph.has_edges(sampled))
        yield Quantity("log loss of sampled pairs", "scalar", losses)
    for i in chosen:
        yield Quantity(f"link {_names(post, scored[i])}", "held-out pair", of_scored[..., i])
    for i, pair in enumerate(sampled):
        yield Quantity(f"link {_names(post, pair)}", "sampled pair", of_sampled[..., i])
    for i, pair in enumerate(sampled):
        yield Quantity(f"co-membership {_names(post, pair)}", "co-membership", together[..., i])


def _log_loss(probability: NDArray[np.float64], links: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Compute the mean log loss of the pairs, which are the last axis."""
    right = np.where(links, probability, 1.0 - probability)
    return np.asarray(-np.log(np.maximum(right, 1e-300)).mean(axis=-1))


def _names(post: Followed, pair: NDArray[np.int64]) -> str:
    return " - ".join(str(post.graph.labels[int(node)]) for node in pair)


def _held_out(post: Followed) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Return held-out pairs for the log loss, whether they are links, and which of them are followed singly."""
    held_out = post.held_out
    if held_out is None:
        return np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=bool), np.empty(0, dtype=np.int64)
    pick = _spread(np.arange(len(held_out.links)), MOST_SCORED)
    links = held_out.links[pick]
    halves = [_spread(np.flatnonzero(links == kind), MOST_HELD_OUT // 2) for kind in (True, False)]
    return held_out.pairs[pick], links, np.concatenate(halves)


def _all_held_out(post: Followed) -> NDArray[np.int64]:
    return np.empty((0, 2), dtype=np.int64) if post.held_out is None else post.held_out.pairs


def _spread(numbers: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return at most so many of the numbers, evenly spread over all."""
    return numbers[np.linspace(0, len(numbers) - 1, min(len(numbers), most)).astype(np.int64)]


def sampled_pairs(graph: Graph) -> NDArray[np.int64]:
    """Draw pairs of nodes: links, and the two ends of paths of two links. The same pairs for the same network.

    Both ends of a uniform pair are rarely in one community, so that most of them would only repeat the background.
    """
    if not graph.n_edges:
        return np.empty((0, 2), dtype=np.int64)
    # The neighbour of a node has a neighbour.
    graph.check_links()
    rng = np.random.default_rng(SEED)
    degrees = np.diff(graph.offsets)
    at = rng.integers(0, len(graph.neighbors), SAMPLED_LINKS + SAMPLED_NEAR)
    first = np.searchsorted(graph.offsets, at, side="right") - 1
    second = graph.neighbors[at].astype(np.int64)
    step = np.floor(rng.random(len(at)) * degrees[second]).astype(np.int64)
    third = graph.neighbors[graph.offsets[second] + step].astype(np.int64)
    other = np.where(np.arange(len(at)) < SAMPLED_LINKS, second, third)
    pairs = np.stack([np.minimum(first, other), np.maximum(first, other)], axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if graph.sides is not None:
        # The ends of a path of two links are on one side.
        pairs = pairs[graph.sides.joins(pairs)]
    return np.ascontiguousarray(np.unique(pairs, axis=0))


def _co_membership(sample: PosteriorSample) -> PosteriorSample:
    """Return the sample with strengths one and background zero: (M1) is then sum_k pi_ak pi_bk."""
    unit = np.ones(len(sample.strengths), dtype=np.float32)
    if sample.strengths.ndim == 2:
        return replace(sample, strengths=np.diag(unit))
    unit[-1] = 0.0
    return replace(sample, strengths=unit, popularity=None)


def _sorted(post: Followed, samples: Samples) -> Iterator[Quantity]:
    """Yield the largest sizes, and the largest strengths of communities that have members, sample by sample."""
    sizes = np.array([[expected_sizes(sample, post.n_communities) for sample in chain] for chain in samples])
    strengths = np.array([[own_strengths(sample) for sample in chain] for chain in samples])
    used = sizes >= LEAST_SIZE
    descending = -np.sort(-sizes, axis=-1)[..., :MOST_COMMUNITIES]
    for i in range(int((descending.mean(axis=(0, 1)) >= LEAST_SIZE).sum())):
        yield Quantity(f"size {i + 1}, sorted", "sorted size", descending[..., i])
    descending = -np.sort(np.where(used, -strengths, 0.0), axis=-1)
    for i in range(min(int(used.sum(axis=-1).min()), MOST_COMMUNITIES)):
        yield Quantity(f"strength {i + 1}, sorted", "sorted strength", descending[..., i])


def _popularities(post: Followed, samples: Samples) -> Iterator[Quantity]:
    """Yield the logarithms of popularities of nodes evenly spread over those with links."""
    if samples[0][0].popularity is None:
        return
    nodes = _spread(np.flatnonzero(~post.predictor.isolated), MOST_NODES)
    values = np.array([[sample.popularity[nodes] for sample in chain] for chain in samples])  # type: ignore[index]
    for i, node in enumerate(nodes):
        name = f"log popularity of {post.graph.labels[int(node)]}"
        yield Quantity(name, "popularity", np.log(np.maximum(values[..., i], 1e-30)).astype(np.float64))


def expected_sizes(sample: PosteriorSample, communities: int) -> NDArray[np.float64]:
    """Compute the expected number of members of every community."""
    packed, nodes = sample.packed(), len(sample.counts)
    node = np.repeat(np.arange(nodes), sample.counts)
    totals = np.bincount(node, packed.weights, nodes)
    each = np.zeros(nodes)
    if sample.rest is not None:
        others = communities - sample.counts.astype(np.int64)
        rest = np.where(others > 0, sample.rest, 0)
        totals += rest
        each = rest / np.maximum(others, 1) / totals
    shares = packed.weights / totals[node] - each[node]
    return np.asarray(np.bincount(packed.communities, shares, communities) + each.sum())


def own_strengths(sample: PosteriorSample) -> NDArray[np.float64]:
    """Return the strengths within communities, without the background."""
    within = np.diag(sample.strengths) if sample.strengths.ndim == 2 else sample.probabilities[:-1]
    return np.asarray(within, dtype=np.float64)


def _matched_strengths(post: Posterior, samples: Samples) -> Iterator[Quantity]:
    """Yield the strengths of the largest communities, in the numbers of the posterior."""
    for k in range(min(post.n_communities, MOST_COMMUNITIES)):
        if post.sizes[k] < LEAST_SIZE:
            continue
        own = [int(np.flatnonzero(numbers == k)[0]) for numbers in post.numbers]
        values = [[own_strengths(s)[i] for s in chain] for i, chain in zip(own, samples, strict=True)]
        yield Quantity(f"strength of {k}", "matched strength", np.array(values, dtype=np.float64))


def _matched_memberships(post: Posterior, samples: Samples) -> Iterator[Quantity]:
    """Yield, for nodes evenly spread over all, the membership in the community that is largest on average."""
    nodes = _spread(np.arange(post.graph.n_nodes), MOST_NODES)
    nodes = nodes[np.diff(post.offsets)[nodes] > 0]
    first = np.asarray(post.community[post.offsets[nodes]])
    values = np.array(
        [
            [sample.memberships(nodes, numbers)[np.arange(len(nodes)), first] for sample in chain]
            for chain, numbers in zip(samples, post.numbers, strict=True)
        ]
    )
    for i, (node, k) in enumerate(zip(nodes, first, strict=True)):
        name = f"{post.graph.labels[int(node)]} in {k}"
        yield Quantity(name, "matched membership", values[:, :, i])
