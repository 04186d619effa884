"""Calibration by degree: links observed over links predicted, among pairs of nodes with few or with many links (M16).

Probabilities can be right on average over each range of predictions and be wrong for whole classes of nodes: too
small between hubs, too large between nodes with few links. Nodes are grouped by their number of training links: none,
and three groups that hold about a third of all ends of links each. A class is a pair of groups.

Held-out pairs hold n1 links and n0 non-links, weighing w1 = rho/n1 and w0 = (1 - rho)/n0. Given the predictions p, a
pair of the sample is a link with the probability q, odds(q) = odds(p) w0/w1 (see `reliability`). The odds of the
pairs of a class are multiplied by the one factor t for which sum_i q_i(t) is the number of links that the class has;
its interval comes from the Clopper-Pearson interval of that number. A pair of the sample stands for s_i(t) =
1/(p_i(t)/w1 + (1 - p_i(t))/w0) pairs of the network, so that links observed over links predicted are

    ratio(t) = sum_i s_i(t) p_i(t) / sum_i s_i(t) p_i.

Where links and non-links were held out in proportion, s_i is the same for all pairs, and the ratio is the number of
links over the sum of the predictions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockmix.errors import InputError
from blockmix.evaluate.pairs import SMALLEST_PROBABILITY, Floats, checked_pairs
from blockmix.evaluate.reliability import check_calibration, clopper_pearson

# Groups of nodes with links: each holds about so large a part of the ends of links.
GROUPS = 3
# A class is off if its interval leaves out 1 and its ratio is beyond this factor: smaller errors seldom matter, and the
# interval takes pairs for independent that share a node.
FACTOR = 1.25
# Log odds are rounded to this for the search of t: its square is the error, and millions of pairs become thousands.
_STEP = 0.01
# Log t lies between these, and is halved so many times.
_LARGEST_LOG, _HALVINGS = 60.0, 60
_NAMES = ("no", "few", "medium", "many")


@dataclass(frozen=True, eq=False, repr=False)
class DegreeCalibration:
    """Class by class: held-out pairs, links among them, links expected, and observed over predicted links.

    `groups` has the smallest training degree of each group of nodes, from 0 on. Class i joins a node of group
    first[i] with one of group second[i] >= first[i]. `expected` is the number of links in the sample if the
    predictions were right. `ratio` with its interval is about the whole network: above 1 there are more links than
    predicted.
    """

    groups: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    n_pairs: NDArray[np.int64]
    n_links: NDArray[np.int64]
    expected: Floats
    ratio: Floats
    lower: Floats
    upper: Floats
    confidence: float

    def __len__(self) -> int:
        return len(self.first)

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the interval holds 1."""
        return np.asarray((self.lower <= 1.0) & (self.upper >= 1.0))

    @property
    def off(self) -> NDArray[np.bool_]:
        """Whether predictions are wrong: the interval leaves out 1, and the ratio is beyond 1.25 or below 0.8."""
        return np.asarray(~self.covered & ((self.ratio > FACTOR) | (self.ratio < 1.0 / FACTOR)))

    @property
    def names(self) -> list[str]:
        """The classes in words, such as "few, many"."""
        names = self._group_names()
        return [f"{names[i]}, {names[j]}" for i, j in zip(self.first, self.second, strict=True)]

    @property
    def group_ranges(self) -> dict[str, str]:
        """The training degrees of each group, by its name."""
        ends = [*self.groups[1:].tolist(), None]
        names = self._group_names()
        return {
            name: _range(int(begin), end) for name, begin, end in zip(names, self.groups, ends, strict=True)
        }

    @property
    def linked(self) -> NDArray[np.bool_]:
        """Whether both nodes of a class have training links."""
        return np.asarray(self.first > 0)

    def worst(self, among: NDArray[np.bool_] | None = None) -> int | None:
        """Return the class that is off most, by the end of its interval nearer to 1; None where none is."""
        off = self.off if among is None else self.off & among
        if not off.any():
            return None
        nearer = np.where(self.ratio > 1.0, self.lower, 1.0 / np.maximum(self.upper, 1e-300))
        return int(np.argmax(np.where(off, nearer, 0.0)))

    @property
    def verdict(self) -> str:
        """In words, which classes are off most and how many are; empty where none is.

        Nodes without training links are a case of their own: whether they have links is told by the prior alone.
        """
        worst = [self.worst(self.linked), self.worst(~self.linked)]
        found = [
            f"Links between {self._ends(i)} are {_times(self.ratio[i])} predicted ({self.confidence:.0%} interval "
            f"{_plain(self.lower[i])} to {_plain(self.upper[i])} times)."
            for i in worst
            if i is not None
        ]
        if not found:
            return ""
        return f"{' '.join(found)} {int(self.off.sum())} of {len(self)} classes of pairs by degree are off."

    def _ends(self, row: int) -> str:
        """Return the two ends of a class in words."""
        ranges = list(self.group_ranges.values())
        first, second = ranges[self.first[row]], ranges[self.second[row]]
        if first == second:
            return f"two nodes with {first} training links"
        return f"a node with {first} and one with {second} training links"

    def rows(self) -> list[dict[str, Any]]:
        """Return the classes as dictionaries, ready for JSON."""
        return [
            {
                "class": name, "pairs": int(self.n_pairs[i]), "links": int(self.n_links[i]),
                "expected": float(self.expected[i]), "ratio": float(self.ratio[i]), "lower": float(self.lower[i]),
                "upper": float(self.upper[i]) if np.isfinite(self.upper[i]) else None, "off": bool(self.off[i]),
            }
            for i, name in enumerate(self.names)
        ]  # fmt: skip

    def __repr__(self) -> str:
        ranges = [f"{name}: {text}" for name, text in self.group_ranges.items() if name != text]
        lines = [f"training links of a node: {'; '.join(ranges) or 'none'}"]
        lines.append(
            f"{'ends':>16}     pairs    links  expected  observed/predicted  ({self.confidence:.0%} interval)"
        )
        for i, name in enumerate(self.names):
            mark = "  off" if self.off[i] else ""
            lines.append(
                f"{name:>16}{self.n_pairs[i]:10,}{self.n_links[i]:9,}{self.expected[i]:10,.1f}{self.ratio[i]:20.2f}"
                f"  ({self.lower[i]:.2f} to {self.upper[i]:.2f}){mark}"
            )
        return "\n".join(lines)

    def _group_names(self) -> list[str]:
        """Return names of the groups; where there are fewer of them the words for the middle are left out."""
        linked = len(self.groups) - 1
        return ["no", *{0: (), 1: ("some",), 2: ("few", "many"), 3: _NAMES[1:]}[linked]]


