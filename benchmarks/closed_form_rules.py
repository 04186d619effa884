"""How far several sums for the non-links of a node are from the exact one: what a better closed form would need.

    python benchmarks/closed_form_rules.py

States are the parameters that networks are drawn from, which are draws from their posterior, and one posterior sample
of real networks. Printed for each rule: the root mean square over nodes of the error of log T (G4), and the expected
non-links inside the strongest tenth of the communities over the exact number, which is what moves their strengths.

- `two`, `three`: Gauss's rule of so many points for the Beta law that R_k and R2_k imply; two is (S5).
- `Beta`: that law itself, by forty points: what no number of points can better.
- `cubes`: the mean of the least and the most that R_k, R2_k and the sum of cubes allow.
- `alone`: every member of a community with its own weight, overlaps of communities left out.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_jacobi

import blockmix as bm

# Nodes, communities, range of strengths, K alpha, background, seed.
DRAWN = [
    (250, 5, 0.6, 0.99, 0.3, 0.01, 3),
    (3000, 60, 0.6, 0.99, 0.3, 0.002, 1),
    (3000, 60, 0.9, 0.99, 0.3, 0.002, 1),
    (3000, 200, 0.9, 0.99, 0.3, 0.001, 2),
    (3000, 60, 0.3, 0.99, 1.0, 0.002, 3),
]
REAL = {"us-air-712": 20, "ca-GrQc": 500}
RULES = ("two", "three", "Beta", "cubes", "alone")
NODES_LOOKED_AT, SWEEPS = 150, 80
Floats = NDArray[np.float64]


def beta_points(mean: float, points: int) -> tuple[Floats, Floats]:
    """Return Gauss's rule for the Beta(1, theta) law of this mean."""
    x, weights = roots_jacobi(points, 1.0 / mean - 2.0, 0.0)
    return (x + 1.0) / 2.0, weights / weights.sum()


def cube_points(t: Floats) -> tuple[Floats, Floats]:
    """Return the points of both extremes that three moments of the weights, weighed by themselves, allow."""
    first, second = (t**2).sum() / t.sum(), (t**3).sum() / t.sum()
    # The least has points at 0 and `low`, the most at 1 and `high`.
    low = second / first
    high = (first - second) / max(1.0 - first, 1e-12)
    share = (first - high) / max(1.0 - high, 1e-12)
    points = np.array([1e-9, low, max(high, 1e-9), 1.0])
    return points, np.array([1.0 - first / low, first / low, 1.0 - share, share]) / 2.0


def points_of(rule: str, t: Floats) -> tuple[Floats, Floats]:
    """Return the points and weights by which a rule replaces the weights t of the members."""
    if rule == "alone":
        return t, t / t.sum()
    if rule == "cubes":
        return cube_points(t)
    mean = min(max((t**2).sum() / t.sum(), 1e-3), 1.0 - 1e-9)
    return beta_points(mean, {"two": 2, "three": 3, "Beta": 40}[rule])


def study(
    pi: Floats, strengths: Floats, background: float, linked: list[NDArray[np.int64]], seed: int
) -> str:
    """Compare all rules on a state."""
    slope = (strengths - background) / (1.0 - background)
    strong = np.argsort(-strengths)[: max(3, len(strengths) // 10)]
    rng = np.random.default_rng(seed)
    with_links = np.array([a for a, near in enumerate(linked) if len(near)])
    errors: dict[str, list[float]] = {rule: [] for rule in RULES}
    inside, exact = dict.fromkeys(RULES, 0.0), 0.0
    for a in rng.choice(with_links, min(NODES_LOOKED_AT, len(with_links)), replace=False):
        others = np.ones(len(pi), dtype=bool)
        others[a], others[linked[a]] = False, False
        used = np.flatnonzero(pi[a])
        shares, found = pi[others][:, used], dict.fromkeys(RULES, 0.0)
        v = shares @ (slope[used] * pi[a, used])
        for j, k in enumerate(used):
            t = shares[:, j][shares[:, j] > 0.0]
            if t.sum() < 1e-9:
                continue
            top, counts = slope[k] * pi[a, k], k in strong
            exact += pi[a, k] * (shares[:, j] / (1.0 - v)).sum() if counts else 0.0
            for rule in RULES:
                points, weights = points_of(rule, t)
                found[rule] += t.sum() * (weights * np.log1p(-top * points) / points).sum()
                inside[rule] += pi[a, k] * t.sum() * (weights / (1.0 - top * points)).sum() if counts else 0.0
        for rule in RULES:
            errors[rule].append(found[rule] - np.log1p(-v).sum())
    root = {rule: np.sqrt(np.mean(np.square(values))) for rule, values in errors.items()}
    return "".join(f"{root[rule]:9.3f} {inside[rule] / exact:5.2f}" for rule in RULES)


def drawn(
    case: tuple[int, int, float, float, float, float, int],
) -> tuple[Floats, Floats, float, list[NDArray[np.int64]]]:
    """Draw parameters and a network; memberships below 0.0001 are left out."""
    nodes, communities, low, high, total, background, seed = case
    rng = np.random.default_rng(seed)
    pi = rng.dirichlet(np.full(communities, total / communities), nodes)
    pi[~np.isfinite(pi).all(axis=1)] = np.eye(communities)[0]
    pi[pi < 1e-4] = 0.0
    pi /= pi.sum(axis=1, keepdims=True)
    strengths = rng.uniform(low, high, communities)
    p = background + pi @ (pi * (strengths - background)).T
    upper = np.triu(rng.random((nodes, nodes)) < p, 1)
    return pi, strengths, background, [np.flatnonzero(row) for row in upper | upper.T]


def sampled(name: str, communities: int) -> tuple[Floats, Floats, float, list[NDArray[np.int64]]]:
    """Return a posterior sample of a real network."""
    graph = bm.load_dataset(name)
    post = bm.fit(
        graph,
        communities,
        model="assortative",
        sweeps=SWEEPS,
        chains=1,
        held_out=0,
        progress=False,
        threads=1,
    )
    sample = post.draws[0][-1]
    pi = np.zeros((graph.n_nodes, communities))
    pi[np.repeat(np.arange(graph.n_nodes), sample.counts), sample.communities] = sample.weights
    pi /= pi.sum(axis=1, keepdims=True)
    value = sample.strengths.astype(np.float64)
    near = np.split(graph.neighbors.astype(np.int64), graph.offsets[1:-1])
    return pi, value[:-1], float(value[-1]), near


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    print(f"{'':44}" + "".join(f"{rule:>15}" for rule in RULES))
    for case in DRAWN:
        title = f"{case[0]} nodes, K = {case[1]}, {case[2]} to {case[3]}, {case[4]}"
        print(f"{title:44}{study(*drawn(case), seed=0)}", flush=True)
    for name, communities in REAL.items():
        print(
            f"{name + ', K = ' + str(communities):44}{study(*sampled(name, communities), seed=0)}", flush=True
        )


if __name__ == "__main__":
    main()
