"""`scir`, the default sampler: sparse memberships, updated node by node, sections 4 to 6 of docs/method.md.

Two local moves share everything else. "indicators" (G1) to (G4) draws the community of every link; it has no
step size and is the default. "cir" (S1) to (P3) is the diffusion with its exact Cox-Ingersoll-Ross
transition, the form that takes a sample of neighbours and the unbiased correction for non-links; for few
communities it runs on dense rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.philox import stream_key
from blockmix.numerics.special import expint_e1
from blockmix.numerics.workers import Workers
from blockmix.samplers.contract import Arrays, ChainKey, Info
from blockmix.samplers.data import network_of, non_link_weight, small_network
from blockmix.samplers.scir.diffusion.dense import update_dense_range
from blockmix.samplers.scir.diffusion.local import update_range
from blockmix.samplers.scir.frame import STATISTICS, Settings, new_scratch
from blockmix.samplers.scir.indicators.redraw import redraw_range
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.rows import commit_range
from blockmix.samplers.scir.strengths import collect_pairs, merge_members, update_strengths
from blockmix.samplers.starts.given import given_rows, given_strengths
from blockmix.samplers.starts.memberships import dense_rows, random_parts, start_rows, start_strengths
from blockmix.samplers.starts.partition import find_parts
from blockmix.tables.layout import FIXED_POINT, Key, Prior, Rows, Strengths, empty_rows
from blockmix.tables.predictor import Predictor

# Births a node has in a sweep on average, at most; beyond that the smallest ones are not worth their slots.
MOST_EXPECTED_BIRTHS = 8.0
# A node without links is all births: with the smallest phi of the others it would lose a seventh of its chances.
SMALLER_WITHOUT_LINKS = 2e-4
MOST_EXPECTED_BIRTHS_WITHOUT_LINKS = 32.0
# A batch of fewer nodes is copied into the table sooner than a second thread has woken up.
WORTH_COMMITTING_TOGETHER = 8192
# In the first sweeps of warm-up the background explains at most this share of the density: left free, it can
# take all links before communities have formed, and they never do.
BACKGROUND_HELD_DOWN, BACKGROUND_SHARE = 50, 0.1


def smallest_kept(concentration: float, smallest: float, most_births: float) -> float:
    """The smallest phi that is kept, raised where a large K alpha would fill the slots with births.

    >>> smallest_kept(0.3, 0.005, 8), round(smallest_kept(50.0, 0.005, 8), 3)
    (0.005, 1.258)
    """
    while concentration * expint_e1(smallest) > most_births:
        smallest *= 1.1
    return smallest


def warm_up_step(sweep: int) -> float:
    """The step h in warm-up: large at first, so that communities find their place, then smaller."""
    return 2.0 / math.sqrt(1.0 + sweep / 50.0)


@dataclass
class ScirState:
    """Everything a chain is: memberships, strengths, sums over nodes, sweeps done; `step` updates it."""

    rows: Rows
    strengths: Strengths
    sums: NDArray[np.int64]
    sweep: int = 0


class Scir:
    """The sampler bound to a network, a model and a pool of workers: `init` a chain, then `step` it.

    A sweep measures `dropped`, the mean share of a node's phi that found no slot, `accepted`, the share of nodes
    whose new memberships passed the Metropolis-Hastings test (all of them where there is none), and
    `links_inside`, the expected number of links inside communities.
    """

    name, samples = "scir", True
    Options = ScirOptions

    def __init__(self, data: HeldOut, model: Model, options: ScirOptions, workers: Workers) -> None:
        self.graph = graph = data.training
        self.model, self.options, self.workers = model, options, workers
        self.nodes, self.communities = graph.n_nodes, model.communities
        self.links = graph.n_edges
        self.non_links = graph.n_pairs - graph.n_edges - len(data.hidden_neighbors) // 2
        self.non_link_weight = non_link_weight(data)
        self.network = network_of(data)
        self.prior = Prior(model.concentration, model.unlinked_concentration, *model.eta, 1.0, 1.0)
        self.predictor = Predictor(graph.degrees == 0)
        self.dense = options.is_dense(self.communities)
        self.update = self._local_update()
        self.slots = slots = self.communities if self.dense else options.slots
        self.smallest, self.smallest_unlinked = self._smallest()
        pool = workers.threads
        self.batches = min(options.batches, self.nodes)
        self.fresh = empty_rows(-(-self.nodes // self.batches), slots)
        self.scratch = [
            new_scratch(self.communities, slots, int(graph.degrees.max(initial=0))) for _ in range(pool)
        ]
        self.statistics = np.zeros((pool, self.communities, STATISTICS), dtype=np.int64)
        self.worker_sums = np.zeros((pool, 3), dtype=np.int64)
        self.members = np.zeros((self.communities, 2))
        self.inside = np.zeros(self.communities + 1)
        self.inside_non_links = np.zeros(self.communities + 1)

    def _local_update(self) -> Callable[..., None]:
        """The kernel that updates a range of nodes."""
        if self.options.local_move == "indicators":
            return redraw_range
        return update_dense_range if self.dense else update_range

    def _smallest(self) -> tuple[float, float]:
        """The smallest phi that is kept, of a node with links and of one without."""
        k, smallest = self.communities, float(self.options.smallest)
        unlinked = k * self.prior.alpha_unlinked, smallest * SMALLER_WITHOUT_LINKS
        return (
            smallest_kept(k * self.prior.alpha, smallest, MOST_EXPECTED_BIRTHS),
            smallest_kept(*unlinked, MOST_EXPECTED_BIRTHS_WITHOUT_LINKS),
        )

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, by a few steps on a network of four nodes."""
        tiny = small_network()
        with Workers(1) as one:
            form = "dense" if self.dense else "sparse"
            small = ScirOptions(moves=self.options.moves, non_links=self.options.non_links, form=form)
            sampler = Scir(tiny, Model(2), small, one)
            low, high = stream_key(np.uint64(0), 0)
            state = sampler.init((int(low), int(high)))
            sampler.step(state, (0, 0), True)

    def init(self, key: ChainKey) -> ScirState:
        """A chain at its starting state."""
        rng = np.random.default_rng([int(key[0]), int(key[1])])
        if self.options.start == "random":
            parts = random_parts(self.graph, self.communities, rng)
        else:
            parts = find_parts(self.graph, self.communities, rng)
        rows = start_rows(self.graph, parts, self.model, self.options.slots, rng)
        if self.dense:
            rows = dense_rows(rows, self.communities)
        return self.start_at(rows, start_strengths(self.graph, parts, self.model))

    def init_at(self, key: ChainKey, given: Any) -> ScirState:
        """A chain that starts at the memberships of a user, as `given.given_memberships` made them."""
        rng = np.random.default_rng([int(key[0]), int(key[1])])
        rows = given_rows(self.graph, given, self.model, self.options.slots, rng)
        if self.dense:
            rows = dense_rows(rows, self.communities)
        value = given_strengths(self.graph, given, self.model)
        total = np.full_like(value, 2.0)
        return self.start_at(rows, Strengths(value, total, total.copy()))

    def start_at(self, start: Rows, strengths: Strengths) -> ScirState:
        """A chain that begins at the given memberships and strengths."""
        sums = np.zeros((self.communities, 2), dtype=np.int64)
        ids, pi = start.words[:, ::2], start.weights[:, 1::2].astype(np.float64)
        used = np.cumprod(ids >= 0, axis=1).astype(bool)
        for column, value in enumerate((pi, pi * pi)):
            np.add.at(sums[:, column], ids[used], (value[used] * FIXED_POINT).astype(np.int64))
        return ScirState(start, strengths, sums)

    def step(self, state: ScirState, key: ChainKey, warm_up: bool) -> Info:
        """One sweep: every node once, in batches that read old rows and write new ones, then strengths."""
        o = self.options
        step = warm_up_step(state.sweep) if warm_up else o.step
        settings = Settings(
            float(step), o.neighbors, o.non_links, self.smallest, self.smallest_unlinked, float(o.cut), warm_up,
            self.non_link_weight,
        )  # fmt: skip
        word = Key(np.uint32(key[0]), np.uint32(key[1]), np.uint32(state.sweep))
        self.worker_sums[:] = 0
        for batch in range(self.batches):
            self._update_batch(batch, state, settings, word)
        inside = int(self.worker_sums[:, 0].sum()) / FIXED_POINT
        self._update_strengths(state, inside, step, warm_up, word)
        state.sweep += 1
        dropped, accepted = self.worker_sums[:, 1:].sum(axis=0) / FIXED_POINT / self.nodes
        measures = {"links_inside": inside, "dropped": float(dropped), "accepted": float(accepted)}
        return Info(float(state.strengths.value[-1]), self.nodes, 1, measures)

    def sweeps_done(self, state: ScirState) -> int:
        """Sweeps made so far."""
        return state.sweep

    def memberships(self, state: ScirState) -> Rows:
        """The rows as they are."""
        return state.rows

    def strengths(self, state: ScirState) -> NDArray[np.float64]:
        """Strengths of the communities, the background last."""
        return state.strengths.value

    def predict(
        self, state: ScirState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (M1) of every pair."""
        self.predictor.predict(self.workers, pairs, state.rows, state.strengths.value, keep, share, out)

    def arrays(self, state: ScirState) -> dict[str, NDArray[Any]]:
        """Everything the state is, for a checkpoint. Between sweeps nothing is left in the workers' sums.

        Behind the end of a row stands what an earlier, longer one has left there: that is no part of the state.
        """
        used = np.logical_and.accumulate(state.rows.words[:, ::2] >= 0, axis=1)
        return {
            "words": np.where(np.repeat(used, 2, axis=1), state.rows.words, np.int32(-1)),
            "total": state.rows.total,
            "strengths": np.stack(state.strengths),
            "sums": state.sums,
            "sweep": np.int64(state.sweep).reshape(1),
        }

    def restore(self, arrays: Arrays) -> ScirState:
        """The state that `arrays` was made from."""
        words = np.array(arrays["words"])
        rows = Rows(words, words.view(np.float32), np.array(arrays["total"]))
        strengths = Strengths(*np.array(arrays["strengths"]))
        return ScirState(rows, strengths, np.array(arrays["sums"]), int(arrays["sweep"][0]))

    def _update_batch(self, first: int, state: ScirState, settings: Settings, key: Key) -> None:
        merge_members(self.statistics, state.sums, self.members)
        count = (self.nodes - first + self.batches - 1) // self.batches

        def update(worker: int, begin: int, end: int) -> None:
            self.update(
                begin, end, first, self.batches, self.network, state.rows, self.fresh, self.members,
                state.strengths, self.prior, settings, key, self.scratch[worker], self.statistics[worker],
                self.worker_sums[worker],
            )  # fmt: skip

        def commit(_: int, begin: int, end: int) -> None:
            commit_range(begin, end, first, self.batches, state.rows, self.fresh)

        self.workers.deal(count, update)
        if count < WORTH_COMMITTING_TOGETHER:
            commit(0, 0, count)
        else:
            self.workers.share(count, commit)

    def _update_strengths(self, state: ScirState, inside: float, step: float, adapt: bool, key: Key) -> None:
        merge_members(self.statistics, state.sums, self.members)
        k = self.communities
        collect_pairs(self.statistics, state.strengths.value, self.inside[:k], self.inside_non_links[:k])
        self.inside_non_links[:k] *= self.non_link_weight
        self.inside[k] = max(self.links - inside, 0.0)
        outside = self.non_link_weight * self.non_links - self.inside_non_links[:k].sum()
        self.inside_non_links[k] = max(outside, 0.0)

        def update(_: int, begin: int, end: int) -> None:
            update_strengths(
                begin, end, self.inside, self.inside_non_links, self.prior.eta_link, self.prior.eta_non_link,
                step, adapt, key, state.strengths,
            )  # fmt: skip

        self.workers.share(k, update)
        if self.model.background is None:
            update_strengths(
                k, k + 1, self.inside, self.inside_non_links, self.prior.background_link,
                self.prior.background_non_link, step, adapt, key, state.strengths,
            )  # fmt: skip
            if adapt and state.sweep < BACKGROUND_HELD_DOWN:
                state.strengths.value[k] = min(
                    state.strengths.value[k], BACKGROUND_SHARE * self.graph.density
                )