def calibration_by_degree(
    probability: ArrayLike,
    links: ArrayLike,
    degrees: ArrayLike,
    density: float,
    *,
    all_degrees: ArrayLike | None = None,
    confidence: float = 0.99,
) -> DegreeCalibration:
    """Compare links observed with links predicted by the degrees of both nodes (M16).

    Args:
        probability: predicted probability of each held-out pair.
        links: whether each is a link.
        degrees: number of training links of both nodes, an array of shape (pairs, 2).
        density: that of the whole network; held-out links and non-links are weighted to it.
        all_degrees: training degrees of all nodes, to choose the groups by; those of the pairs if left out.
        confidence: of the intervals.

    Example:
        >>> table = calibration_by_degree([0.5, 0.5, 0.1, 0.1], [1, 1, 0, 0], [[9, 9]] * 2 + [[1, 1]] * 2, 0.5)
        >>> table.names, table.n_links.tolist()
        (['few, few', 'many, many'], [0, 2])
    """
    p, is_link = checked_pairs(probability, links)
    ends = np.asarray(degrees)
    if ends.shape != (len(p), 2) or ends.dtype.kind not in "iu" or (ends.size and int(ends.min()) < 0):
        raise InputError("degrees must hold two numbers of links for each pair, an array of shape (pairs, 2)")
    n_links = int(is_link.sum())
    check_calibration(n_links, len(p) - n_links, density, confidence)
    groups = degree_groups(ends.ravel() if all_degrees is None else np.asarray(all_degrees))
    group = np.sort(np.searchsorted(groups, ends, side="right") - 1, axis=1)
    number = group[:, 0] * len(groups) + group[:, 1]
    weights = (density / n_links, (1.0 - density) / (len(p) - n_links))
    kinds = np.unique(number)
    found = [_one_class(p[chosen], is_link[chosen], weights, confidence) for chosen in _parts(number, kinds)]
    pairs, ones, expected, ratio, lower, upper = np.array(found).T
    return DegreeCalibration(
        groups, kinds // len(groups), kinds % len(groups), pairs.astype(np.int64), ones.astype(np.int64), expected,
        ratio, lower, upper, confidence,
    )  # fmt: skip


