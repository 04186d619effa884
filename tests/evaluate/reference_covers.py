"""The cover scores written straight from their definitions, over all pairs: the fast ones must equal them."""

from fractions import Fraction
from itertools import combinations
from math import log2


def h(count, n):
    return -count / n * log2(count / n) if count else 0.0


def entropy(x, n):
    return h(len(x), n) + h(n - len(x), n)


def conditional_entropy(x, y, n):
    a, b, c, d = n - len(x | y), len(y - x), len(x - y), len(x & y)
    if h(a, n) + h(d, n) > h(b, n) + h(c, n):
        return h(a, n) + h(b, n) + h(c, n) + h(d, n) - entropy(y, n)
    return entropy(x, n)


def onmi(cover_a, cover_b, n, variant):
    def unknown(xs, ys):
        return [min(conditional_entropy(x, y, n) for y in ys) for x in xs]

    def share(xs, ys):
        bits = zip(unknown(xs, ys), xs, strict=True)
        return sum(u / entropy(x, n) if entropy(x, n) else float(x not in ys) for u, x in bits) / len(xs)

    if variant == "lfk":
        return 1 - (share(cover_a, cover_b) + share(cover_b, cover_a)) / 2
    total_a, total_b = sum(entropy(x, n) for x in cover_a), sum(entropy(y, n) for y in cover_b)
    if max(total_a, total_b) == 0:
        return 1.0
    mutual = total_a - sum(unknown(cover_a, cover_b)) + total_b - sum(unknown(cover_b, cover_a))
    return mutual / 2 / max(total_a, total_b)


def omega(cover_a, cover_b, n):
    def together(cover):
        return [sum(u in c and v in c for c in cover) for u, v in combinations(range(n), 2)]

    times_a, times_b = together(cover_a), together(cover_b)
    pairs = len(times_a)
    if pairs == 0:
        return 1.0
    observed = Fraction(sum(s == t for s, t in zip(times_a, times_b, strict=True)), pairs)
    levels = set(times_a) & set(times_b)
    expected = Fraction(sum(times_a.count(t) * times_b.count(t) for t in levels), pairs**2)
    return 1.0 if expected == 1 else float((observed - expected) / (1 - expected))


def best_match_f1(cover_a, cover_b):
    def one_way(xs, ys):
        return sum(max(2 * len(x & y) / (len(x) + len(y)) for y in ys) for x in xs) / len(xs)

    return (one_way(cover_a, cover_b) + one_way(cover_b, cover_a)) / 2
