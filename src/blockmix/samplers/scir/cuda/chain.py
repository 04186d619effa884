"""A chain on the GPU, as the loop drives it: sweeps, predictions and summaries stay there (`LiveChain`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.samplers.contract import Arrays, ChainKey, Info
from blockmix.samplers.live import below
from blockmix.samplers.scir.cuda.kernels import CudaKernels
from blockmix.samplers.scir.cuda.summary import CudaSummary
from blockmix.samplers.scir.problem import ScirState
from blockmix.samplers.scir.sampler import Scir
from blockmix.stored import check_finite, check_layout
from blockmix.tables.checks import check_summary
from blockmix.tables.samples import PosteriorSample
from blockmix.tables.summary import ChainSummary


class CudaChain:
    """One chain of the default sampler whose arrays are on the GPU. The loop sees scalars of every sweep."""

    def __init__(self, sampler: Scir, state: ScirState, key: ChainKey, pairs: NDArray[np.int64]) -> None:
        assert isinstance(sampler.kernels, CudaKernels)
        self.sampler, self.state, self.key = sampler, state, key
        self.kernels, self.device = sampler.kernels, sampler.kernels.device
        self._summary = CudaSummary(self.kernels)
        self._pairs = pairs
        self._forecast = self.device.zeros(len(pairs), np.float64)
        self._info = Info(0.0, 0)

    def advance(self, warm_up: bool, samples: int) -> None:
        """Make one sweep, predict, and record the state once samples count: see `HostChain.advance`."""
        self._info = self.sampler.step(self.state, self.key, warm_up)
        share = 2.0 / (samples + 1.0) if warm_up else 1.0 / samples
        self.sampler.predict(self.state, self._pairs, 1.0 - share, share, self._forecast)
        if not warm_up:
            self._summary.add(self.state)

    def record_last(self) -> None:
        """Take the current state as the only posterior sample."""
        self._summary.add(self.state)

    def info(self) -> Info:
        """Return what the last sweep measured."""
        return self._info

    def forecast(self) -> NDArray[np.float64]:
        """Return the link probabilities of the held-out pairs."""
        return self.device.get(self._forecast)

    def draws(self) -> list[PosteriorSample]:
        """Return the posterior samples kept."""
        return self._summary.kept.samples

    def summary(self) -> ChainSummary:
        """Return the running summaries, copied to the host."""
        return self._summary.summary()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return state, predictions and, once samples count, summaries, as any chain of this sampler has them."""
        found = {f"state_{name}": array for name, array in self.sampler.arrays(self.state).items()}
        found["forecast"] = self.forecast()
        if self._summary.samples:
            found |= {f"summary_{name}": array for name, array in self.summary().arrays().items()}
        return found

    @classmethod
    def start(cls, sampler: Scir, key: ChainKey, pairs: NDArray[np.int64], given: Any = None) -> CudaChain:
        """Start a chain where its sampler starts, or at the memberships that the user gave."""
        state = sampler.init(key) if given is None else sampler.init_at(key, given)
        return cls(sampler, state, key, pairs)

    @classmethod
    def restore(cls, sampler: Scir, key: ChainKey, pairs: NDArray[np.int64], arrays: Arrays) -> CudaChain:
        """Restore the chain that `arrays` was made from, on this device or another."""
        check_layout(arrays, {"forecast": (np.float64, (len(pairs),))})
        check_finite("forecast", arrays["forecast"])
        chain = cls(sampler, sampler.restore(below("state_", arrays)), key, pairs)
        if kept := below("summary_", arrays):
            check_summary(kept, sampler.nodes, sampler.communities, (sampler.communities + 1,), False)
            chain._summary = CudaSummary.restore(chain.kernels, kept)
        chain.device.copy(arrays["forecast"], chain._forecast)
        return chain
