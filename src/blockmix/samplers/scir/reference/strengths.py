"""The exact move of strengths in plain Python, (N1) to (N6), with the random numbers of the kernels."""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_EVENT, DRAW_INSIDE, DRAW_SLICE
from blockmix.numerics.variates import poisson, uniform32
from blockmix.samplers.scir.constants import SLICE_WIDTH
from blockmix.samplers.scir.indicators.events import LEAST_TRIES, MEMBERS_A_TRY, MOST_TRIES
from blockmix.samplers.scir.indicators.strengths import FARTHEST
from blockmix.samplers.scir.problem import Problem
from blockmix.samplers.scir.reference.indicators import Row, choose
from blockmix.samplers.scir.reference.slices import draw_slice, uniforms
from blockmix.tables.layout import Key, Network

Event = list[tuple[int, float, float]]


def non_links_of(a: int, network: Network) -> list[int]:
    """Return the nodes that are neither a, nor linked to it, nor held out."""
    out = {a, *network.neighbors[network.offsets[a] : network.offsets[a + 1]].tolist()}
    out.update(network.hidden_neighbors[network.hidden_offsets[a] : network.hidden_offsets[a + 1]].tolist())
    return [b for b in range(len(network.offsets) - 1) if b not in out]


def slope(beta: float, delta: float) -> float:
    """(N1) Compute c_k."""
    return (beta - delta) / (1.0 - delta)


def curve(c: float) -> float:
    """(N2) Compute g_k."""
    return -math.log1p(-c) - c if c >= 0.0 else 0.5 * c * c


def factor(pi_a: float, pi_b: float) -> float:
    """(N2) Compute m_k."""
    return pi_a * pi_b + (1.0 - pi_a) * (1.0 - pi_b)


