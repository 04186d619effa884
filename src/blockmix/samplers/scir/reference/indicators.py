"""The default local move in plain Python, (G1) to (G4): the law of the kernels without their lists and shortcuts.

Memberships are dictionaries from community to weight, in the order of the row. The random words are those of the
kernels, keyed the same way and used for the same decisions, so that the two give the same draws up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from blockmix.numerics import jumps
from blockmix.numerics.compile import from_python
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import (
    DRAW_BIRTH_SIZE,
    DRAW_BIRTHS,
    DRAW_KEEP,
    DRAW_LINK,
    DRAW_RETRY,
    DRAW_SIZE,
    DRAW_TEST,
)
from blockmix.numerics.variates import gamma, poisson, uniform32, uniform53
from blockmix.samplers.scir.constants import LEAST_LISTED, LEAST_TILT
from blockmix.samplers.scir.frame import EVERYWHERE, MAX_BIRTHS
from blockmix.samplers.scir.indicators.tilts import LEAST_NON_LINK, LEAST_REST, LEAST_SQUARES
from blockmix.samplers.scir.indicators.unshared import MOST_ATTEMPTS
from blockmix.samplers.scir.reference.diffusion import gauss_rule
from blockmix.tables.layout import Key

Row = dict[int, float]
# Kernels that others are compiled into cannot be called from Python as they are.
jump_envelope = from_python(jumps.jump_envelope)
propose_jump = from_python(jumps.propose_jump)
keep_probability = from_python(jumps.keep_probability)


@dataclass
class View:
    """What one node sees: its own row and total, rows of neighbours and of held-out partners, and the globals.

    `members` and `squares` are S_k and Q_k, `beta` and `delta` strengths and background, `weight` what a non-link
    counts, `cut` the least weight of a neighbour's community that is looked at. `non_links` has the rows of all
    non-links where they are summed exactly, and is None where they are in closed form; `slots` is what a row can hold.
    """

    name: int
    own: Row
    neighbors: list[Row]
    hidden: list[Row]
    alpha: float
    smallest: float
    members: np.ndarray
    squares: np.ndarray
    beta: np.ndarray
    delta: float
    weight: float
    cut: float
    key: Key
    slots: int
    non_links: list[Row] | None
    listed: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """List the communities that are known from the start: the node's own, then those that weigh for a neighbour."""
        least = max(LEAST_LISTED, self.cut)
        found = dict.fromkeys(self.own)
        for row in self.neighbors:
            for k, pi in row.items():
                if pi <= least:
                    break
                found[k] = None
        self.listed = list(found)

    def d(self, k: int) -> float:
        """Return beta_k - delta."""
        return float(self.beta[k] - self.delta)

    def words(self, purpose: int, slot: int, block: int) -> tuple[np.uint32, ...]:
        """Return four random words of this node."""
        word = stream_word(purpose, slot)
        return philox4x32(
            np.uint32(self.name), self.key.sweep, word, np.uint32(block), self.key.low, self.key.high
        )

    def near(self, k: int) -> tuple[float, float]:
        """Return sums of pi_bk and of its square over neighbours and held-out partners."""
        weights = [row.get(k, 0.0) for row in (*self.neighbors, *self.hidden)]
        return sum(weights), sum(w * w for w in weights)

    def rest(self, k: int) -> tuple[float, float]:
        """Return R_k and R2_k of (S5): sums over all other members."""
        near, squared = self.near(k)
        mine = self.own.get(k, 0.0)
        rest = float(self.members[k]) - mine - near
        if rest <= LEAST_REST:
            return 0.0, 0.0
        squares = float(self.squares[k]) - mine * mine - squared
        return rest, min(max(squares, LEAST_SQUARES * rest), rest)

    @property
    def everywhere(self) -> bool:
        """Whether every community is drawn, because a row holds all of them and nothing is cut off."""
        return self.smallest <= EVERYWHERE and len(self.beta) <= self.slots


