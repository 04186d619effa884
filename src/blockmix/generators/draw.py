"""Drawing from the model: sparse memberships, then links, in time proportional to nodes plus links.

Memberships. The size-biased order of a symmetric Dirichlet(alpha) over K communities breaks a stick:
V_j ~ Beta(1 + alpha, (K - j) alpha), w_j = V_j prod_{i<j} (1 - V_i), the communities being a uniform random
order (D1). Breaking stops when less than `cut` of the stick is left, so a node stores about
1 + K alpha log(1 / cut) memberships whatever K is, and what is left out is known to be below `cut`.

Links. Write L(x) = -log(1 - x). A Poisson count of mean L(p) is positive with probability exactly p. By (M1)
p_ab is an average of the strengths and the background, and L is convex, so (D2)

    L(p_ab) <= lambda_ab = L(delta) + sum_k max(0, L(beta_k) - L(delta)) pi_ak pi_bk.

Counts of mean lambda_ab over all pairs are the sum of one Poisson process per community, whose points have
both ends drawn proportionally to pi_.k, and one of uniform pairs. Keeping a point with probability
L(p_ab) / lambda_ab leaves a process of mean L(p_ab): a pair with at least one point left is a link, and every
pair is an independent Bernoulli(p_ab), exactly. No pair that is not a candidate is ever looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.numerics.compile import checked_njit as njit

# Work is cut into blocks with a random stream each: memory stays bounded and threads cannot change a result.
_NODES_PER_BLOCK = 1 << 17
_CANDIDATES_PER_BLOCK = 1 << 20
_LARGEST_STRENGTH = 1.0 - 1e-9
_MOST_MEMBERSHIPS = 500_000_000
_MOST_CANDIDATES = 4_000_000_000
# Names of the random streams; a new one gets a new number, so that a seed keeps its network.
STREAM_MEMBERSHIPS, STREAM_STRENGTHS, STREAM_COUNTS, STREAM_INSIDE, STREAM_BACKGROUND, STREAM_POPULARITY = (
    range(6)
)


def stream(seed: int, *place: int) -> np.random.Generator:
    """Return the random stream of one block of work: a function of the seed and the block alone."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=place)))


def run_blocks(task: Callable[[int], Any], count: int, threads: int | None) -> list[Any]:
    """Run `task(0) ... task(count - 1)` on threads and return the results in order."""
    workers = min(count, threads or os.cpu_count() or 1)
    if workers <= 1:
        return [task(block) for block in range(count)]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(task, range(count)))


