"""The move of a node in the popularity model in plain Python, (DC3) to (DC9): without lists and shortcuts.

Rows are dictionaries from community to pi_ak, in the order of the slots. The random words are those of the kernels,
keyed the same way and used for the same decisions, so that the two give the same draws up to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import (
    DRAW_BIRTH_PLACE,
    DRAW_BIRTH_SIZE,
    DRAW_BIRTHS,
    DRAW_MORE_UNITS,
    DRAW_POPULARITY,
    DRAW_SIZE,
    DRAW_TEST,
    DRAW_UNIT_AGAIN,
    DRAW_UNIT_RETRY,
    DRAW_UNITS,
)
from blockmix.numerics.variates import gamma, levy_jump, poisson, uniform32
from blockmix.samplers.scir.constants import LEAST_LISTED
from blockmix.samplers.scir.frame import MAX_BIRTHS
from blockmix.samplers.scir.popularity.frame import MOST_UNITS
from blockmix.samplers.scir.popularity.problem import Sweep
from blockmix.samplers.scir.popularity.redraw import LEAST_PHI
from blockmix.samplers.scir.popularity.units import MOST_ATTEMPTS
from blockmix.samplers.scir.popularity.weights import COUNTS, NONE, LinkLaw
from blockmix.samplers.scir.reference.indicators import Row, choose
from blockmix.samplers.scir.reference.kernels import row_of
from blockmix.tables.layout import Key, Rows


@dataclass
class Partner:
    """Another node as the one at work sees it: its popularity, its theta_bk, and the weight of the link to it."""

    popularity: float
    theta: Row
    weight: float = 1.0


@dataclass
class View:
    """What one node sees: its own row and popularity, neighbours, held-out partners, and the globals.

    `members` are the sums of theta over all nodes that it may be linked to, the last that of popularities. They include
    the node itself but where it has a `side` (DC15), the number of which is not -1.
    """

    name: int
    own: Row
    popularity: float
    neighbors: list[Partner]
    hidden: list[Partner]
    members: NDArray[np.float64]
    rates: NDArray[np.float64]
    sweep: Sweep
    law: LinkLaw
    unit: NDArray[np.float64]
    side: int = -1
    known: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """List the communities that are known from the start: the node's own, then those that weigh for a neighbour."""
        found = dict.fromkeys(self.own)
        for partner in self.neighbors:
            for k, theta in partner.theta.items():
                # The kernels read a float32 weight, of which theta is a product.
                if np.float32(theta / partner.popularity) <= np.float32(LEAST_LISTED):
                    break
                found[k] = None
        self.known = list(found)

    @property
    def communities(self) -> int:
        """Return K."""
        return len(self.rates) - 1

    @property
    def alpha(self) -> float:
        """Return the Dirichlet concentration."""
        return self.sweep.settings.alpha

    def words(self, purpose: int, slot: int, block: int) -> tuple[np.uint32, ...]:
        """Return four random words of this node."""
        return words_of(self.name, purpose, slot, block, self.sweep.key)

    def observed(self, everybody: float, own: float, near: float, hidden: float) -> float:
        """(DC4) Return the sum over observed partners: links count one, non-links their weight."""
        own = own if self.side < 0 else 0.0
        return self.sweep.settings.non_link_weight * max(everybody - own - near - hidden, 0.0) + near

    @property
    def rho(self) -> float:
        """Return the shape of its popularity."""
        return self.sweep.settings.rho[max(self.side, 0)]

    @property
    def least(self) -> float:
        """(DC4) Return rho + eps R_a."""
        near, hidden = (sum(p.popularity for p in partners) for partners in (self.neighbors, self.hidden))
        rest = self.observed(self.members[-1], self.popularity, near, hidden)
        return float(self.rho + self.rates[-1] * rest)

    def exposure(self, k: int) -> float:
        """(DC4) Return lambda_k = rho + eps R_a + w_k T_ak."""
        near, hidden = (
            sum(p.theta.get(k, 0.0) for p in partners) for partners in (self.neighbors, self.hidden)
        )
        rest = self.observed(self.members[k], self.own.get(k, 0.0) * self.popularity, near, hidden)
        return float(self.least + self.rates[k] * rest)


