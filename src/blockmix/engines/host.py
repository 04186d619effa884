"""Engines in the memory of this process: compiled kernels on the CPU, and the plain reference for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Comm, Shard, Solo
from blockmix.graph.split import HeldOut
from blockmix.numerics.workers import Workers
from blockmix.tables.layout import Network


class CpuEngine:
    """Compiled kernels on the threads of this process."""

    name = "cpu"
    # Memberships are float32. A draw that falls within rounding of a boundary may go to either side of it.
    tolerance, other_draws = 1e-5, 0.01

    def __init__(self, workers: Workers, comm: Comm | None = None) -> None:
        self.workers = workers
        self.comm: Comm = Solo() if comm is None else comm

    def shard(self, data: HeldOut) -> Shard:
        """Return all of the data: a node's place is its name."""
        graph = data.training
        network = Network(graph.offsets, graph.neighbors, data.hidden_offsets, data.hidden_neighbors)
        return Shard(network, np.arange(graph.n_nodes, dtype=np.uint32))

    def put(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array as it is."""
        return array

    def get(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array as it is."""
        return array


class ReferenceEngine(CpuEngine):
    """Plain Python in float64, as close to the equations as it can be written: slow, for tests."""

    name = "reference"
    tolerance, other_draws = 0.0, 0.0
