"""The kernels of the popularity model in plain Python: the twin of `cpu` that tests compare with, on small networks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from blockmix.model.reference import popularity_likelihood, popularity_rate
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import (
    DRAW_MORE_PAIR_UNITS,
    DRAW_PAIR_UNITS,
    DRAW_RATE,
)
from blockmix.numerics.variates import gamma, uniform32
from blockmix.samplers.scir.popularity.frame import MOST_UNITS
from blockmix.samplers.scir.popularity.kernels import BACKGROUND_HELD_DOWN, BACKGROUND_SHARE, Measures
from blockmix.samplers.scir.popularity.problem import PopularityProblem, PopularityState, Sweep, rescale
from blockmix.samplers.scir.popularity.rates import LEAST_RATE, update_scale, update_spread
from blockmix.samplers.scir.popularity.reference.node import (
    View,
    partner_of,
    redraw_node,
    units_of_link,
    words_of,
)
from blockmix.samplers.scir.popularity.weights import AMOUNTS, Tally, draw_unit
from blockmix.samplers.scir.reference.concentration import draw_concentration
from blockmix.samplers.scir.reference.indicators import Row, choose
from blockmix.samplers.scir.reference.kernels import row_of
from blockmix.tables.layout import Key
from blockmix.tables.popular import MOST_SPREAD


class ReferenceKernels:
    """One node after another, from dictionaries."""

    def __init__(self, problem: PopularityProblem) -> None:
        self.problem = problem
        self.dropped = self.accepted = self.units = self.inside = 0.0
        self.tally = np.zeros(MOST_UNITS + 1)

    def redraw_nodes(self, state: PopularityState, sweep: Sweep) -> None:
        """Redraw the nodes batch by batch, each from the rows before its batch."""
        for batch in range(self.problem.batches):
            nodes, count = self.problem.batch(batch)
            members = self._members(state)
            fresh = {}
            for i in range(count):
                place = nodes.first + i * nodes.stride
                fresh[place] = redraw_node(self._view(place, members, state, sweep))
            for place, (row, popularity, accepted) in fresh.items():
                self.accepted += accepted
                self._store(place, row, popularity, state)

    def _members(self, state: PopularityState) -> list[NDArray[np.float64]]:
        """(DC4), (DC15) Return for every side the sums of theta over the nodes that one of it may be linked to."""
        theta, first = theta_of(state, self.problem.communities), self.problem.first
        return [theta[first:].sum(axis=0), theta[:first].sum(axis=0)] if first else [theta.sum(axis=0)]

    def _view(
        self, place: int, members: list[NDArray[np.float64]], state: PopularityState, sweep: Sweep
    ) -> View:
        shard, network, first = self.problem.shard, self.problem.shard.network, self.problem.first
        side = int(place >= first) if first else -1
        row = slice(network.offsets[place], network.offsets[place + 1])
        weights = self._weights(row)
        links = [partner_of(state.rows, b, w) for b, w in zip(network.neighbors[row], weights, strict=True)]
        row = slice(network.hidden_offsets[place], network.hidden_offsets[place + 1])
        hidden = [partner_of(state.rows, b) for b in network.hidden_neighbors[row]]
        return View(
            int(shard.names[place]), row_of(state.rows, place), float(state.rows.total[place]), links, hidden,
            members[max(side, 0)], state.rates, sweep, self.problem.weights, state.unit, side,
        )  # fmt: skip

    def _weights(self, row: slice) -> NDArray[np.float64]:
        """Return the weights of the links of a node; ones where they have none."""
        training = self.problem.training
        weights = None if training is None else training.weights
        return np.ones(row.stop - row.start) if weights is None else weights[row]

    def _store(self, place: int, row: Row, popularity: float, state: PopularityState) -> None:
        """(P3) Write the largest memberships into the table, as float32."""
        slots = self.problem.options.slots
        order = sorted(row, key=lambda k: -row[k])[:slots]
        kept = sum(row[k] for k in order)
        self.dropped += 1.0 - kept / sum(row.values())
        state.rows.total[place] = popularity
        state.rows.words[place, ::2] = -1
        for j, k in enumerate(order):
            state.rows.words[place, 2 * j] = k
            state.rows.weights[place, 2 * j + 1] = row[k] / kept

    def update_rates(self, state: PopularityState, sweep: Sweep) -> None:
        """(DC10) Draw the units of all links, then every rate from its Gamma law, then rho."""
        problem, key, k = self.problem, sweep.key, self.problem.communities
        theta = theta_of(state, k)
        units = np.zeros(k + 1)
        self.tally[:] = 0.0
        linked, hidden = np.zeros(k + 1), np.zeros(k + 1)
        network = problem.shard.network
        for a in range(problem.nodes):
            for b in network.hidden_neighbors[network.hidden_offsets[a] : network.hidden_offsets[a + 1]]:
                hidden += theta[a] * theta[b] * (b > a)
            row = slice(network.offsets[a], network.offsets[a + 1])
            for i, (b, weight) in enumerate(zip(network.neighbors[row], self._weights(row), strict=True)):
                if b > a:
                    linked += theta[a] * theta[b]
                    self._add_units((a, i, b), float(weight), theta, state, key, units)
        every = (theta.sum(axis=0) ** 2 - (theta**2).sum(axis=0)) / 2.0
        if problem.first:
            every = theta[: problem.first].sum(axis=0) * theta[problem.first :].sum(axis=0)
        weight = sweep.settings.non_link_weight
        exposure = weight * np.maximum(every - linked - hidden, 0.0) + linked
        for entry in range(k + (problem.model.background is None)):
            shape, stream = problem.rate_prior[entry, 0] + units[entry], stream_word(DRAW_RATE, 0)
            drawn = gamma(shape, key.low, key.high, np.uint32(entry), key.sweep, stream, np.uint32(0))
            state.rates[entry] = max(drawn / (problem.rate_prior[entry, 1] + exposure[entry]), LEAST_RATE)
        if problem.model.background is None and sweep.warm_up and state.sweep < BACKGROUND_HELD_DOWN:
            state.rates[k] = min(state.rates[k], BACKGROUND_SHARE * problem.weights.total / exposure[k])
        self.units, self.inside = units.sum(), units[:k].sum()
        if problem.weights.law == AMOUNTS:
            counts = np.append(0, self.tally[1:].astype(np.int64))
            m = float(counts @ np.arange(MOST_UNITS + 1))
            draw_unit(state.unit, Tally(counts, m, float(self.tally[0]), problem.weights.total), key)
        sides = [problem.side(number) for number in range(len(problem.nodes_of_sides))]
        if problem.model.background is None:
            power = 2.0 / len(sides)
            for number, side in enumerate(sides):
                r = state.rows.total[side].astype(np.float64)
                t = update_scale(
                    float(len(r)),
                    state.rho[number],
                    float(r.sum()),
                    power,
                    problem.rate_prior,
                    state.rates,
                    key,
                    number,
                )
                rescale(state, t, side, power)
        for number, side in enumerate(sides):
            r = state.rows.total[side].astype(np.float64)
            state.rho[number] = update_spread(
                state.rho[number], float(len(r)), float(np.log(r).sum()), float(r.sum()), key, number
            )

    def _add_units(
        self, link: tuple[int, int, int], weight: float, theta: NDArray[np.float64], state: PopularityState, key: Key,
        units: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Draw the units of link number i of node a, to b: the background first, then communities as in b's row."""
        a, i, b = link
        name = int(self.problem.shard.names[a])
        order = [self.problem.communities, *row_of(state.rows, b)]
        weights = [(k, state.rates[k] * theta[a, k] * theta[b, k]) for k in order]
        weights = [(k, w) for k, w in weights if w > 0.0]
        rate = sum(w for _, w in weights)
        w0, w1, _, _ = words_of(name, DRAW_PAIR_UNITS, 0, i, key)
        law = self.problem.weights
        drawn = units_of_link(rate, weight, law, state.unit, uniform32(w0))
        if law.law == AMOUNTS:
            self.tally[drawn] += 1.0
            self.tally[0] += drawn * np.log(weight / law.scale)
        for number in range(drawn):
            word = words_of(name, DRAW_MORE_PAIR_UNITS, number, i, key)[0] if number else w1
            units[choose(weights, uniform32(word) * rate)] += 1

    def draw_concentration(self, state: PopularityState, sweep: Sweep) -> float:
        """(Q3) Draw K alpha given the rows of all nodes."""
        problem, total = self.problem, state.concentration
        rows = [row_of(state.rows, a) for a in range(problem.nodes)]
        degrees = np.diff(problem.shard.network.offsets)
        smallest = None if problem.whole else problem.smallest(total)[0]
        return draw_concentration(total, rows, degrees, problem.communities, smallest, sweep.key)

    def measures(self, state: PopularityState) -> Measures:
        """Return the sums over nodes, and begin anew."""
        nodes, links = self.problem.nodes, max(self.problem.links, 1)
        found = Measures(
            self.units / links, self.inside / max(self.units, 1.0), float(state.rho[0]) ** -0.5, self.dropped / nodes,
            self.accepted / nodes,
        )  # fmt: skip
        self.dropped = self.accepted = 0.0
        return found

    def forecast(
        self, state: PopularityState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:  # fmt: skip
        """(DC11) Predict pair by pair; nodes without links have the mean over the same few of them."""
        k, r = self.problem.communities, state.rows.total.astype(np.float64)
        pi = theta_of(state, k)[:, :k] / r[:, None]
        isolated = np.diff(self.problem.shard.network.offsets) == 0
        first = self.problem.first
        few = [self._stand_ins(isolated, side) for side in ((True, False) if first else (None,))]

        def probability(ends: Iterable[tuple[int, int]]) -> float:
            rates = [
                popularity_rate(r[a], r[b], pi[a], pi[b], state.rates[:k], state.rates[k]) for a, b in ends
            ]
            return float(np.mean([popularity_likelihood(1, rate) for rate in rates]))

        for i, (a, b) in enumerate(pairs):
            ends = [(a, b)]
            if isolated[a] and isolated[b]:
                count = max(map(len, few))
                others = np.resize(few[1], count) if first else np.roll(few[0], -1)
                ends = list(zip(np.resize(few[0], count), others, strict=True))
            elif isolated[a] or isolated[b]:
                alone, other = (a, b) if isolated[a] else (b, a)
                ends = [(other, c) for c in few[int(0 < first <= alone)]]
            out[i] = keep * out[i] + share * probability(ends)

    def _stand_ins(self, isolated: NDArray[np.bool_], first_side: bool | None) -> NDArray[np.int64]:
        """Return the few nodes without links, of one side or of all nodes, that stand for all of them."""
        alone = np.flatnonzero(isolated)
        if first_side is not None:
            alone = alone[(alone < self.problem.first) == first_side]
        return alone[np.linspace(0, len(alone) - 1, min(len(alone), MOST_SPREAD)).astype(np.int64)]


def theta_of(state: PopularityState, communities: int) -> NDArray[np.float64]:
    """Return theta_ak of all nodes as a matrix, with r_a in the last column."""
    found = np.zeros((len(state.rows.total), communities + 1))
    for a in range(len(found)):
        r = float(state.rows.total[a])
        found[a, -1] = r
        for k, pi in row_of(state.rows, a).items():
            found[a, k] = pi * r
    return found