def choose(weights: Iterable[tuple[int, float]], u: float) -> int:
    """Return the community on which u falls when the weights are laid end to end."""
    chosen = -1
    for k, weight in weights:
        chosen = k
        u -= weight
        if u < 0.0:
            break
    return chosen


def draw_indicators(view: View) -> list[int]:
    """(G1) Draw z_ab for every link from r_ab(k), proportional to pi_ak (delta + d_k pi_bk)."""
    return [draw_indicator(view, i) for i in range(len(view.neighbors))]


def draw_indicator(view: View, i: int) -> int:
    """Draw one z_ab: a shared community with weight d_k pi_ak pi_bk, or one from pi_a with weight delta.

    Where d_k is negative the second part holds k too often, and a draw of k is kept with the ratio of the two.
    """
    row = view.neighbors[i]
    shared = [(k, view.d(k) * pi * view.own[k]) for k, pi in row.items() if k in view.own]
    positive = [(k, w) for k, w in shared if w > 0.0]
    total = sum(w for _, w in positive)
    # As in the kernel: a negative weight that is lost in rounding is none.
    if sum(w for _, w in shared) == total:
        u = uniform_of_link(view, i, 0) * (total + view.delta)
        return choose(positive, u) if u < total else choose(view.own.items(), (u - total) / view.delta)
    chosen = next(iter(view.own))
    for attempt in range(1, MOST_ATTEMPTS):
        w0, w1, _, _ = view.words(DRAW_LINK, attempt, i)
        u = uniform32(w0) * (total + view.delta)
        if u < total:
            return choose(positive, u)
        chosen = choose(view.own.items(), uniform32(w1))
        if is_kept(view, i, chosen, attempt):
            break
    return chosen


def uniform_of_link(view: View, i: int, which: int) -> float:
    """Return one of the two uniforms of link i; a block of four words serves two links."""
    return float(uniform32(view.words(DRAW_LINK, 0, i - i % 2)[2 * (i % 2) + which]))


def is_kept(view: View, i: int, k: int, attempt: int) -> bool:
    """Keep a community below the background with probability (delta + d_k pi_bk)/delta."""
    pi = view.neighbors[i].get(k)
    if view.d(k) >= 0.0 or pi is None:
        return True
    return bool(uniform32(view.words(DRAW_KEEP, attempt, i)[2]) < 1.0 + view.d(k) * pi / view.delta)


@dataclass
class Tilts:
    """(G2) lambda_k of any community, from a typical x that does not depend on the node's own memberships."""

    view: View
    mass: float = field(init=False)
    typical: float = field(init=False)
    least: float = field(init=False)

    def __post_init__(self) -> None:
        """Compute A, and x as the mean over the neighbours' listed communities."""
        view = self.view
        self.mass = len(view.neighbors) + len(view.beta) * view.alpha
        total, listed = 0.0, 0.0
        weights = dict.fromkeys(view.listed, 0.0)
        least = max(LEAST_LISTED, view.cut)
        for row in view.neighbors:
            for k, pi in row.items():
                if pi <= least:
                    break
                weights[k] += pi
        for k, weight in weights.items():
            total += weight * max(view.d(k), 0.0) * view.rest(k)[0]
            listed += weight
        typical = view.weight * total / ((1.0 - view.delta) * listed) if listed > 0.0 else 0.0
        self.typical = min(typical, (1.0 - LEAST_TILT) * self.mass)
        self.least = 1.0 - self.typical / self.mass

    def of(self, k: int) -> float:
        """Return lambda_k = 1 + (x_k - x)/A, not below the least that keeps proposals bounded."""
        view = self.view
        x = view.weight * max(view.d(k), 0.0) * view.rest(k)[0] / (1.0 - view.delta)
        return max(1.0 + (x - self.typical) / self.mass, LEAST_TILT)