def words_of(name: int, purpose: int, slot: int, block: int, key: Key) -> tuple[np.uint32, ...]:
    """Return four random words of a node."""
    word = stream_word(purpose, slot)
    return philox4x32(np.uint32(name), key.sweep, word, np.uint32(block), key.low, key.high)


def truncated_poisson(mean: float, u: float) -> int:
    """(DC5) Return the smallest count m >= 1 whose distribution function, given m >= 1, reaches u."""
    count, below = 1, mean * math.exp(-mean)
    term = below
    while u * -math.expm1(-mean) > below and count < MOST_UNITS:
        count += 1
        term *= mean / count
        below += term
    return count


def units_of_amount(mean: float, amount: float, unit: NDArray[np.float64], u: float) -> int:
    """(DC13) Return how many units an amount consists of: the smallest m whose distribution function reaches u."""
    m = np.arange(1, MOST_UNITS + 1)
    shape, rate = unit
    logs = m * math.log(mean) - gammaln(m + 1.0) + shape * m * math.log(rate * amount) - gammaln(shape * m)
    weights = np.exp(logs - logs.max())
    return int(
        m[np.searchsorted(np.cumsum(weights), u * weights.sum(), side="right").clip(0, MOST_UNITS - 1)]
    )


def units_of_link(mean: float, weight: float, law: LinkLaw, unit: NDArray[np.float64], u: float) -> int:
    """Return how many units a link has: drawn (DC5), its weight (DC12), or drawn given its weight (DC13)."""
    if law.law == NONE:
        return truncated_poisson(mean, u)
    if law.law == COUNTS:
        return int(weight)
    return units_of_amount(mean, weight / law.scale, unit, u)


def draw_units(view: View) -> list[tuple[int, int]]:
    """(DC5) Draw the units of every link, as pairs (link, community): k in proportion to pi_ak f_bk."""
    found = []
    for i, partner in enumerate(view.neighbors):
        shared = [
            (k, view.own[k] * (view.rates[k] * theta)) for k, theta in partner.theta.items() if k in view.own
        ]
        inside, pull = sum(w for _, w in shared), view.rates[-1] * partner.popularity
        w0, w1, _, _ = view.words(DRAW_UNITS, 0, i)
        mean = view.popularity * (inside + pull)
        for number in range(units_of_link(mean, partner.weight, view.law, view.unit, uniform32(w0))):
            word = view.words(DRAW_MORE_UNITS, number, i)[0] if number else w1
            u = uniform32(word) * (inside + pull)
            found.append(
                (i, choose(shared, u) if u < inside else choose(view.own.items(), (u - inside) / pull))
            )
    return found


def redraw_units(view: View, units: list[tuple[int, int]], backwards: bool) -> list[tuple[int, int]]:
    """(DC6) Redraw the community of every unit once with the row integrated out."""
    found = list(units)
    order = range(len(found))
    for unit in reversed(order) if backwards else order:
        i = found[unit][0]
        others = [k for n, (_, k) in enumerate(found) if n != unit]
        chosen = redraw_unit(view, unit, i, unit == 0 or found[unit - 1][0] != i, others)
        found[unit] = (i, found[unit][1] if chosen < 0 else chosen)
        if chosen >= 0 and chosen not in view.known:
            view.known.append(chosen)
    return found


def redraw_unit(view: View, unit: int, i: int, first: bool, others: list[int]) -> int:
    """Draw k in proportion to (n_k + alpha)/lambda_k f_bk, from four parts laid end to end in this order.

    A known community that the neighbour has; one of its others (weight alpha, with the least exposure, then thinned);
    the background in a community of another unit; the background in any (with the least exposure, then thinned).
    """
    partner, alpha, least = view.neighbors[i], view.alpha, view.least
    pull = view.rates[-1] * partner.popularity
    for attempt in range(MOST_ATTEMPTS):
        shared = [
            (k, (others.count(k) + alpha) / view.exposure(k) * (view.rates[k] * theta))
            for k, theta in partner.theta.items()
            if k in view.known
        ]
        unlisted = [(k, view.rates[k] * theta) for k, theta in partner.theta.items() if k not in view.known]
        counted = [(k, others.count(k) / view.exposure(k)) for k in view.known if k in others]
        parts = [sum(w for _, w in part) for part in (shared, unlisted, counted)]
        parts[1] *= alpha / least
        w0, w1, w2, _ = view.words(DRAW_UNIT_RETRY, attempt, unit)
        if attempt == 0:
            w0 = view.words(DRAW_UNITS, 0, i)[2] if first else view.words(DRAW_UNIT_AGAIN, 0, unit)[0]
        u = uniform32(w0) * (parts[0] + parts[1] + pull * (parts[2] + alpha * view.communities / least))
        if u < parts[0]:
            return choose(shared, u)
        v = (u - parts[0] - parts[1]) / pull
        if u < parts[0] + parts[1]:
            k = choose(unlisted, (u - parts[0]) * least / alpha)
        elif v < parts[2]:
            return choose(counted, v)
        else:
            k = int(w1) * view.communities >> 32
        if uniform32(w2) * view.exposure(k) < least:
            return k
    return -1


