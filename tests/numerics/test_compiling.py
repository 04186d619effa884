"""Compiling is announced where something is compiled, and nowhere else."""

import numpy as np
from numba import njit

from blockmix.numerics import compiling
from blockmix.numerics.compiling import CompileLog, announce_compiling


def test_a_kernel_is_announced_when_it_is_compiled_and_not_when_it_runs_again():
    @njit
    def double(x):
        return 2 * x

    told: list[str] = []
    with announce_compiling(told.append) as log:
        double(np.float64(1.5))
    assert log.kernels == 1
    assert told[0].startswith("compiling kernels: once on a new machine")
    assert told[-1].startswith("compiled 1 kernel in ")
    again: list[str] = []
    with announce_compiling(again.append):
        double(np.float64(2.5))
    assert again == []


def test_a_kernel_compiled_inside_of_another_is_counted_and_its_time_is_not_counted_twice(monkeypatch):
    clock = iter([10.0, 11.0, 14.0, 20.0])
    monkeypatch.setattr(compiling.time, "monotonic", lambda: next(clock))
    told: list[str] = []
    log = CompileLog(told.append)
    log.on_start(None)
    log.on_start(None)
    log.on_end(None)
    log.on_end(None)
    assert (log.kernels, log.seconds) == (2, 4.0)
    assert len(told) == 1


def test_a_long_compilation_is_reported_again(monkeypatch):
    clock = iter([0.0, 3.0, 4.0, 6.0, 7.0])
    monkeypatch.setattr(compiling.time, "monotonic", lambda: next(clock) + 100.0)
    told: list[str] = []
    log = CompileLog(told.append)
    for _ in range(2):
        log.on_start(None)
        log.on_end(None)
    log.on_start(None)
    assert len(told) == 2
    assert told[1] == "compiling kernels: 2 compiled in 5 s"