def redraw_indicators(
    view: View, tilts: Tilts, indicators: list[int], backwards: bool
) -> tuple[list[int], list[int]]:
    """(G3) Redraw every z_ab once with pi_a integrated out, p(k) ∝ (n_k + alpha)/lambda_k (delta + d_k pi_bk).

    Returns the indicators, and all communities that are known by then, in the order in which they became so.
    """
    found = list(indicators)
    order = range(len(found))
    known = list(view.listed)
    for i in reversed(order) if backwards else order:
        others = [z for j, z in enumerate(found) if j != i]
        found[i] = redraw_indicator(view, tilts, i, others, known, found[i])
        if found[i] not in known:
            known.append(found[i])
    return found, known


def redraw_indicator(view: View, tilts: Tilts, i: int, others: list[int], known: list[int], old: int) -> int:
    """Draw one z_ab from four parts, laid end to end in this order.

    A community that is in the lists and that the neighbour has (with its tilt); one of the neighbour's that is not in
    the lists (weight alpha, with the least tilt, then thinned); the background in a community of another link; the
    background in any community (with the least tilt, then thinned).
    """
    row, alpha, least = view.neighbors[i], view.alpha, tilts.least
    bulk = alpha * len(view.beta) / least
    for attempt in range(1, MOST_ATTEMPTS):
        counts = {k: others.count(k) for k in known}
        shared = [
            (k, (counts[k] + alpha) / tilts.of(k) * view.d(k) * pi)
            for k, pi in row.items()
            if k in known and view.d(k) > 0.0
        ]
        unlisted = [
            (k, max(view.d(k), 0.0) * pi) for k, pi in row.items() if k not in known and pi > view.cut
        ]
        listed_links = [(k, counts[k] / tilts.of(k)) for k in known if counts[k]]
        parts = [sum(w for _, w in part) for part in (shared, unlisted, listed_links)]
        parts[1] *= alpha / least
        if attempt == 1:
            u = uniform_of_link(view, i, 1)
        else:
            u = uniform32(view.words(DRAW_LINK, attempt + MOST_ATTEMPTS, i)[0])
        u *= parts[0] + parts[1] + view.delta * (parts[2] + bulk)
        if u < parts[0]:
            return choose(shared, u)
        if u < parts[0] + parts[1]:
            chosen = thin_unlisted(unlisted, (u - parts[0]) * least / alpha, tilts)
            if chosen >= 0:
                return chosen
            continue
        v = (u - parts[0] - parts[1]) / view.delta
        chosen = choose(listed_links, v) if v < parts[2] else draw_from_bulk(view, tilts, i, attempt)
        if chosen >= 0:
            if chosen not in known:
                known.append(chosen)
            if is_kept(view, i, chosen, attempt + MOST_ATTEMPTS):
                return chosen
    return old


def thin_unlisted(weights: list[tuple[int, float]], v: float, tilts: Tilts) -> int:
    """Return the community on which v falls, kept with probability lambda_least/lambda_k, or -1."""
    for k, weight in weights:
        if v < weight:
            return k if v * tilts.of(k) < weight * tilts.least else -1
        v -= weight
    return -1


def draw_from_bulk(view: View, tilts: Tilts, i: int, attempt: int) -> int:
    """Propose any community, kept with probability lambda_least/lambda_k; -1 for a draw to be made again."""
    w0, w1, _, _ = view.words(DRAW_RETRY, attempt, i)
    k = int(w0) * len(view.beta) >> 32
    return k if uniform32(w1) * tilts.of(k) < tilts.least else -1