def draw_theta(view: View, units: list[tuple[int, int]]) -> Row:
    """(DC7) Draw theta~_k ~ Gamma(alpha + n_k)/lambda_k where k has units, and births x/lambda_k elsewhere."""
    key, name = view.sweep.key, np.uint32(view.name)
    settings, isolated = view.sweep.settings, not view.neighbors
    used = [k for _, k in units]
    found: Row = {}
    for at, k in enumerate(view.known):
        if k in used:
            word, block = stream_word(DRAW_SIZE, at & 0xFFFF), np.uint32(at >> 16 << 16)
            size = gamma(view.alpha + used.count(k), key.low, key.high, name, key.sweep, word, block)
            found[k] = size / view.exposure(k)
    if settings.whole:
        return draw_everywhere(view, used, found)
    word = stream_word(DRAW_BIRTHS, 0)
    births = int(poisson(settings.births[isolated], key.low, key.high, name, key.sweep, word, np.uint32(0)))
    for i in range(max(min(births, MAX_BIRTHS), int(isolated))):
        k = int(view.words(DRAW_BIRTH_PLACE, i, 0)[0]) * view.communities >> 32
        if k not in used:
            word = stream_word(DRAW_BIRTH_SIZE, i)
            x = levy_jump(settings.smallest[isolated], key.low, key.high, name, key.sweep, word, np.uint32(0))
            found[k] = found.get(k, 0.0) + x / view.exposure(k)
    return found


def draw_everywhere(view: View, used: list[int], found: Row) -> Row:
    """(DC7) Add theta~_k ~ Gamma(alpha)/lambda_k of all communities without units, where a row holds all of them."""
    key, name = view.sweep.key, np.uint32(view.name)
    for k in range(view.communities):
        if k not in used:
            word = stream_word(DRAW_BIRTH_SIZE, k)
            found[k] = gamma(
                view.alpha, key.low, key.high, name, key.sweep, word, np.uint32(0)
            ) / view.exposure(k)
    if sum(found.values()) < LEAST_PHI:
        found[int(view.words(DRAW_BIRTH_PLACE, 0, 0)[0]) * view.communities >> 32] = 1.0
    return {k: size for k, size in found.items() if size >= LEAST_PHI}


def redraw_node(view: View) -> tuple[Row, float, bool]:
    """(DC5) to (DC9) Draw a node's memberships and popularity; returns them, and whether the test was passed."""
    key, rho = view.sweep.key, view.rho
    units = draw_units(view)
    coin, word, _, _ = view.words(DRAW_TEST, 0, 0)
    units = redraw_units(view, units, bool(int(coin) & 1))
    theta = draw_theta(view, units)
    total = sum(theta.values())
    new = {k: size / total for k, size in theta.items()}
    tilted = [sum(view.exposure(k) * pi for k, pi in row.items()) for row in (new, view.own)]
    ratio = (tilted[0] / tilted[1]) ** (view.communities * view.alpha - rho)
    accepted = bool(uniform32(word) < ratio)
    shape, stream = rho + len(units), stream_word(DRAW_POPULARITY, 0)
    drawn = gamma(shape, key.low, key.high, np.uint32(view.name), key.sweep, stream, np.uint32(0))
    if accepted:
        return new, float(drawn / tilted[0]), True
    return dict(view.own), float(drawn / tilted[1]), False


def partner_of(rows: Rows, place: int, weight: float = 1.0) -> Partner:
    """Return a node as others see it."""
    r = float(rows.total[place])
    return Partner(r, {k: pi * r for k, pi in row_of(rows, place).items()}, weight)
