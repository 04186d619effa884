"""The summary of one chain: running means and variances, and the posterior samples kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.workers import Workers
from blockmix.tables.layout import Rows
from blockmix.tables.running import Running, add_sample, new_running
from blockmix.tables.samples import SampleStore

# Communities a node's running table can hold beyond the slots of one sample.
SPARE_ENTRIES = 8


class Moments(NamedTuple):
    """Means and variances of an approximation; `variance` has one column for each slot of `rows`."""

    rows: Rows
    variance: NDArray[np.float32]
    strength_mean: NDArray[np.float64]
    strength_variance: NDArray[np.float64]


@dataclass
class RunningPopularity:
    """Running mean, and sum of squared deviations, of the popularity of every node."""

    mean: NDArray[np.float32]
    deviation: NDArray[np.float32]

    def add(self, popularity: NDArray[np.float32], samples: int) -> None:
        """Add one sample, which `samples` counts, by Welford's rule."""
        change = popularity - self.mean
        self.mean += change / np.float32(samples)
        self.deviation += change * (popularity - self.mean)


@dataclass
class ChainSummary:
    """Running means and variances of memberships and strengths, and the posterior samples kept, of one chain.

    Strengths are followed as probabilities of a link. `popularity` is there in the popularity model only.
    """

    running: Running
    strength_mean: NDArray[np.float64]
    strength_deviation: NDArray[np.float64]
    kept: SampleStore = field(default_factory=SampleStore)
    samples: int = 0
    popularity: RunningPopularity | None = None

    @classmethod
    def empty(
        cls, nodes: int, communities: int, slots: int, strengths: tuple[int, ...] | None = None
    ) -> ChainSummary:
        """Return a summary of no samples; `strengths` is their shape, by default communities and background."""
        entries = min(slots + SPARE_ENTRIES, communities)
        shape = (communities + 1,) if strengths is None else strengths
        return cls(new_running(nodes, entries), np.zeros(shape), np.zeros(shape))

    def add(
        self, sweep: int, rows: Rows, strengths: NDArray[np.float64], workers: Workers, even_rest: bool = False,
        popularity: NDArray[np.float32] | None = None, unit: float | None = None,
    ) -> None:  # fmt: skip
        """Add the state of the chain after a sweep as one more sample; `even_rest` as in `samplers.contract`.

        The running means are those of listed communities: a rest is part of the posterior sample alone. With
        popularities, strengths are rates; `unit` is the mean weight of a unit where links have weights.
        """
        self.kept.offer(self.samples, sweep, rows, strengths, even_rest, popularity, unit)
        self.samples += 1
        if popularity is not None:
            strengths = -np.expm1(-strengths)
            if self.popularity is None:
                self.popularity = RunningPopularity(np.zeros_like(popularity), np.zeros_like(popularity))
            self.popularity.add(popularity, self.samples)
        samples = float(self.samples)

        def update(_: int, begin: int, end: int) -> None:
            add_sample(begin, end, samples, rows, self.running)

        workers.share(len(rows.total), update)
        change = strengths - self.strength_mean
        self.strength_mean += change / samples
        self.strength_deviation += change * (strengths - self.strength_mean)

    def replace(
        self, sweep: int, moments: Moments, sample: tuple[Rows, NDArray[np.float64]], number: int
    ) -> None:
        """Replace all moments by those of an approximation, and offer a sample drawn from it, from 0 on."""
        self.kept.offer(number, sweep, *sample)
        rows = moments.rows
        entries = rows.words[:, ::2]
        used = np.cumprod(entries >= 0, axis=1).astype(bool)
        width = entries.shape[1]
        self.running.community[:, :width] = np.where(used, entries, -1)
        self.running.mean[:, :width] = np.where(used, rows.weights[:, 1::2], 0.0)
        self.running.deviation[:, :width] = np.where(used, moments.variance, 0.0)
        self.strength_mean[...] = moments.strength_mean
        self.strength_deviation[...] = moments.strength_variance
        self.samples = 1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything the summary is, for a checkpoint."""
        found: dict[str, NDArray[Any]] = {
            f"running_{name}": table for name, table in self.running._asdict().items()
        }
        found |= {f"draws_{name}": array for name, array in self.kept.arrays().items()}
        if self.popularity is not None:
            found |= {f"popularity_{name}": array for name, array in vars(self.popularity).items()}
        return found | {
            "strength_mean": self.strength_mean,
            "strength_deviation": self.strength_deviation,
            "samples": np.array([self.samples], dtype=np.int64),
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]]) -> ChainSummary:
        """Restore the summary that `arrays` was made from."""
        popularity = None
        if "popularity_mean" in arrays:
            popularity = RunningPopularity(arrays["popularity_mean"], arrays["popularity_deviation"])
        return cls(
            Running(*(arrays[f"running_{name}"] for name in Running._fields)),
            arrays["strength_mean"],
            arrays["strength_deviation"],
            SampleStore.restore(
                {name.removeprefix("draws_"): a for name, a in arrays.items() if name.startswith("draws_")}
            ),
            int(arrays["samples"][0]),
            popularity,
        )

    @property
    def strength_sd(self) -> NDArray[np.float64]:
        """Posterior standard deviation of every strength, and last of the background."""
        return np.sqrt(np.maximum(self.strength_deviation, 0.0) / max(self.samples, 1))

    @property
    def nbytes(self) -> int:
        """Number of bytes held."""
        held = sum(a.nbytes for a in self.running) + sum(sample.nbytes for sample in self.kept.samples)
        return held if self.popularity is None else held + 2 * self.popularity.mean.nbytes
