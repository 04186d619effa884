"""What one chain leaves behind: running summaries, draws, traces."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blockmix.kernels.layout import Rows
from blockmix.kernels.running import Running, add_sample, new_running
from blockmix.kernels.workers import Workers
from blockmix.posterior.draws import DrawStore

# Communities a node's running table has room for beyond the slots of one sample.
SPARE_ENTRIES = 8


@dataclass
class ChainSummary:
    """Running means and variances of memberships and strengths, and the draws kept, of one chain."""

    running: Running
    strength_mean: NDArray[np.float64]
    strength_deviation: NDArray[np.float64]
    draws: DrawStore = field(default_factory=DrawStore)
    samples: int = 0

    @classmethod
    def empty(cls, nodes: int, communities: int, slots: int) -> ChainSummary:
        """A summary of no samples yet."""
        entries = min(slots + SPARE_ENTRIES, communities)
        return cls(new_running(nodes, entries), np.zeros(communities + 1), np.zeros(communities + 1))

    def add(self, sweep: int, rows: Rows, strengths: NDArray[np.float64], workers: Workers) -> None:
        """Take in the state of the chain after a sweep as one more sample."""
        self.draws.offer(self.samples, sweep, rows, strengths)
        self.samples += 1
        samples = float(self.samples)

        def update(_: int, begin: int, end: int) -> None:
            add_sample(begin, end, samples, rows, self.running)

        workers.share(len(rows.total), update)
        change = strengths - self.strength_mean
        self.strength_mean += change / samples
        self.strength_deviation += change * (strengths - self.strength_mean)

    @property
    def strength_sd(self) -> NDArray[np.float64]:
        """Posterior standard deviation of every strength, and last of the background."""
        return np.sqrt(np.maximum(self.strength_deviation, 0.0) / max(self.samples, 1))

    @property
    def nbytes(self) -> int:
        """Bytes held by the summaries and draws."""
        return sum(a.nbytes for a in self.running) + sum(d.nbytes for d in self.draws.draws)
