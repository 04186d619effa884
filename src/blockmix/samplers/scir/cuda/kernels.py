"""The kernels of `scir` on a GPU: the twin of `CpuClosed` with link indicators. All arrays of a state are there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Engine
from blockmix.engines.cuda import CudaEngine
from blockmix.errors import InputError
from blockmix.samplers.scir.concentration import LARGEST_SMALL, TIMES_TRUNCATED, Evidence, draw_concentration
from blockmix.samplers.scir.constants import BACKGROUND_HELD_DOWN, BACKGROUND_SHARE
from blockmix.samplers.scir.cuda.frame import FRAME, MOVE, words_of
from blockmix.samplers.scir.cuda.memory import check_memory
from blockmix.samplers.scir.cuda.sources import MOST_SLOTS, definitions, source, tile_of
from blockmix.samplers.scir.cuda.space import Space, light_size
from blockmix.samplers.scir.frame import NodePriors
from blockmix.samplers.scir.kernels import Measures
from blockmix.samplers.scir.problem import Problem, ScirState, Sweep
from blockmix.tables.layout import FIXED_POINT

# Threads of a block of the kernels with one thread a node, community or pair; blocks of such a kernel at most.
THREADS, MOST_BLOCKS = 256, 4096
# Parts in which values are added up; each is read by one tile.
PARTS = 256


class CudaKernels:
    """Link indicators (G1) to (G4) with non-links in closed form (S5), and strengths (S6), on one GPU."""

    def __init__(self, problem: Problem, engine: Engine) -> None:
        assert isinstance(engine, CudaEngine)
        check_options(problem)
        check_memory(problem, engine.device)
        self.problem, self.device = problem, engine.device
        device, k, slots = self.device, problem.communities, problem.slots
        self.module = device.compile(source(device.head), definitions(slots, **light_size(slots)))
        self.network = [device.put(array) for array in _network_arrays(problem)]
        most = problem.batch(0)[1]
        self.fresh = device.zeros((most, 2 * slots), np.int32), device.zeros(most, np.float32)
        self.change, self.pairs = device.zeros((k, 2), np.int64), device.zeros((k, 2), np.int64)
        self.measured, self.large = device.zeros(3, np.int64), device.zeros(2, np.int64)
        self.links, self.non_links = device.zeros(k + 1, np.float64), device.zeros(k + 1, np.float64)
        self.parts = device.zeros(PARTS + 1, np.float64)
        self.slopes, self.pooled = device.zeros((2, k), np.float64), device.zeros((k, 2), np.int64)
        self.frames = device.zeros((problem.batches, len(FRAME)), np.int64)
        self.move = device.zeros(len(MOVE), np.int64)
        degrees = self.network[0][1:] - self.network[0][:-1]
        self.space = Space(problem, device, self.module, degrees)
        self.degree_counts = np.unique(problem.degrees, return_counts=True)
        self.isolated = int((problem.degrees == 0).sum())
        self._pairs: tuple[NDArray[np.int64] | None, Any] = None, None

    def priors(self, concentration: float) -> NodePriors:
        """Return the priors of nodes without links and of those with: two entries, not one a node."""
        return self.problem.priors(concentration)

    def start(self, name: str, items: int, *arguments: Any) -> None:
        """Start a kernel with one thread an item."""
        blocks = max(1, min(MOST_BLOCKS, -(-items // THREADS)))
        self.module.launch(name, blocks, THREADS, *arguments)

    def _sum(self, values: Any, count: int) -> Any:
        """Add up values on the device, always in the same order; returns an array of one."""
        blocks = -(-PARTS * tile_of(self.problem.slots) // THREADS)
        self.module.launch("sum_parts", blocks, THREADS, values, count, PARTS, self.parts)
        self.module.launch("sum_parts", 1, THREADS, self.parts, PARTS, 1, self.parts[PARTS:])
        return self.parts[PARTS:]

    def set_frames(self, state: ScirState, sweep: Sweep) -> None:
        """Write what the kernels of a sweep read, one frame a batch."""
        self.device.copy(self._frames(state, sweep), self.frames)

    def _frames(self, state: ScirState, sweep: Sweep | None) -> NDArray[np.int64]:
        problem, strengths, priors = self.problem, state.strengths, state.priors
        low, high, number = (0, 0, 0) if sweep is None else (int(word) for word in sweep.key)
        names = ("offsets", "neighbors", "hidden_offsets", "hidden_neighbors")
        values = dict(zip(names, self.network, strict=True)) | {
            "rows": state.rows.words, "total": state.rows.total, "fresh": self.fresh[0], "fresh_total": self.fresh[1],
            "sums": state.sums, "change": self.change, "pairs": self.pairs, "measured": self.measured,
            "value": strengths.value, "strength_total": strengths.total, "expansion": strengths.expansion,
            "links": self.links, "non_links": self.non_links, "nodes": problem.nodes,
            "communities": problem.communities, "alpha_unlinked": priors.alpha[0], "alpha_linked": priors.alpha[1],
            "smallest_unlinked": priors.smallest[0], "smallest_linked": priors.smallest[1],
            "cut": problem.options.cut, "weight": problem.non_link_weight, "low": low, "high": high, "sweep": number,
        }  # fmt: skip
        return np.stack(
            [
                words_of(FRAME, values | {"first": batch, "stride": problem.batches, "background": 0.0})
                for batch in range(problem.batches)
            ]
        )

    def begin(self, state: ScirState, sweep: Sweep) -> None:
        """Write the frames of the sweep."""
        self.set_frames(state, sweep)
        self.space.counters.fill(0)

    def redraw(self, batch: int, state: ScirState, sweep: Sweep) -> None:
        """Draw new rows for the nodes of a batch, then copy them into the table and bring S_k and Q_k up to date."""
        frame, (_, count) = self.frames[batch], self.problem.batch(batch)
        for launch in self.space.launches[batch]:
            self.module.launch(
                launch.kernel, launch.blocks, launch.threads, frame, launch.work, shared=launch.shared
            )
        self.start("commit", count * self.problem.slots, frame)
        self.start("merge", 2 * self.problem.communities, frame)

    def redraw_all(self, state: ScirState, sweep: Sweep) -> None:
        """Redraw batch by batch."""
        for batch in range(self.problem.batches):
            self.redraw(batch, state, sweep)

    def update_strengths(self, state: ScirState, sweep: Sweep) -> None:
        """(S6) Draw the strengths, then the background where it is learned."""
        problem, k, frame = self.problem, self.problem.communities, self.frames[0]
        prior = problem.strength_prior
        held = sweep.warm_up and state.sweep < BACKGROUND_HELD_DOWN
        move = {
            "link_prior": prior[0, 0], "non_link_prior": prior[0, 1], "background_link_prior": prior[k, 0],
            "background_non_link_prior": prior[k, 1], "step": sweep.settings.step, "adapt": float(sweep.warm_up),
            "all_links": problem.links, "all_non_links": problem.non_link_weight * problem.non_links,
            "most_background": BACKGROUND_SHARE * problem.density if held else 1.0,
        }  # fmt: skip
        self.device.copy(words_of(MOVE, move), self.move)
        self.start("draw_strengths", k, frame, self.move)
        if problem.model.background is None:
            self.module.launch("draw_background", 1, THREADS, frame, self.move, self._sum(self.non_links, k))

    def draw_concentration(self, state: ScirState, sweep: Sweep) -> float:
        """(Q3) Draw K alpha given the rows of all nodes."""
        problem, truncated = self.problem, TIMES_TRUNCATED * self.problem.smallest(state.concentration)
        self.large.fill(0)
        self.start("large_components", problem.nodes, self.frames[0], truncated, LARGEST_SMALL, self.large)
        degrees, counts = self.degree_counts
        small = truncated / np.maximum(degrees, 1)
        used = (degrees > 0) & (small <= LARGEST_SMALL)
        kept, excess = (int(value) for value in self.device.get(self.large))
        given = Evidence(
            float(counts[used].sum()), float(problem.communities), float(kept), excess / FIXED_POINT,
            float((counts[used] * np.log(small[used])).sum()),
        )  # fmt: skip
        return float(draw_concentration(state.concentration, given, sweep.key))

    def measures(self) -> Measures:
        """Return what the sweep measured."""
        inside, dropped, accepted = (float(value) / FIXED_POINT for value in self.device.get(self.measured))
        self.measured.fill(0)
        return Measures(inside, dropped / self.problem.nodes, accepted / self.problem.nodes)

    def forecast(
        self, state: ScirState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (M1) of every pair; `out` is an array of the host or of the device."""
        if len(pairs) == 0:
            return
        there = self.device.put(out) if isinstance(out, np.ndarray) else out
        self.forecast_there(state, self.pairs_there(pairs), keep, share, there)
        if there is not out:
            out[...] = self.device.get(there)

    def pairs_there(self, pairs: NDArray[np.int64]) -> Any:
        """Return pairs on the device: those of the last call are there already."""
        if self._pairs[0] is not pairs:
            self._pairs = pairs, self.device.put(np.ascontiguousarray(pairs))
        return self._pairs[1]

    def forecast_there(self, state: ScirState, pairs: Any, keep: float, share: float, out: Any) -> None:
        """Do the same with arrays of the device."""
        # The state may be another than that of the last sweep.
        self.device.copy(self._frames(state, None), self.frames)
        frame, k = self.frames[0], self.problem.communities
        if self.isolated:
            self.pooled.fill(0)
            self.start("pool_rows", self.problem.nodes, frame, self.pooled)
            self.start(
                "pooled_slopes", k, frame, self.pooled, float(self.isolated), self.slopes[0], self.slopes[1]
            )
        between = self._sum(self.slopes[1], k)
        self.start(
            "forecast", len(pairs), frame, pairs, len(pairs), self.slopes[0], between, keep, share, out
        )


def _network_arrays(problem: Problem) -> list[NDArray[Any]]:
    """Return the network as the kernels read it: offsets of 64 bits, neighbours of 32."""
    network = problem.shard.network
    return [
        np.ascontiguousarray(array, dtype=np.int64 if at % 2 == 0 else np.int32)
        for at, array in enumerate(network)
    ]


def check_options(problem: Problem) -> None:
    """Refuse what the kernels do not have, with the remedy."""
    options = problem.options
    if options.local_move != "indicators":
        raise InputError(
            "the device 'cuda' has the link indicators only: leave out moves, form and non_links, or use device='cpu'"
        )
    if problem.exact:
        asked = "exact=True" if options.exact else f"a network of {problem.nodes:,} nodes"
        raise InputError(
            f"the device 'cuda' has non-links in closed form only, and {asked} has them summed exactly, node by node: "
            "use device='cpu', or exact=False (--set exact=false)"
        )
    if problem.slots > MOST_SLOTS:
        raise InputError(
            f"the device 'cuda' has rows of at most {MOST_SLOTS} slots, not {problem.slots}: "
            "use fewer slots, or device='cpu'"
        )
