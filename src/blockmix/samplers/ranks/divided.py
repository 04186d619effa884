"""A chain whose nodes are divided among ranks, for networks that move in batches.

No step of a chain depends on where a node is stored, and all sums over nodes are integers: so it has the same bits on
any number of ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Engine, Shard
from blockmix.engines.halo import Halo
from blockmix.engines.host import CpuEngine
from blockmix.engines.shards import InMemory, Layout, Part, cut, divide
from blockmix.engines.slices import Mapped, sees
from blockmix.graph.split import HeldOut
from blockmix.graph.storage import Saved
from blockmix.numerics.workers import Workers
from blockmix.samplers.contract import ChainKey, Info, Sampler
from blockmix.samplers.live import HostChain, arrays_of_chain
from blockmix.samplers.ranks.parts import (
    joined,
    joined_sample,
    joined_summary,
    part_of_state,
    part_of_summary,
)
from blockmix.samplers.ranks.team import RankComm, Team
from blockmix.tables.layout import Network
from blockmix.tables.samples import PosteriorSample, SampleStore
from blockmix.tables.summary import ChainSummary

# Of a problem that goes to every rank: each puts its own in its place.
_NONE = np.zeros(1, dtype=np.int64)
EMPTY = Shard(Network(_NONE, _NONE[:0], _NONE, _NONE[:0]), np.empty(0, dtype=np.uint32))


class Divisible(Sampler, Protocol):
    """A sampler whose nodes several processes can update; `node_arrays` are those of its arrays with a row a node."""

    problem: Any
    engine: Engine
    node_arrays: tuple[str, ...]
    divisible: bool

    @classmethod
    def of_part(cls, problem: Any, engine: Engine) -> Any:
        """Return the sampler of a process that has a part of the data."""


class Task(NamedTuple):
    """What a rank is handed once a run: its part, its sampler's class and problem, and its threads.

    Where the network is saved and all ranks see it, each cuts its own part from there: then `part` is None.
    """

    part: Part | None
    sampler: type[Divisible]
    problem: Any
    threads: int | None


class HeldPairs(NamedTuple):
    """The held-out pairs, and which of them are links."""

    pairs: NDArray[np.int64]
    links: NDArray[np.bool_]


class Started(NamedTuple):
    """What a rank is handed to begin or go on with a chain."""

    key: ChainKey
    arrays: dict[str, NDArray[Any]]
    forecast: NDArray[np.float64]
    summary: ChainSummary | None


class Divided:
    """One rank's part of every chain. The methods are the orders of rank 0."""

    def __init__(self, comm: RankComm) -> None:
        self.comm = comm
        self.chains: list[HostChain] = []
        self.sampler: Divisible | None = None
        self.pairs = np.empty((0, 2), dtype=np.int64)

    def settle(self, parts: Iterable[Task] = ()) -> list[int]:
        """Take this rank's part of the network, and agree with the others on what is exchanged.

        Returns how many rows each rank will send in a sweep.
        """
        task: Task = self.comm.hand_out(parts)
        assert task.part is not None
        return self._take(task.part, task)

    def sees(self, saved: Saved) -> list[str]:
        """Gather why ranks cannot read a saved network; nothing from those that can."""
        return self.comm.gather(sees(saved))

    def settle_from(self, saved: Saved, layout: Layout, held_out: HeldPairs, task: Task) -> list[int]:
        """Cut this rank's part from the saved network, and do as `settle` does."""
        return self._take(cut(layout, Mapped(saved, *held_out), self.comm.rank), task)

    def _take(self, part: Part, task: Task) -> list[int]:
        shard = as_kernels_expect(part.shard)
        self.comm.halo, self.pairs = Halo.of(part, self.comm), part.pairs
        workers = self.comm.workers = Workers(task.threads or self.comm.threads)
        self.sampler = task.sampler.of_part(task.problem.part(shard), CpuEngine(workers, self.comm))
        return self.comm.gather(self.comm.halo.rows_sent)

    def begin(self, parts: Iterable[Started] = ()) -> None:
        """Take this rank's part of one more chain."""
        given: Started = self.comm.hand_out(parts)
        assert self.sampler is not None
        problem, own = self.sampler.problem, self.sampler.node_arrays
        ghosts = len(problem.shard.names) - problem.shard.own
        padded = {n: with_ghosts(a, ghosts) if n in own else a for n, a in given.arrays.items()}
        state = self.sampler.restore(padded)
        for batch in range(problem.batches):
            self.comm.exchange(state.rows, batch)
        chain = HostChain(
            self.sampler, state, given.key, self.pairs, given.summary, forecast=np.array(given.forecast)
        )
        chain.summary().kept.add_up = self.comm.add
        self.chains.append(chain)

    def advance(self, number: int, warm_up: bool, samples: int) -> None:
        """Make one sweep of a chain."""
        self.chains[number].advance(warm_up, samples)

    def record_last(self, number: int) -> None:
        """Take the current state as the only posterior sample."""
        self.chains[number].record_last()

    def forecast(self, number: int) -> list[NDArray[np.float64]]:
        """Gather the predictions."""
        return self.comm.gather(self.chains[number].forecast())

    def summary(self, number: int) -> list[ChainSummary]:
        """Gather the summaries."""
        summary = self.chains[number].summary()
        kept = SampleStore(summary.kept.limit, summary.kept.every, summary.kept.samples)
        return self.comm.gather(replace(summary, kept=kept))

    def draws(self, number: int) -> list[list[PosteriorSample]]:
        """Gather the posterior samples."""
        return self.comm.gather(self.chains[number].draws())

    def state(self, number: int) -> list[dict[str, NDArray[Any]]]:
        """Gather the arrays of the state that have a row a node, without ghosts."""
        chain, sampler = self.chains[number], self.sampler
        assert sampler is not None
        arrays = sampler.arrays(chain.state)
        return self.comm.gather({name: arrays[name][: sampler.nodes] for name in sampler.node_arrays})


