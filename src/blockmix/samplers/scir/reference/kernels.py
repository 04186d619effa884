"""The kernels of `scir` in plain Python: the twin of `cpu` that tests compare with, on small networks.

The link-indicator move only; the diffusion is compared equation by equation (`diffusion`).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.model.reference import pair_likelihood
from blockmix.numerics.cir import Process
from blockmix.samplers.scir.constants import BACKGROUND_HELD_DOWN, BACKGROUND_SHARE
from blockmix.samplers.scir.diffusion.strengths import draw_theta
from blockmix.samplers.scir.frame import NodePriors
from blockmix.samplers.scir.kernels import Measures
from blockmix.samplers.scir.problem import Problem, ScirState, Sweep
from blockmix.samplers.scir.reference.concentration import draw_concentration
from blockmix.samplers.scir.reference.diffusion import exposure_of
from blockmix.samplers.scir.reference.indicators import Row, View, keep_largest, redraw_node
from blockmix.samplers.scir.reference.strengths import Pairs, draw_strengths, non_links_of
from blockmix.tables.layout import CLOSEST, Rows


class ReferenceKernels:
    """One node after another, from dictionaries."""

    def __init__(self, problem: Problem) -> None:
        if problem.options.local_move != "indicators":
            raise InputError(
                "the device 'reference' has the link indicators only: leave out moves, form and non_links"
            )
        self.problem = problem
        self.members = np.zeros((problem.communities, 2))
        self.fresh: dict[int, Row] = {}
        self._clear()

    def priors(self, concentration: float) -> NodePriors:
        """Return the priors of nodes without and with links."""
        return self.problem.priors(concentration)

    def _clear(self) -> None:
        self.links = np.zeros(self.problem.communities)
        self.exposure = np.zeros(self.problem.communities)
        self.dropped = self.accepted = 0.0

    def begin(self, state: ScirState, sweep: Sweep) -> None:
        """Prepare nothing: everything is computed where it is needed."""

    def _sum_members(self, state: ScirState) -> None:
        self.members[:] = 0.0
        for a in range(self.problem.nodes):
            for k, pi in row_of(state.rows, a).items():
                self.members[k] += pi, pi * pi

    def redraw(self, batch: int, state: ScirState, sweep: Sweep) -> None:
        """Redraw the nodes of a batch, each given the old rows of all, then write them."""
        nodes, count = self.problem.batch(batch)
        self._sum_members(state)
        for i in range(count):
            self._redraw_node(nodes.first + i * nodes.stride, state, sweep)
        self._commit(state)

    def redraw_all(self, state: ScirState, sweep: Sweep) -> None:
        """Redraw one node after the other."""
        for place in range(self.problem.nodes):
            self._sum_members(state)
            self._redraw_node(place, state, sweep)
            self._commit(state)

    def _redraw_node(self, place: int, state: ScirState, sweep: Sweep) -> None:
        view = self._view(place, state, sweep)
        self._gather(view)
        phi, accepted = redraw_node(view, float(state.rows.total[place]))
        self.fresh[place], dropped = keep_largest(phi, self.problem.slots, view.smallest)
        self.dropped += dropped / (dropped + sum(self.fresh[place].values()))
        self.accepted += accepted

    def _view(self, place: int, state: ScirState, sweep: Sweep) -> View:
        shard, priors, value = self.problem.shard, state.priors, state.strengths.value
        links, hidden = (
            [row_of(state.rows, b) for b in neighbors[offsets[place] : offsets[place + 1]]]
            for offsets, neighbors in (shard.network[:2], shard.network[2:])
        )
        linked = int(len(links) > 0)
        return View(
            int(shard.names[place]), row_of(state.rows, place), links, hidden, float(priors.alpha[linked]),
            float(priors.smallest[linked]), self.members[:, 0], self.members[:, 1], value[:-1], float(value[-1]),
            sweep.settings.non_link_weight, sweep.settings.cut, sweep.key, self.problem.slots,
            self._non_links(place, state) if self.problem.exact else None,
        )  # fmt: skip

    def _non_links(self, place: int, state: ScirState) -> list[Row]:
        return [row_of(state.rows, b) for b in non_links_of(place, self.problem.shard.network)]

    def _gather(self, view: View) -> None:
        """(S6) Add this node's half of the expected links inside its communities, and of its exposure to non-links."""
        for row in view.neighbors:
            z = view.delta + sum(view.d(k) * pi * view.own.get(k, 0.0) for k, pi in row.items())
            for k, pi in row.items():
                self.links[k] += 0.5 * view.beta[k] * view.own.get(k, 0.0) * pi / z
        for k, pi in view.own.items():
            rest, squares = map(np.array, view.rest(k))
            slope = np.array(view.d(k) * pi)
            self.exposure[k] += 0.5 * pi * exposure_of(rest, squares, slope, 1.0 - view.delta)

    def _commit(self, state: ScirState) -> None:
        """Write the new rows into the table, as float32."""
        for place, row in self.fresh.items():
            total = sum(row.values())
            state.rows.total[place] = total
            state.rows.words[place, 2 * len(row) :: 2] = -1
            for j, (k, phi) in enumerate(row.items()):
                state.rows.words[place, 2 * j] = k
                state.rows.weights[place, 2 * j + 1] = phi / total
        self.fresh.clear()

    def update_strengths(self, state: ScirState, sweep: Sweep) -> None:
        """Draw strengths and background: exactly (N6), or by their CIR transitions (S2), (S6)."""
        problem, value, weight = self.problem, state.strengths.value, self.problem.non_link_weight
        self._sum_members(state)
        if problem.exact:
            rows = [row_of(state.rows, a) for a in range(problem.nodes)]
            pairs = Pairs(problem, rows, self.members, value, sweep.key)
            self.links[:] = pairs.links[:-1]
            draw_strengths(pairs)
            self._hold_background_down(state, sweep)
            return
        k = problem.communities
        links = np.append(self.links, max(problem.links - self.links.sum(), 0.0))
        non_links = weight * (1.0 - value[:-1]) * np.maximum(self.exposure, 0.0)
        non_links = np.append(non_links, max(weight * problem.non_links - non_links.sum(), 0.0))
        for entry in range(k + (problem.model.background is None)):
            self._update_strength(entry, links[entry], non_links[entry], state, sweep)
        self._hold_background_down(state, sweep)

    def draw_concentration(self, state: ScirState, sweep: Sweep) -> float:
        """(Q3) Draw K alpha given the rows of all nodes."""
        problem, total = self.problem, state.concentration
        rows = [row_of(state.rows, a) for a in range(problem.nodes)]
        smallest = None if problem.whole else problem.smallest(total)
        return draw_concentration(total, rows, problem.degrees, problem.communities, smallest, sweep.key)

    def _hold_background_down(self, state: ScirState, sweep: Sweep) -> None:
        problem, value = self.problem, state.strengths.value
        if problem.model.background is None and sweep.warm_up and state.sweep < BACKGROUND_HELD_DOWN:
            value[-1] = min(value[-1], BACKGROUND_SHARE * problem.density)

    def _update_strength(
        self, k: int, links: float, non_links: float, state: ScirState, sweep: Sweep
    ) -> None:
        """(S1), (S2) Draw theta_k1 and theta_k0; A and b take up what the expansion lacks or exceeds."""
        s, key = state.strengths, sweep.key
        value, total = float(s.value[k]), float(s.total[k])
        if sweep.warm_up:
            s.expansion[k] = links + non_links
        surplus = float(s.expansion[k]) - links - non_links
        rate = 1.0 + max(-surplus, 0.0) / total
        theta = []
        for column, (now, count) in enumerate([(1.0 - value, non_links), (value, links)]):
            shape = self.problem.strength_prior[k, 1 - column] + count + max(surplus, 0.0) * now
            process = Process(shape, rate, sweep.settings.step)
            theta.append(draw_theta(total * now, process, column, k, key))
        if sum(theta) > 0.0:
            s.total[k] = sum(theta)
            s.value[k] = min(max(theta[1] / sum(theta), CLOSEST), 1.0 - CLOSEST)

    def measures(self) -> Measures:
        """Return the sums over nodes, and begin anew."""
        nodes = self.problem.nodes
        found = Measures(float(self.links.sum()), self.dropped / nodes, self.accepted / nodes)
        self._clear()
        return found

    def forecast(
        self, state: ScirState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Predict pair by pair; nodes without links have the mean over all of them, two of them that over all pairs."""
        value, pi = state.strengths.value, dense_memberships(state.rows, self.problem.communities)
        isolated = np.diff(self.problem.shard.network.offsets) == 0
        among = [
            pair_likelihood(1, pi_a, pi_b, value[:-1], value[-1])
            for pi_a, pi_b in combinations(pi[isolated], 2)
        ]
        pi[isolated] = pi[isolated].mean(axis=0) if isolated.any() else 0.0
        for i, (a, b) in enumerate(pairs):
            if isolated[a] and isolated[b]:
                probability = float(np.mean(among))
            else:
                probability = pair_likelihood(1, pi[a], pi[b], value[:-1], value[-1])
            out[i] = keep * out[i] + share * probability


def row_of(rows: Rows, place: int) -> Row:
    """Return the row of a node as a dictionary from community to weight, in the order of its slots."""
    found: Row = {}
    for j in range(rows.words.shape[1] // 2):
        k = int(rows.words[place, 2 * j])
        if k < 0:
            break
        found[k] = float(rows.weights[place, 2 * j + 1])
    return found


def dense_memberships(rows: Rows, communities: int) -> NDArray[np.float64]:
    """Return memberships as a matrix of nodes x communities."""
    dense = np.zeros((len(rows.total), communities))
    for a in range(len(dense)):
        for k, pi in row_of(rows, a).items():
            dense[a, k] = pi
    return dense
