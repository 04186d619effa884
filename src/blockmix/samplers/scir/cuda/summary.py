"""Running means and posterior samples of a chain on the GPU; the host gets them for checkpoints and at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.samplers.scir.cuda.frame import RUNNING, words_of
from blockmix.samplers.scir.cuda.kernels import CudaKernels
from blockmix.samplers.scir.problem import ScirState
from blockmix.tables.packed import LEAST_WEIGHT, WEIGHT_SCALE
from blockmix.tables.running import Running
from blockmix.tables.samples import PosteriorSample, SampleStore, number_type
from blockmix.tables.summary import SPARE_ENTRIES, ChainSummary


class CudaSummary:
    """The summary of one chain, as `tables.summary.ChainSummary`; of the running table entry i of all nodes comes
    before entry i + 1.
    """

    def __init__(self, kernels: CudaKernels) -> None:
        self.kernels, self.device = kernels, kernels.device
        problem = kernels.problem
        self.entries = min(problem.slots + SPARE_ENTRIES, problem.communities)
        shape = (self.entries, problem.nodes)
        self.community = self.device.zeros(shape, np.int32)
        self.community.fill(-1)
        self.mean, self.deviation = (self.device.zeros(shape, np.float32) for _ in range(2))
        self.lost = self.device.zeros(problem.nodes, np.float32)
        self.strength_mean, self.strength_deviation = (
            self.device.zeros(problem.communities + 1, np.float64) for _ in range(2)
        )
        self.kept, self.samples = SampleStore(), 0

    def add(self, state: ScirState) -> None:
        """Add the state of the chain as one more sample."""
        kernels, frame = self.kernels, self.kernels.frames[0]
        self.kept.offer_packed(self.samples, self.kernels.problem.nodes, lambda: self.pack(state))
        self.samples += 1
        running = {
            "community": self.community, "mean": self.mean, "deviation": self.deviation, "lost": self.lost,
            "entries": self.entries, "samples": float(self.samples),
        }  # fmt: skip
        words = self.device.put(words_of(RUNNING, running))
        kernels.start("add_sample", kernels.problem.nodes, frame, words)
        kernels.start(
            "add_strengths", kernels.problem.communities + 1, frame, float(self.samples), self.strength_mean,
            self.strength_deviation,
        )  # fmt: skip

    def pack(self, state: ScirState) -> PosteriorSample:
        """Pack the rows on the GPU, and copy what is packed to the host."""
        kernels, device, frame, nodes = (
            self.kernels, self.device, self.kernels.frames[0], self.kernels.problem.nodes
        )  # fmt: skip
        counts = device.zeros(nodes, np.uint8)
        kernels.start("count_used", nodes, frame, LEAST_WEIGHT, counts)
        ends = device.ends(counts)
        used = int(device.get(ends[-1:])[0])
        kind = number_type(kernels.problem.communities)
        numbers, weights = device.zeros(used, kind), device.zeros(used, np.uint16)
        kernels.start(
            "pack",
            nodes,
            frame,
            LEAST_WEIGHT,
            WEIGHT_SCALE,
            ends,
            counts,
            numbers,
            weights,
            np.dtype(kind).itemsize,
        )
        strengths = device.get(state.strengths.value).astype(np.float32)
        return PosteriorSample(
            state.sweep, device.get(counts), device.get(numbers), device.get(weights), strengths
        )

    def summary(self) -> ChainSummary:
        """Return the same summary in the memory of the host."""
        community, mean, deviation = (
            np.ascontiguousarray(self.device.get(table).T)
            for table in (self.community, self.mean, self.deviation)
        )
        running = Running(community, mean, deviation, self.device.get(self.lost))
        return ChainSummary(
            running, self.device.get(self.strength_mean), self.device.get(self.strength_deviation), self.kept,
            self.samples,
        )  # fmt: skip

    @classmethod
    def restore(cls, kernels: CudaKernels, arrays: Mapping[str, NDArray[Any]]) -> CudaSummary:
        """Restore the summary from the arrays of a `ChainSummary`, checked before."""
        found, known = cls(kernels), ChainSummary.restore(arrays)
        for table, array in zip((found.community, found.mean, found.deviation), known.running, strict=False):
            found.device.copy(np.ascontiguousarray(array.T), table)
        found.device.copy(known.running.lost, found.lost)
        found.device.copy(known.strength_mean, found.strength_mean)
        found.device.copy(known.strength_deviation, found.strength_deviation)
        found.kept, found.samples = known.kept, known.samples
        return found