class Division:
    """Which nodes and which scored pairs each rank has."""

    def __init__(self, team: Team, layout: Layout) -> None:
        self.team, self.layout = team, layout
        self.names = [layout.own(rank) for rank in range(team.comm.size)]
        self.numbers = [layout.numbers(rank) for rank in range(team.comm.size)]

    def settle(self, data: HeldOut, saved: Saved | None, task: Task) -> None:
        """Give every rank its part: it reads it where the network is saved, or it is sent from here."""
        unseen = self.team.order("sees", saved) if saved is not None else [""]
        if saved is not None and not any(unseen):
            held_out = HeldPairs(data.pairs, data.links)
            sent, how = self.team.order("settle_from", saved, self.layout, held_out, task), "reads its own"
        else:
            blind = next(
                (f"rank {i}: {why}" for i, why in enumerate(unseen) if why), "the network is in memory"
            )
            sent = self.team.order("settle", parts=self._tasks(data, task))
            how = f"has been sent its own ({blind})"
        self.team.shared = f"nodes are divided, each rank {how}, {sum(sent):,} rows are sent a sweep"

    def _tasks(self, data: HeldOut, task: Task) -> Iterator[Task]:
        """Make the task of one rank after the other."""
        for rank in range(self.team.comm.size):
            yield task._replace(part=cut(self.layout, InMemory(data), rank))

    def parts(self, chain: HostChain) -> Iterator[Started]:
        """Make the part of a chain for one rank after the other."""
        sampler = cast(Divisible, chain.sampler)
        arrays, kept = sampler.arrays(chain.state), chain.summary()
        for names, numbers in zip(self.names, self.numbers, strict=True):
            summary = part_of_summary(kept, names) if kept.samples else None
            state = part_of_state(arrays, sampler.node_arrays, names)
            yield Started(chain.key, state, chain.forecast()[numbers], summary)


def take_over(
    team: Team, chains: Sequence[HostChain], data: HeldOut, threads: int | None, saved: Saved | None = None
) -> list[DividedChain]:
    """Divide chains that were started or restored here among all ranks; `saved` is where the whole network is saved."""
    sampler = cast(Divisible, chains[0].sampler)
    # Nodes that start in one community stay together: most of their links are then on one rank.
    first = sampler.memberships(chains[0].state).words[:, 0]
    owner = divide(first, data.training.degrees, team.comm.size)
    division = Division(team, Layout.of(data, owner, team.comm.size, sampler.problem.batches))
    team.share_as("divided")
    division.settle(data, saved, Task(None, type(sampler), sampler.problem.part(EMPTY), threads))
    for chain in chains:
        team.order("begin", parts=division.parts(chain))
    return [DividedChain(division, number) for number in range(len(chains))]


class DividedChain:
    """A chain that all ranks have a part of, as the loop on rank 0 drives it."""

    def __init__(self, division: Division, number: int) -> None:
        self.division, self.team, self.number = division, division.team, number

    @property
    def own(self) -> HostChain:
        """The part of rank 0."""
        found: HostChain = self.team.work.chains[self.number]
        return found

    def advance(self, warm_up: bool, samples: int) -> None:
        """Make one sweep on all ranks."""
        self.team.order("advance", self.number, warm_up, samples)

    def record_last(self) -> None:
        """Take the current state as the only posterior sample."""
        self.team.order("record_last", self.number)

    def info(self) -> Info:
        """Return what the last sweep measured: sums over all ranks."""
        return self.own.info()

    def forecast(self) -> NDArray[np.float64]:
        """Return the link probabilities of the held-out pairs, in their order."""
        return joined(self.team.order("forecast", self.number), self.division.numbers)

    def draws(self) -> list[PosteriorSample]:
        """Return the posterior samples kept, of all nodes."""
        parts = self.team.order("draws", self.number)
        return [joined_sample(sample, self.division.names) for sample in zip(*parts, strict=True)]

    def summary(self) -> ChainSummary:
        """Return the summary of all nodes."""
        return joined_summary(self.team.order("summary", self.number), self.division.names)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything the chain is: the same arrays as on one process."""
        parts = self.team.order("state", self.number)
        whole = {name: joined([part[name] for part in parts], self.division.names) for name in parts[0]}
        state = self.own.sampler.arrays(self.own.state) | whole
        return arrays_of_chain(state, self.forecast(), self.summary())


def as_kernels_expect(shard: Shard) -> Shard:
    """Return the shard with links that are read-only, as those of a whole network are: one compiled kernel for both."""
    network = Network(*(array.view() for array in shard.network))
    network.offsets.flags.writeable = network.neighbors.flags.writeable = False
    hidden = Network(*network[:2], *(np.require(array, requirements="W") for array in network[2:]))
    return shard._replace(network=hidden, names=np.require(shard.names, requirements="W"))


def with_ghosts(array: NDArray[Any], ghosts: int) -> NDArray[Any]:
    """Return an array with a row a node, and behind it rows for ghosts, which the first exchange fills.

    What stands there until then is a row that passes for one: all of the weight in the first community.
    """
    shape = (ghosts, *array.shape[1:])
    if array.dtype != np.int32:
        return np.concatenate((array, np.ones(shape, dtype=array.dtype)))
    words = np.full(shape, -1, dtype=np.int32)
    words[:, 0], words.view(np.float32)[:, 1] = 0, 1.0
    return np.concatenate((array, words))
