"""How close two covers are: best-match F1, and all scores in one call.

`onmi` and `omega` have files of their own and are public from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np

from blockmix.evaluate.incidence import Cover, incidence, overlaps, restrict, sizes_of, unique_communities
from blockmix.evaluate.mutual_information import onmi
from blockmix.evaluate.omega_index import omega

__all__ = [
    "BestMatch",
    "CoverScores",
    "best_match",
    "best_match_f1",
    "compare_covers",
    "omega",
    "onmi",
    "restrict",
    "unique_communities",
]


@dataclass(frozen=True)
class BestMatch:
    """Best-match F1 in both directions and their average.

    `found` is the mean over found communities of the F1 with the true community that fits best: low when
    communities are invented. `truth` is the mean over true communities: low when communities are missed.
    """

    f1: float
    found: float
    truth: float


@dataclass(frozen=True)
class CoverScores:
    """Agreement of a found cover with the true one, and how many distinct, non-empty communities each has."""

    onmi: float
    omega: float
    f1: float
    n_found: int
    n_truth: int
    n_nodes: int


def best_match_f1(cover: Cover, truth: Cover) -> float:
    """Compute the average of the two directional best-match F1 scores (Yang, Leskovec 2013).

    >>> round(best_match_f1([[0, 1, 2]], [[0, 1], [2, 3]]), 3)
    0.7
    """
    return best_match(cover, truth).f1


def best_match(cover: Cover, truth: Cover) -> BestMatch:
    """Compute the best-match F1 of each direction. Two empty covers score 1, one empty cover 0.

    >>> best_match([[0, 1]], [[0, 1], [2, 3]])
    BestMatch(f1=0.75, found=1.0, truth=0.5)
    """
    a, b = incidence(cover), incidence(truth)
    if not a.shape[0] or not b.shape[0]:
        same = float(a.shape[0] == b.shape[0])
        return BestMatch(same, same, same)
    n_nodes = max(a.shape[1], b.shape[1])
    a.resize(a.shape[0], n_nodes)
    b.resize(b.shape[0], n_nodes)
    size_a, size_b = sizes_of(a), sizes_of(b)
    best_a, best_b = np.zeros(a.shape[0]), np.zeros(b.shape[0])
    for i, j, shared in overlaps(a, b):
        f1 = 2 * shared / (size_a[i] + size_b[j])
        np.maximum.at(best_a, i, f1)
        np.maximum.at(best_b, j, f1)
    found, true = fsum(best_a) / len(best_a), fsum(best_b) / len(best_b)
    return BestMatch((found + true) / 2, found, true)


def compare_covers(found: Cover, truth: Cover, n_nodes: int) -> CoverScores:
    """Compute ONMI, omega and best-match F1 of a found cover with the true one.

    Repeated and empty communities are removed from both first. Truth that covers a part of the network is
    best compared on that part: pass `restrict(found, nodes)` and `restrict(truth, nodes)`.

    >>> compare_covers([[0, 1], [2, 3]], [[0, 1], [2, 3], [3, 2]], n_nodes=4)
    CoverScores(onmi=1.0, omega=1.0, f1=1.0, n_found=2, n_truth=2, n_nodes=4)
    """
    found, truth = unique_communities(found), unique_communities(truth)
    return CoverScores(
        onmi=onmi(found, truth, n_nodes),
        omega=omega(found, truth, n_nodes),
        f1=best_match_f1(found, truth),
        n_found=len(found),
        n_truth=len(truth),
        n_nodes=n_nodes,
    )
