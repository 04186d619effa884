"""The plain baseline that speeds are given as ratios to: the sparse diffusion as one would write it first.

One thread, numba, numpy's random numbers, float64 throughout, one node after the other in place; at most 16 neighbours,
their communities as candidates (the pull of warm-up), non-links to first order ((S1) to (S5), (P1) to (P5)). It
is not tuned and must stay as it is: a figure "2.5 times the baseline" then means the same on every machine.
"""

# ruff: noqa: NPY002, numba has numpy's old random functions, and they are what one would write first
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

NEIGHBORS, STEP, SMALLEST, CUT = 16, 0.5, 0.001, 0.02


class Plain(NamedTuple):
    """State of the baseline: communities and phi of every node's slots (-1 ends a row), S_k, strengths, background."""

    ids: np.ndarray
    phi: np.ndarray
    sums: np.ndarray
    strengths: np.ndarray
    background: float


@njit(cache=True)
def exponential_integral(x: float) -> float:
    """E1(x) for small x, by its series."""
    total, term = -0.5772156649015329 - math.log(x), 1.0
    for n in range(1, 40):
        term *= -x / n
        total -= term / n
    return total


@njit(cache=True)
def cir(phi: float, shape: float, rate: float) -> float:
    """(S2) The transition of the diffusion over a step."""
    decay = math.exp(-rate * STEP / 2.0)
    scale = rate / (1.0 - decay)
    return np.random.gamma(shape + np.random.poisson(scale * phi * decay)) / scale


@njit(cache=True)
def birth_size(x: float) -> float:
    """(P2) A draw from e^(-t)/t on t > x, by rejection from 1/t on (x, x + 30)."""
    width = math.log((x + 30.0) / x)
    while True:
        t = x * math.exp(width * np.random.random())
        if np.random.random() < math.exp(x - t):
            return t


@njit(cache=True)
def update(a, offsets, neighbors, state, alpha, expected, place, known, phi, pi, gain, near):  # type: ignore[no-untyped-def]
    """One node: links (S4) and candidates (P1), non-links (S3), the move (S2), births (P2), truncation (P3)."""
    ids, table, sums, strengths, delta = state
    slots = ids.shape[1]
    own, total = 0, 0.0
    while own < slots and ids[a, own] >= 0:
        total += table[a, own]
        own += 1
    for j in range(own):
        k = ids[a, j]
        place[k], known[j], phi[j], pi[j] = j, k, table[a, j], table[a, j] / total
        gain[j], near[j] = 0.0, 0.0
        sums[k] -= pi[j]
    degree = offsets[a + 1] - offsets[a]
    reads = min(degree, NEIGHBORS)
    weight = degree / max(reads, 1)
    start, background_gain, count = np.random.random() * weight, 0.0, own
    for i in range(reads):
        b = neighbors[offsets[a] + min(int(start + i * weight), degree - 1)]
        whole = 0.0
        for j in range(slots):
            if ids[b, j] < 0:
                break
            whole += table[b, j]
        z = delta
        for j in range(slots):
            if ids[b, j] < 0:
                break
            at = place[ids[b, j]]
            if at < 0 and table[b, j] > CUT * whole and count < len(known) - 64:
                at, count = count, count + 1
                place[ids[b, j]], known[at], phi[at], pi[at] = at, ids[b, j], 0.0, alpha / total
                gain[at], near[at] = 0.0, 0.0
            if at >= 0:
                z += (strengths[ids[b, j]] - delta) * pi[at] * table[b, j] / whole
        background_gain += weight * delta / z
        for j in range(slots):
            if ids[b, j] < 0:
                break
            at = place[ids[b, j]]
            if at >= 0:
                gain[at] += weight * (strengths[ids[b, j]] - delta) * table[b, j] / whole / z
                near[at] += weight * table[b, j] / whole
    mean = 0.0
    for j in range(count):
        near[j] = (strengths[known[j]] - delta) * max(sums[known[j]] - near[j], 0.0) / (1.0 - delta)
        mean += pi[j] * near[j]
    for j in range(count):
        shape, rate = alpha + pi[j] * (background_gain + gain[j]), 1.0
        if mean > near[j]:
            shape += pi[j] * (mean - near[j])
        else:
            rate += (near[j] - mean) / total
        phi[j] = cir(phi[j], shape, rate)
    scale = 1.0 / (1.0 - math.exp(-STEP / 2.0))
    for _ in range(min(np.random.poisson(expected), 64)):
        k = np.random.randint(0, len(sums))
        if place[k] < 0:
            place[k], known[count], phi[count] = count, k, birth_size(SMALLEST * scale) / scale
            count += 1
    write(a, count, ids, table, sums, place, known, phi)


@njit(cache=True)
def write(a, count, ids, table, sums, place, known, phi):  # type: ignore[no-untyped-def]
    """(P3) Keep the largest, at least one, and bring S_k up to date."""
    order = np.argsort(-phi[:count])
    kept, total = 0, 0.0
    for i in range(count):
        at = order[i]
        place[known[at]] = -1
        if kept < ids.shape[1] and (kept == 0 or phi[at] >= SMALLEST):
            ids[a, kept], table[a, kept] = known[at], max(phi[at], SMALLEST)
            total += table[a, kept]
            kept += 1
    if kept < ids.shape[1]:
        ids[a, kept] = -1
    for j in range(kept):
        sums[ids[a, j]] += table[a, j] / total


@njit(cache=True)
def sweep(offsets, neighbors, state, alpha):  # type: ignore[no-untyped-def]
    """Update every node once."""
    communities, room = len(state.sums), (NEIGHBORS + 1) * state.ids.shape[1] + 64
    place, known = np.full(communities, -1), np.empty(room, np.int64)
    phi, pi, gain, near = np.empty(room), np.empty(room), np.empty(room), np.empty(room)
    scale = 1.0 / (1.0 - math.exp(-STEP / 2.0))
    expected = communities * alpha * exponential_integral(SMALLEST * scale)
    for a in range(len(offsets) - 1):
        update(a, offsets, neighbors, state, alpha, expected, place, known, phi, pi, gain, near)


def plain_state(words: np.ndarray, total: np.ndarray, strengths: np.ndarray) -> Plain:
    """The baseline at the state of a chain of blockmix: the words of its rows, their totals, its strengths."""
    ids = words[:, ::2].astype(np.int64)
    used = np.cumprod(ids >= 0, axis=1).astype(bool)
    pi = np.where(used, words.view(np.float32)[:, 1::2], 0.0).astype(np.float64)
    sums = np.bincount(ids[used], weights=pi[used], minlength=len(strengths) - 1)
    return Plain(
        np.where(used, ids, -1), pi * total[:, None], sums, strengths[:-1].copy(), float(strengths[-1])
    )