def dirichlet_memberships(
    nodes: int, communities: int, alpha: float, *, cut: float, seed: int, threads: int | None = None
) -> Any:
    """Draw pi_a ~ Dirichlet(alpha) as a scipy CSR matrix, N x K, float32, rows summing to 1 (D1)."""
    log_cut = np.log(1.0 / cut) if cut > 0 else np.inf
    entries = nodes * min(float(communities), 1.0 + communities * alpha * log_cut)
    if entries > _MOST_MEMBERSHIPS:
        raise InputError(
            f"alpha={alpha:g} gives about {entries:.2g} memberships for {nodes} nodes and {communities} "
            f"communities, more than the {_MOST_MEMBERSHIPS:,} that are kept; use a smaller alpha "
            f"(1 / communities is the usual choice) or a larger cut"
        )

    def block(index: int) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        first = index * _NODES_PER_BLOCK
        rng = stream(seed, STREAM_MEMBERSHIPS, index)
        return _break_sticks(rng, min(_NODES_PER_BLOCK, nodes - first), communities, alpha, cut)

    parts = run_blocks(block, -(-nodes // _NODES_PER_BLOCK), threads)
    counts = np.concatenate([part[0] for part in parts])
    return membership_matrix(
        counts,
        np.concatenate([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
        communities,
    )


def membership_matrix(
    counts: NDArray[np.int64], columns: NDArray[np.int32], weights: NDArray[np.float32], communities: int
) -> Any:
    """Build a CSR matrix from the number of memberships of every node and their communities and weights."""
    from scipy.sparse import csr_matrix

    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    if offsets[-1] < np.iinfo(np.int32).max:
        offsets = offsets.astype(np.int32)  # scipy wants offsets and columns of one type
    else:
        columns = columns.astype(np.int64)
    matrix = csr_matrix((weights, columns, offsets), shape=(len(counts), communities))
    matrix.sort_indices()
    return matrix


def _break_sticks(
    rng: np.random.Generator, nodes: int, communities: int, alpha: float, cut: float
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Draw the number of memberships of every node, then their communities and weights, node by node (D1)."""
    left = np.ones(nodes)
    active = np.arange(nodes)
    rounds: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
    for j in range(1, communities + 1):
        share = rng.beta(1.0 + alpha, (communities - j) * alpha, len(active)) if j < communities else 1.0
        weights = left[active] * share
        rounds.append((active, weights))
        left[active] -= weights
        active = active[left[active] > cut]
        if not len(active):
            break
    counts = np.zeros(nodes, dtype=np.int64)
    for members, _ in rounds:
        counts[members] += 1
    starts = np.cumsum(counts) - counts
    weights = np.empty(int(counts.sum()))
    for j, (members, part) in enumerate(rounds):
        weights[starts[members] + j] = part
    weights /= np.repeat(np.add.reduceat(weights, starts), counts)
    columns = distinct(counts, rng.random(len(weights)), np.arange(communities, dtype=np.int32))
    return counts, columns, weights.astype(np.float32)


@njit(cache=True, nogil=True)
def distinct(counts: Any, uniforms: Any, identity: Any) -> Any:
    """Draw distinct uniform communities for every node: the head of a Fisher-Yates shuffle, then undone."""
    chosen = np.empty(uniforms.size, np.int32)
    swaps = np.empty(identity.size, np.int64)
    place = 0
    for count in counts:
        for j in range(count):
            r = min(j + int(uniforms[place + j] * (identity.size - j)), identity.size - 1)
            identity[j], identity[r] = identity[r], identity[j]
            swaps[j] = r
            chosen[place + j] = identity[j]
        for j in range(count - 1, -1, -1):
            r = swaps[j]
            identity[j], identity[r] = identity[r], identity[j]
        place += count
    return chosen


def pairs_inside(memberships: Any) -> NDArray[np.float64]:
    """Compute the expected pairs inside each community, sum_{a<b} pi_ak pi_bk = (S_k^2 - Q_k) / 2."""
    weights = memberships.data.astype(np.float64)
    size = memberships.shape[1]
    total = np.bincount(memberships.indices, weights, minlength=size)
    squares = np.bincount(memberships.indices, weights * weights, minlength=size)
    return np.asarray(np.maximum(total * total - squares, 0.0) / 2.0)


def expected_links(inside: NDArray[np.float64], strengths: Any, background: float, nodes: int) -> float:
    """Compute the expected number of links, the sum of (M1), from the pairs inside each community."""
    pairs = nodes * (nodes - 1) / 2
    return float(background * (pairs - inside.sum()) + (np.asarray(strengths) * inside).sum())


def draw_links(
    memberships: Any,
    strengths: NDArray[np.float64],
    background: float,
    *,
    seed: int,
    threads: int | None = None,
) -> NDArray[np.int64]:
    """Draw links y_ab ~ Bernoulli(p_ab) by (M1) as pairs a < b; a link may be listed more than once (D2)."""
    strengths = np.minimum(np.asarray(strengths, dtype=np.float64), _LARGEST_STRENGTH)
    rates = np.maximum(np.log1p(-background) - np.log1p(-strengths), 0.0)
    nodes = memberships.shape[0]
    inside = CommunityCandidates(memberships, rates)
    rng = stream(seed, STREAM_COUNTS)
    expected = inside.expected.sum() - np.log1p(-background) * nodes * nodes / 2.0
    check_candidates(expected)
    inside.set_counts(rng.poisson(inside.expected))
    anywhere = int(rng.poisson(-np.log1p(-background) * nodes * nodes / 2.0))
    rows = (memberships.indptr, memberships.indices, memberships.data)

    def keep(rng: np.random.Generator, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int64]:
        kept = thin(rows, strengths, rates, background, a, b, rng.random(len(a)))
        return np.column_stack((np.minimum(a, b)[kept], np.maximum(a, b)[kept])).astype(np.int64)

    def inside_block(index: int) -> NDArray[np.int64]:
        rng = stream(seed, STREAM_INSIDE, index)
        return keep(rng, *inside.ends(rng, index))

    def background_block(index: int) -> NDArray[np.int64]:
        rng = stream(seed, STREAM_BACKGROUND, index)
        size = min(_CANDIDATES_PER_BLOCK, anywhere - index * _CANDIDATES_PER_BLOCK)
        return keep(rng, rng.integers(nodes, size=size), rng.integers(nodes, size=size))

    found = draw_blocks(inside_block, inside.total, threads)
    return np.concatenate([found, draw_blocks(background_block, anywhere, threads)])


def draw_blocks(
    block: Callable[[int], NDArray[np.int64]], candidates: int, threads: int | None
) -> NDArray[np.int64]:
    """Return the pairs that `block` gives for every block of so many candidates, one after the other."""
    parts = run_blocks(block, -(-candidates // _CANDIDATES_PER_BLOCK), threads)
    return np.concatenate([np.empty((0, 2), dtype=np.int64), *parts])


def check_candidates(expected: float) -> None:
    """Refuse to draw more candidate links than can be handled."""
    if expected > _MOST_CANDIDATES:
        raise InputError(
            f"about {expected:.2g} candidate links would have to be drawn, more than "
            f"{_MOST_CANDIDATES:,}; ask for a smaller degree or a smaller background"
        )


class CommunityCandidates:
    """Candidate pairs of every community, both ends proportional to the memberships in it."""

    def __init__(self, memberships: Any, rates: NDArray[np.float64]) -> None:
        columns = memberships.tocsc()
        self.nodes = columns.indices
        self.starts = columns.indptr.astype(np.int64)
        self.cumulative = np.cumsum(columns.data, dtype=np.float64)
        edges = np.concatenate(([0.0], self.cumulative))[self.starts]
        self.low, self.mass = edges[:-1], np.diff(edges)
        # Ordered pairs with repetition: half the squared mass gives every unordered pair its rate once.
        self.expected = rates * self.mass * self.mass / 2.0
        self.set_counts(np.zeros(len(rates), dtype=np.int64))

    def set_counts(self, counts: NDArray[np.int64]) -> None:
        """Set how many candidates every community has."""
        self.ends_at = np.cumsum(counts)
        self.begins_at = self.ends_at - counts
        self.total = int(self.ends_at[-1])

    def ends(self, rng: np.random.Generator, index: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw both ends of the candidates of one block; candidates are numbered community by community."""
        first = index * _CANDIDATES_PER_BLOCK
        last = min(first + _CANDIDATES_PER_BLOCK, self.total)
        here = np.clip(self.ends_at, first, last) - np.clip(self.begins_at, first, last)
        community = np.repeat(np.arange(len(here)), here)
        return self.one_end(rng, community), self.one_end(rng, community)

    def one_end(self, rng: np.random.Generator, community: NDArray[np.int64]) -> NDArray[Any]:
        """Draw a node of each of these communities, in proportion to its membership there."""
        target = self.low[community] + rng.random(len(community)) * self.mass[community]
        place = np.searchsorted(self.cumulative, target, side="right")
        # Rounding in the cumulative sum must not move a draw into the next community.
        return np.asarray(self.nodes[np.clip(place, self.starts[community], self.starts[community + 1] - 1)])


@njit(cache=True, nogil=True)
def thin(
    rows: Any, strengths: Any, rates: Any, background: float, first: Any, second: Any, uniforms: Any
) -> Any:
    """Choose which candidates are kept: each with probability L(p_ab) / lambda_ab (D2), loops never."""
    offsets, columns, weights = rows
    kept = np.zeros(first.size, np.bool_)
    floor = -np.log1p(-background)
    for c in range(first.size):
        a, b = first[c], second[c]
        if a == b:
            continue
        probability, proposed = background, floor
        i, j = offsets[a], offsets[b]
        while i < offsets[a + 1] and j < offsets[b + 1]:
            if columns[i] < columns[j]:
                i += 1
            elif columns[i] > columns[j]:
                j += 1
            else:
                k = columns[i]
                both = np.float64(weights[i]) * np.float64(weights[j])
                probability += (strengths[k] - background) * both
                proposed += rates[k] * both
                i += 1
                j += 1
        kept[c] = uniforms[c] * proposed < -np.log1p(-probability)
    return kept
