"""Whole chains spread over ranks: for small networks, whose nodes move one after the other, and for all samplers.

A chain depends on its key alone, so it has the same bits wherever it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import HeldOut
from blockmix.numerics.workers import Workers
from blockmix.samplers.contract import ChainKey, Info, Sampler
from blockmix.samplers.live import HostChain
from blockmix.samplers.ranks.team import RankComm, Team
from blockmix.tables.samples import PosteriorSample
from blockmix.tables.summary import ChainSummary


class Guests(NamedTuple):
    """What a rank is handed: the data, how to make the sampler, and key and arrays of each of its chains by number."""

    data: HeldOut
    make: Callable[[HeldOut, Workers], Sampler]
    threads: int | None
    chains: dict[int, tuple[ChainKey, dict[str, NDArray[Any]]]]


class Hosted:
    """The chains that one rank runs, each as it would run on one process. The methods are the orders of rank 0."""

    def __init__(self, comm: RankComm) -> None:
        self.comm, self.workers = comm, Workers(1)
        self.chains: dict[int, HostChain] = {}
        self.infos: dict[int, Info] = {}

    def settle(self, parts: Iterable[Guests] = ()) -> None:
        """Take in the chains of this rank."""
        guests: Guests = self.comm.hand_out(parts)
        self.workers = Workers(guests.threads or self.comm.threads)
        alone = len(guests.chains) == 1
        for number, (key, arrays) in guests.chains.items():
            sampler = guests.make(guests.data, self.workers if alone else Workers(1))
            self.chains[number] = HostChain.restore(sampler, key, guests.data.scored_pairs, arrays)

    def advance(self, warm_up: bool, samples: int) -> None:
        """Make one sweep of every chain here, several at a time, and let rank 0 know what they measured."""
        chains = list(self.chains.values())
        if chains:
            self.workers.each(len(chains), lambda i: chains[i].advance(warm_up, samples))
        for infos in self.comm.gather({number: chain.info() for number, chain in self.chains.items()}):
            self.infos |= infos

    def record_last(self) -> None:
        """Take the current states as the only posterior samples."""
        for chain in self.chains.values():
            chain.record_last()

    def get(self, what: str, number: int) -> Any:
        """Return the forecast, the summary or the arrays of a chain, on rank 0."""
        chain = self.chains.get(number)
        found = self.comm.gather(None if chain is None else getattr(chain, what)())
        return next((part for part in found if part is not None), None)


class HostedChain:
    """A chain that some rank runs, as the loop on rank 0 drives it. All chains advance when the first is asked to."""

    def __init__(self, team: Team, number: int) -> None:
        self.team, self.number = team, number

    def advance(self, warm_up: bool, samples: int) -> None:
        """Make one sweep of all chains; nothing where the first chain has asked for it."""
        if self.number == 0:
            self.team.order("advance", warm_up, samples)

    def record_last(self) -> None:
        """Take the current states of all chains as the only posterior samples, likewise."""
        if self.number == 0:
            self.team.order("record_last")

    def info(self) -> Info:
        """Return what the last sweep measured."""
        found: Info = self.team.work.infos[self.number]
        return found

    def forecast(self) -> NDArray[np.float64]:
        """Return the link probabilities of the held-out pairs."""
        return np.asarray(self.team.order("get", "forecast", self.number))

    def draws(self) -> list[PosteriorSample]:
        """Return the posterior samples kept."""
        found: list[PosteriorSample] = self.team.order("get", "draws", self.number)
        return found

    def summary(self) -> ChainSummary:
        """Return the running summaries and the posterior samples kept."""
        found: ChainSummary = self.team.order("get", "summary", self.number)
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything the chain is, for a checkpoint."""
        found: dict[str, NDArray[Any]] = self.team.order("get", "arrays", self.number)
        return found


def host_chains(
    team: Team,
    chains: Sequence[HostChain],
    data: HeldOut,
    make: Callable[[HeldOut, Workers], Sampler],
    threads: int | None,
) -> list[HostedChain]:
    """Spread chains that were started or restored here over all ranks; `make` makes their sampler."""
    size = team.comm.size
    placed: list[dict[int, Any]] = [{} for _ in range(size)]
    for number, chain in enumerate(chains):
        # From the last rank on: rank 0 has the run to look after as well.
        placed[-1 - number % size][number] = (chain.key, chain.arrays())
    team.share_as("hosted")
    team.shared = f"{len(chains)} chains are spread"
    team.order("settle", parts=(Guests(data, make, threads, mine) for mine in placed))
    return [HostedChain(team, number) for number in range(len(chains))]
