"""Networks that the tests of the loop share; made once, because they are frozen."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from blockmix import Graph, planted
from blockmix.generators.planted import Planted
from blockmix.inference.run_folder.snapshots import Snapshots, read_snapshot


@pytest.fixture(scope="session")
def small_planted() -> Planted:
    """300 nodes in 6 communities, one or two each: the truth predicts its links with an AUC of 0.83."""
    return planted(300, 6, degree=16, overlap=(1, 2), seed=3)


@pytest.fixture(scope="session")
def small(small_planted) -> Graph:
    """Return the network of `small_planted`."""
    return small_planted.graph


@pytest.fixture(scope="session")
def medium() -> Graph:
    """1,500 nodes: enough for each of the five batches of a sweep to be shared by three threads."""
    return planted(1500, 10, degree=10, seed=5).graph


@pytest.fixture(scope="session")
def same_run():
    """Return a function that compares two posteriors, and the last checkpoints of their folders, bit by bit."""
    timings = {"seconds", "total_seconds", "created", "peak_memory_bytes", "run", "resumed", "threads"}

    def last_arrays(folder):
        start = read_snapshot(folder / "checkpoint" / "start")
        return Snapshots(folder / "checkpoint", start.run).newest().arrays

    def compare(one, other, folders=()):
        for field in fields(one):
            mine, theirs = getattr(one, field.name), getattr(other, field.name)
            if isinstance(mine, np.ndarray):
                assert mine.dtype == theirs.dtype, field.name
                assert mine.tobytes() == theirs.tobytes(), field.name
        for mine, theirs in zip(sum(one.draws, ()), sum(other.draws, ()), strict=True):
            for field in fields(mine):
                np.testing.assert_array_equal(getattr(mine, field.name), getattr(theirs, field.name))
        for name in one.trace.keys() - {"seconds"}:
            np.testing.assert_array_equal(one.trace[name], other.trace[name], err_msg=name)
        if one.held_out is not None:
            pairs = [(one.held_out, other.held_out)]
            pairs += [(one.held_out.weights, other.held_out.weights)] if one.held_out.weights else []
            for mine, theirs in pairs:
                for name, array in vars(mine).items():
                    if isinstance(array, np.ndarray):
                        assert array.tobytes() == getattr(theirs, name).tobytes(), name
        facts, others = ({k: v for k, v in p.provenance.items() if k not in timings} for p in (one, other))
        assert facts == others
        if folders:
            left, right = (last_arrays(Path(folder)) for folder in folders)
            assert left.keys() == right.keys()
            for name in left.keys() - {"trace_seconds"}:
                assert left[name].dtype == right[name].dtype, name
                assert left[name].tobytes() == right[name].tobytes(), name

    return compare
