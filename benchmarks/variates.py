"""Nanoseconds a draw for every variate, one thread, Philox included.

    python benchmarks/variates.py [--draws N] [--repeats R] [--json FILE]

The parameter changes a little from draw to draw, as it does in the samplers, so that nothing that depends on
it can be moved out of the loop. The figure is the smallest of several repeats, since the others measure
what else the machine was doing.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import njit

from blockmix.numerics.philox import philox4x32, stream_key, stream_word
from blockmix.numerics.special import expint_e1
from blockmix.numerics.variates import (
    exponential,
    gamma,
    levy_jump,
    log_gamma_variate,
    normal,
    poisson,
    uniform,
)

LOOP_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(**LOOP_OPTIONS)
def philox_sum(k0: int, k1: int, c0: int, c1: int, c2: int, c3: int) -> float:
    w0, w1, w2, w3 = philox4x32(c0, c1, c2, c3, k0, k1)
    return float(np.int64(w0 ^ w1 ^ w2 ^ w3))


def loop_without_parameter(draw: Any) -> Callable[[float, int], float]:
    k0, k1 = (np.uint32(word) for word in stream_key(1, 0))
    c2 = np.uint32(stream_word(1, 0))

    @njit(**LOOP_OPTIONS)
    def loop(_parameter: float, draws: int) -> float:
        total = 0.0
        for i in range(draws):
            total += draw(k0, k1, np.uint32(i), np.uint32(0), c2, np.uint32(0))
        return total

    return loop


def loop_with_parameter(draw: Any) -> Callable[[float, int], float]:
    k0, k1 = (np.uint32(word) for word in stream_key(1, 0))
    c2 = np.uint32(stream_word(1, 0))

    @njit(**LOOP_OPTIONS)
    def loop(parameter: float, draws: int) -> float:
        total = 0.0
        for i in range(draws):
            moved = parameter * (1.0 + 0.001 * (i & 15))
            total += draw(moved, k0, k1, np.uint32(i), np.uint32(0), c2, np.uint32(0))
        return total

    return loop


def loop_of_function(function: Any) -> Callable[[float, int], float]:
    @njit(**LOOP_OPTIONS)
    def loop(parameter: float, draws: int) -> float:
        total = 0.0
        for i in range(draws):
            total += function(parameter * (1.0 + 0.001 * (i & 15)))
        return total

    return loop


CASES: list[tuple[str, Callable[[float, int], float], list[float]]] = [
    ("philox4x32", loop_without_parameter(philox_sum), [0.0]),
    ("uniform", loop_without_parameter(uniform), [0.0]),
    ("normal", loop_without_parameter(normal), [0.0]),
    ("exponential", loop_without_parameter(exponential), [0.0]),
    ("gamma", loop_with_parameter(gamma), [1e-3, 0.05, 0.5, 1.0, 1.5, 3.0, 30.0, 1e3, 1e6]),
    ("log_gamma_variate", loop_with_parameter(log_gamma_variate), [1e-3, 0.5, 3.0]),
    (
        "poisson",
        loop_with_parameter(poisson),
        [0.0, 1e-3, 0.3, 1.0, 2.0, 5.0, 9.8, 15.7, 17.0, 30.0, 1e3, 1e6],
    ),
    ("levy_jump", loop_with_parameter(levy_jump), [1e-12, 1e-6, 1e-3, 0.1, 0.5, 1.0, 5.0, 49.0]),
    ("expint_e1", loop_of_function(expint_e1), [1e-6, 1e-2, 0.5, 1.9, 2.1, 5.0, 50.0]),
]


def nanoseconds(loop: Callable[[float, int], float], parameter: float, draws: int, repeats: int) -> float:
    loop(parameter, 10)
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        loop(parameter, draws)
        best = min(best, time.perf_counter() - start)
    return 1e9 * best / draws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=300_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for name, loop, parameters in CASES:
        for parameter in parameters:
            spent = nanoseconds(loop, parameter, options.draws, options.repeats)
            shown = f"{name}({parameter:g})" if len(parameters) > 1 else name
            print(f"{shown:28s}{spent:8.1f} ns", flush=True)
            rows.append({"variate": name, "parameter": parameter, "ns": round(spent, 2)})
    if options.json:
        machine = {
            "machine": platform.machine(),
            "processor": platform.processor(),
            "numba": numba.__version__,
        }
        options.json.write_text(
            json.dumps({"machine": machine, "draws": options.draws, "rows": rows}, indent=1)
        )


if __name__ == "__main__":
    main()