class Pairs:
    """All pairs as the strengths see them: links by where they are made, sums over non-links, and events."""

    def __init__(
        self, problem: Problem, rows: list[Row], members: np.ndarray, value: np.ndarray, key: Key
    ) -> None:
        self.problem, self.rows, self.members, self.value, self.key = problem, rows, members, value, key
        self.c = [slope(float(beta), float(value[-1])) for beta in value[:-1]]
        self.links = np.zeros(len(value))
        self.overlap, self.curved = np.zeros((2, len(value) - 1))
        self.events: list[Event] = []
        self.too_many = False
        for a in range(len(rows)):
            self._draw_links(a)
            self._sum_non_links(a)

    def _words(self, a: int, purpose: int, slot: int, block: int) -> tuple[np.uint32, ...]:
        name = self.problem.shard.names[a]
        word = stream_word(purpose, slot)
        return philox4x32(name, self.key.sweep, word, np.uint32(block), self.key.low, self.key.high)

    def _draw_links(self, a: int) -> None:
        """(N6) Draw where every link to a node with a larger name is made: inside k, or outside of all."""
        network, names = self.problem.shard.network, self.problem.shard.names
        for i, b in enumerate(network.neighbors[network.offsets[a] : network.offsets[a + 1]]):
            if names[b] > names[a]:
                both = [(k, self.rows[a][k] * pi) for k, pi in self.rows[b].items() if k in self.rows[a]]
                inside = [(k, float(self.value[k]) * x) for k, x in both]
                total = sum(w for _, w in inside)
                outside = float(self.value[-1]) * max(1.0 - sum(x for _, x in both), 0.0)
                u = uniform32(self._words(a, DRAW_INSIDE, 0, i)[0]) * (total + outside)
                self.links[choose(inside, u) if u < total else -1] += 1.0

    def _sum_non_links(self, a: int) -> None:
        """(N3), (N6) Add half of the sums over the node's non-links, and draw their events at half their rate."""
        others = [self.rows[b] for b in non_links_of(a, self.problem.shard.network)]
        weight, rates, own = self.problem.non_link_weight, [], self.rows[a]
        for k, pi in own.items():
            weights = [row[k] for row in others if k in row]
            curved = sum(w * factor(pi, w) for w in weights)
            self.overlap[k] += 0.5 * weight * pi * sum(weights)
            self.curved[k] += 0.5 * weight * pi * curved
            rates.append((k, weight * curve(self.c[k]) * pi * curved))
        total = sum(rate for _, rate in rates)
        key, name = self.key, self.problem.shard.names[a]
        word = stream_word(DRAW_EVENT, MOST_TRIES + 1)
        proposals = poisson(0.5 * total, key.low, key.high, name, key.sweep, word, np.uint32(0))
        self.too_many = self.too_many or proposals > self.problem.most_events
        for i in range(0 if self.too_many else int(proposals)):
            w0, _, w2, _ = self._words(a, DRAW_EVENT, 0, i)
            k = choose([(k, rate) for k, rate in rates if rate > 0.0], uniform32(w0) * total)
            b = self._draw_partner(a, k, i)
            both = [(k, own[k], pi) for k, pi in self.rows[b].items() if k in own]
            v, curved = self.bound(both)
            if uniform32(w2) * curved < math.log1p(-v) + v + curved:
                self.events.append(both)

    def _draw_partner(self, a: int, k: int, proposal: int) -> int:
        """(N3) Draw a member in proportion to pi_bk m_k among non-links: some attempts by rejection, then from all."""
        pi, eligible = self.rows[a][k], set(non_links_of(a, self.problem.shard.network))
        members = self._listed(k)
        most = max(pi, 1.0 - pi)
        for attempt in range(min(LEAST_TRIES + len(members) // MEMBERS_A_TRY, MOST_TRIES)):
            _, w1, w2, _ = self._words(a, DRAW_EVENT, attempt + 1, proposal)
            b = members[int(w1) * len(members) >> 32]
            pi_b = self.rows[b][k]
            if uniform32(w2) * most < pi_b * factor(pi, pi_b) and b in eligible:
                return b
        weights = [(b, self.rows[b][k] * factor(pi, self.rows[b][k])) for b in members if b in eligible]
        return choose(
            weights, uniform32(self._words(a, DRAW_EVENT, 0, proposal)[3]) * sum(w for _, w in weights)
        )

    def _listed(self, k: int) -> list[int]:
        """Return the members of k in the order of the kernels' lists: by batch, unless nodes move one by one."""
        parts = 1 if self.problem.in_turn else self.problem.batches
        places = [b for part in range(parts) for b in range(part, len(self.rows), parts)]
        return [b for b in places if k in self.rows[b]]

    def bound(self, event: Event) -> tuple[float, float]:
        """(N2) Compute v and the curved part of the bound."""
        v = sum(self.c[k] * pi_a * pi_b for k, pi_a, pi_b in event)
        return v, sum(curve(self.c[k]) * pi_a * pi_b * factor(pi_a, pi_b) for k, pi_a, pi_b in event)

    def log_inside(self) -> float:
        """(N6) Compute the log likelihood of non-links, given events, at the present c."""
        if any(curve(c) * self.curved[k] > self.problem.most_events for k, c in enumerate(self.c)):
            return -math.inf
        result = -sum(c * self.overlap[k] + curve(c) * self.curved[k] for k, c in enumerate(self.c))
        for event in self.events:
            v, curved = self.bound(event)
            result += math.log(max(math.log1p(-v) + v + curved, 1e-300))
        return float(result)


def log_density(pairs: Pairs, k: int, t: float) -> float:
    """(N6) Compute the log density of the log odds t of strength k, or of the background, which is entry K."""
    prior, kept, last = pairs.problem.strength_prior[k], list(pairs.c), len(pairs.value) - 1
    p, non_links = 1.0 / (1.0 + math.exp(-t)), prior[1]
    if k == last:
        pairs.c = [slope(float(beta), p) for beta in pairs.value[:last]]
        non_links += pairs.problem.non_link_weight * pairs.problem.non_links
    else:
        pairs.c[k] = slope(p, float(pairs.value[last]))
    inside, pairs.c = pairs.log_inside(), kept
    links = prior[0] + pairs.links[k]
    return float(inside - links * math.log1p(math.exp(-t)) - non_links * math.log1p(math.exp(t)))


def draw_strength(pairs: Pairs, k: int) -> float:
    """Draw beta_k, or the background, by slice sampling of its log odds."""
    value, prior = float(pairs.value[k]), pairs.problem.strength_prior[k]
    all_non_links = pairs.problem.non_link_weight * pairs.problem.non_links
    non_links = all_non_links if k == len(pairs.value) - 1 else pairs.overlap[k]
    shapes = prior[0] + pairs.links[k], prior[1] + non_links * (1.0 - value)
    width = SLICE_WIDTH * math.sqrt(1.0 / shapes[0] + 1.0 / shapes[1])
    now, ends = math.log(value) - math.log1p(-value), (-FARTHEST, FARTHEST)
    t = draw_slice(lambda t: log_density(pairs, k, t), now, width, ends, uniforms(DRAW_SLICE, k, pairs.key))
    return value if t == now else 1.0 / (1.0 + math.exp(-t))


def draw_strengths(pairs: Pairs) -> None:
    """(N6) Draw every strength given the others, then the background where it is learned."""
    if pairs.too_many:
        return
    value, last = pairs.value, len(pairs.value) - 1
    pairs.links[last] = pairs.problem.links - pairs.links[:last].sum()
    for k in range(last):
        value[k] = draw_strength(pairs, k)
        pairs.c[k] = slope(float(value[k]), float(value[last]))
    if pairs.problem.model.background is None:
        value[last] = draw_strength(pairs, last)
