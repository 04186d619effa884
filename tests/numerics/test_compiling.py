"""Compiling is announced where something is compiled, and nowhere else."""

import numpy as np
from numba import njit

import blockmix as bm
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
    assert told[0] == "compiling kernels of the sampler: once on a new machine, about half a minute for all"
    assert told[-1].startswith("compiled 1 kernel of the sampler in ")
    again: list[str] = []
    with announce_compiling(again.append):
        double(np.float64(2.5))
    assert again == []


def test_a_kernel_compiled_inside_of_another_is_counted_and_its_time_is_not_counted_twice(monkeypatch):
    clock = iter([10.0, 11.0, 14.0, 20.0])
    monkeypatch.setattr(compiling.time, "monotonic", lambda: next(clock))
    told: list[str] = []
    log = CompileLog(told.append, "for reading", "a few seconds")
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
    log = CompileLog(told.append, "for reading", "a few seconds")
    for _ in range(2):
        log.on_start(None)
        log.on_end(None)
    log.on_start(None)
    assert len(told) == 2
    assert told[1] == "compiling kernels for reading: 2 compiled in 5 s"


def test_reading_a_network_names_what_it_compiles(tmp_path, monkeypatch, capsys):
    from blockmix.cli.reading import read_network
    from blockmix.graph.reading import read

    def compiling(*_, **__):
        njit(lambda x: x + 3)(1)
        return bm.Graph.from_edges([("a", "b")])

    monkeypatch.setattr(read, "read_graph", compiling)
    read_network("edges.txt", None, None, quiet=False)
    assert (
        "compiling kernels for reading: once on a new machine, a few seconds for all"
        in capsys.readouterr().err
    )
    read_network("edges.txt", None, None, quiet=True)
    assert capsys.readouterr().err == ""