def draw_phi(view: View, tilts: Tilts, indicators: list[int], known: list[int]) -> Row:
    """(G4) Draw phi_k ~ Gamma(alpha + n_k)/lambda_k where k has links, and its births elsewhere."""
    key, name = view.key, np.uint32(view.name)
    phi: Row = {}
    for at, k in enumerate(known):
        count = indicators.count(k)
        if count:
            word = stream_word(DRAW_SIZE, at & 0xFFFF)
            size = gamma(
                view.alpha + count, key.low, key.high, name, key.sweep, word, np.uint32(at >> 16 << 16)
            )
            phi[k] = size / tilts.of(k)
        else:
            phi[k] = 0.0
    if view.everywhere:
        for k in range(len(view.beta)):
            if k not in indicators:
                word = stream_word(DRAW_BIRTH_SIZE, k)
                phi[k] = gamma(view.alpha, key.low, key.high, name, key.sweep, word, np.uint32(0)) / tilts.of(
                    k
                )
        return phi
    envelope = jump_envelope(view.smallest * tilts.least)
    expected = len(view.beta) * view.alpha * (envelope.near + envelope.far)
    births = poisson(expected, key.low, key.high, name, key.sweep, stream_word(DRAW_BIRTHS, 0), np.uint32(0))
    for i in range(min(int(births), MAX_BIRTHS)):
        w0, w1, w2, w3 = view.words(DRAW_BIRTH_SIZE, i, 0)
        k = int(w0) * len(view.beta) >> 32
        if k in indicators:
            continue
        size = propose_jump(uniform53(w1, w2), envelope)
        if uniform32(w3) < keep_probability(size, tilts.of(k) / tilts.least, envelope):
            phi[k] = phi.get(k, 0.0) + size / tilts.least
    return phi


def log_non_links(view: View, pi: Row) -> float:
    """(G4) Compute log T(pi): exactly, or resummed with the two points of (S5)."""
    result, scale = 0.0, 1.0 / (1.0 - view.delta)
    if view.non_links is not None:
        for row in view.non_links:
            v = sum(scale * view.d(k) * share * row[k] for k, share in pi.items() if k in row)
            result += math.log1p(-v)
        return view.weight * result
    for k, share in pi.items():
        rest, squares = view.rest(k)
        if rest > 0.0 and share > 0.0:
            v, part = view.d(k) * share * scale, squares / rest
            for t, weight in zip(*gauss_rule(np.array(part)), strict=True):
                result += rest * float(weight) * math.log(max(1.0 - v * float(t), LEAST_NON_LINK)) / float(t)
    return view.weight * result


def log_residual(view: View, tilts: Tilts, pi: Row) -> float:
    """(G4) Compute log T(pi) + A log(sum_k lambda_k pi_k)."""
    tilted = sum(tilts.of(k) * share for k, share in pi.items())
    return log_non_links(view, pi) + tilts.mass * math.log(tilted)


def redraw_node(view: View, total: float) -> tuple[Row, bool]:
    """Draw a node's phi: indicators given memberships, indicators again, memberships, and the test.

    Returns the new phi, or the old one where the test was not passed, and whether it was.
    """
    indicators = draw_indicators(view)
    tilts = Tilts(view)
    coin, word, _, _ = view.words(DRAW_TEST, 0, 0)
    indicators, known = redraw_indicators(view, tilts, indicators, bool(int(coin) & 1))
    phi = draw_phi(view, tilts, indicators, known)
    new_total = sum(phi.values())
    if new_total > 0.0:
        new = {k: size / new_total for k, size in phi.items()}
        gain = log_residual(view, tilts, new) - log_residual(view, tilts, view.own)
        if gain >= 0.0 or uniform32(word) < math.exp(gain):
            return phi, True
    return {k: share * total for k, share in view.own.items()}, False


def keep_largest(phi: Row, slots: int, smallest: float) -> tuple[Row, float]:
    """(P3) Drop everything below the smallest phi and the smallest of more than `slots`; the largest stays.

    Returns what is kept, largest first, and the sum of what was dropped.
    """
    order = sorted(phi, key=lambda k: -phi[k])
    kept = [k for n, k in enumerate(order) if n == 0 or (n < slots and phi[k] >= smallest)]
    dropped = sum(size for k, size in phi.items() if k not in kept)
    row = {k: phi[k] for k in kept}
    row[order[0]] = max(row[order[0]], smallest)
    return row, dropped