def degree_groups(degrees: NDArray[Any]) -> NDArray[np.int64]:
    """Return the smallest degree of each group: 0, 1, and where a third and two thirds of the link ends are reached.

    >>> degree_groups(np.array([0, 1, 1, 1, 1, 2, 2, 4])).tolist()
    [0, 1, 2, 4]
    """
    ranked = np.sort(degrees[degrees > 0]).astype(np.int64)
    if not len(ranked):
        return np.zeros(1, dtype=np.int64)
    share = np.cumsum(ranked) / ranked.sum()
    # The degree of the first end beyond each part; rounding must not move it.
    cuts = ranked[np.searchsorted(share, np.arange(1, GROUPS) / GROUPS + 1e-12)]
    # A group that no node is in has no use.
    return np.unique(np.concatenate(([0, 1], cuts[cuts > ranked[0]])))


def _range(begin: int, end: int | None) -> str:
    """Return a range of degrees in words; `end` is the first degree beyond it.

    >>> _range(0, 1), _range(1, 4), _range(4, None)
    ('no', '1 to 3', '4 or more')
    """
    if end is None:
        return f"{begin:,} or more" if begin else "any number of"
    if begin == 0:
        return "no"
    return f"{begin:,}" if end - begin == 1 else f"{begin:,} to {end - 1:,}"


def _times(ratio: float) -> str:
    """Return a ratio in words.

    >>> _times(3.04), _times(0.25), _times(0.0)
    ('3 times as many as', '0.25 times as many as', 'absent where some were')
    """
    return f"{_plain(ratio)} times as many as" if ratio > 0.0 else "absent where some were"


def _plain(ratio: float) -> str:
    """Return a ratio with two digits or more, never as a power of ten.

    >>> _plain(3.04), _plain(118.2), _plain(float("inf"))
    ('3', '118', 'inf')
    """
    return f"{ratio:,.0f}" if 99.5 <= ratio < float("inf") else f"{ratio:.2g}"


def _parts(number: NDArray[Any], kinds: NDArray[Any]) -> Iterable[NDArray[np.int64]]:
    """Return the places of the pairs of each class."""
    order = np.argsort(number, kind="stable")
    return np.split(order, np.searchsorted(number[order], kinds)[1:])


def _one_class(
    p: Floats, is_link: NDArray[np.bool_], weights: tuple[float, float], confidence: float
) -> tuple[float, ...]:
    """Return pairs, links, expected links of a class, and its ratio with its interval."""
    values, counts = _grouped(p)
    size, ones = len(p), int(is_link.sum())
    low, high = clopper_pearson(np.array([ones]), np.array([size]), confidence)
    wanted = [float(ones), float(low[0]) * size, float(high[0]) * size]
    ratios = [
        _ratio(values, counts, weights, _log_factor(values, counts, weights, count)) for count in wanted
    ]
    expected = float(counts @ _sampled(values, weights))
    return float(size), float(ones), expected, *ratios


def _grouped(p: Floats) -> tuple[Floats, Floats]:
    """Return probabilities of nearly equal odds by their mean, with how many there are of each."""
    clipped = np.clip(p, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
    near = np.rint(np.log(clipped / (1.0 - clipped)) / _STEP).astype(np.int64)
    _, place, counts = np.unique(near, return_inverse=True, return_counts=True)
    return np.bincount(place, clipped) / counts, counts.astype(np.float64)


def _sampled(p: Floats, weights: tuple[float, float]) -> Floats:
    """Return the probabilities of a link among the held-out pairs, odds(q) = odds(p) w0/w1."""
    ones, zeros = p / weights[0], (1.0 - p) / weights[1]
    return np.asarray(ones / (ones + zeros))


def _tilted(p: Floats, log_factor: float) -> Floats:
    """Return the probabilities whose odds are e^log_factor times as large."""
    half = np.exp(0.5 * log_factor)
    return np.asarray(p * half / (p * half + (1.0 - p) / half))


def _log_factor(p: Floats, counts: Floats, weights: tuple[float, float], links: float) -> float:
    """Find log t for which so many links are expected in the sample, by bisection."""
    low, high = -_LARGEST_LOG, _LARGEST_LOG
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if float(counts @ _sampled(_tilted(p, middle), weights)) < links:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _ratio(p: Floats, counts: Floats, weights: tuple[float, float], log_factor: float) -> float:
    """Return links observed over links predicted where the odds are e^log_factor times those predicted."""
    true = _tilted(p, log_factor)
    stands_for = counts / (true / weights[0] + (1.0 - true) / weights[1])
    return float(stands_for @ true / (stands_for @ p))
