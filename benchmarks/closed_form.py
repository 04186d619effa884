"""Whether the estimated error of the closed form for non-links is the error that it makes.

    python benchmarks/closed_form.py --json closed_form.json
    python benchmarks/closed_form.py --networks ca-GrQc --sweeps 1000

Networks of more than 2,048 nodes have non-links in closed form (S5), and every run estimates by how many posterior
standard deviations that moves memberships and strengths (`blockmix.posterior.closed_form`). Here the same chains are
run with exact sums as well, from the same start, and twice: the second time in other batches, so that the two differ by
chance alone. Communities keep their numbers from the start on; those whose members changed are left out.

Printed for strengths and for squared memberships of nodes: the estimate; the root mean square over communities or nodes
of the difference between the means of the closed form and of the exact chains, in exact standard deviations (`found`);
the same between the two exact chains (`chance`); and what is left of the first without the second (`net`). Squares are
products of the differences in the two halves of a run, in which noise that a chain forgets cancels. `mean` is the mean
difference with its sign, and `strong` the same for the strongest tenth of the communities.

Networks `dense-*` are draws from the model with 50 members a community and strengths from .6 to .99.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import blockmix as bm
from blockmix.posterior.closed_form.estimate import LEAST_SIZE, estimate
from blockmix.posterior.quantities import expected_sizes

# Number of communities of real networks, and nodes and communities of those that are drawn.
REAL = {"ca-GrQc": 500, "ca-HepTh": 500}
DRAWN = {"dense-2100": (2100, 42), "dense-4000": (4000, 80)}
NETWORKS = (*DRAWN, *REAL)
# Communities with a smaller part of their members in common are not the same.
SAME = 0.8
Floats = NDArray[np.float64]


def network(name: str) -> tuple[bm.Graph, int]:
    """Return a network and its number of communities."""
    if name in REAL:
        return bm.load_dataset(name), REAL[name]
    nodes, communities = DRAWN[name]
    rng = np.random.default_rng(nodes)
    pi = rng.dirichlet(np.full(communities, 0.3 / communities), nodes)
    pi[~np.isfinite(pi).all(axis=1)] = np.eye(communities)[0]
    beta = rng.uniform(0.6, 0.99, communities)
    background = 3.0 / nodes
    a, b = np.triu_indices(nodes, 1)
    p = (background + pi @ (pi * (beta - background)).T)[a, b]
    linked = rng.random(len(a)) < p
    edges = np.stack([a[linked], b[linked]], axis=1)
    return bm.Graph.from_edges(edges, nodes=range(nodes)), communities


class Means(NamedTuple):
    """Means in the two halves of a chain and standard deviations of strengths and of squared memberships.

    `members` are the mean memberships, nodes x communities; `sizes` the mean sizes.
    """

    strengths: Floats
    spread: Floats
    squared: Floats
    squared_spread: Floats
    members: Any
    sizes: Floats


def means_of(post: bm.Posterior) -> Means:
    """Collect the means of the one chain of a run, in the chain's own numbers."""
    import scipy.sparse as sp

    draws, nodes = post.draws[0], post.graph.n_nodes
    shape = (nodes, post.n_communities)
    strengths = np.array([draw.strengths[:-1] for draw in draws], dtype=np.float64)
    squared, sizes, members = np.zeros((len(draws), nodes)), np.zeros(shape[1]), sp.csr_matrix(shape)
    for i, draw in enumerate(draws):
        row = np.repeat(np.arange(nodes), draw.counts)
        weights = draw.weights / np.bincount(row, draw.weights, nodes)[row]
        squared[i] = np.bincount(row, weights**2, nodes)
        sizes += expected_sizes(draw, shape[1]) / len(draws)
        members = members + sp.csr_matrix((weights / len(draws), (row, draw.communities)), shape=shape)
    half = len(draws) // 2
    halves = (slice(half), slice(half, None))
    return Means(
        np.stack([strengths[part].mean(axis=0) for part in halves]), strengths.std(axis=0),
        np.stack([squared[part].mean(axis=0) for part in halves]), squared.std(axis=0), members, sizes,
    )  # fmt: skip


def same(one: Means, other: Means) -> NDArray[np.bool_]:
    """Return which communities have members in both chains, and mostly the same ones."""
    shared = np.asarray(one.members.minimum(other.members).sum(axis=0)).ravel()
    return (np.minimum(one.sizes, other.sizes) >= LEAST_SIZE) & (
        shared > SAME * np.maximum(one.sizes, other.sizes)
    )


def difference(
    one: Means, exact: Means, used: NDArray[np.bool_], nodes: NDArray[np.bool_]
) -> dict[str, float]:
    """Compute the differences of two chains in standard deviations of the second."""
    strengths = (one.strengths - exact.strengths)[:, used] / exact.spread[used]
    squared = (one.squared - exact.squared)[:, nodes] / exact.squared_spread[nodes]
    level = exact.strengths.mean(axis=0)[used]
    strong = level >= np.quantile(level, 0.9)
    return {
        "strengths": float(np.prod(strengths, axis=0).mean()),
        "memberships": float(np.prod(squared, axis=0).mean()),
        "mean": float(strengths.mean()), "strong": float(strengths[:, strong].mean()),
        "mean memberships": float(squared.mean()),
    }  # fmt: skip


def validate(name: str, sweeps: int, seed: int) -> dict[str, Any]:
    """Run the three chains on a network, and compare."""
    graph, communities = network(name)
    common: dict[str, Any] = {
        "model": "assortative", "chains": 1, "held_out": 0, "sweeps": sweeps, "seed": seed, "progress": False,
        "threads": 1,
    }  # fmt: skip
    closed = bm.fit(graph, communities, exact=False, **common)
    exact = means_of(bm.fit(graph, communities, exact=True, **common))
    again = means_of(bm.fit(graph, communities, exact=True, batches=7, **common))
    given, found = estimate(closed), means_of(closed)
    assert given is not None
    used = same(found, exact) & same(again, exact) & (exact.spread > 0.0)
    nodes = (np.diff(graph.offsets) > 0) & (exact.squared_spread > 1e-3)
    return {
        "network": name, "nodes": graph.n_nodes, "links": graph.n_edges, "communities": int(used.sum()),
        "of": int((exact.sizes >= LEAST_SIZE).sum()), "estimate": given._asdict(),
        "found": difference(found, exact, used, nodes), "chance": difference(again, exact, used, nodes),
    }  # fmt: skip


def root(square: float) -> float:
    """Return the root with the sign of its argument."""
    return float(np.sign(square) * np.sqrt(abs(square)))


def lines(result: dict[str, Any]) -> str:
    """Return the two lines of a network."""
    found, chance = result["found"], result["chance"]
    text = f"{result['network']}: {result['nodes']:,} nodes, {result['links']:,} links, "
    text += f"{result['communities']} of {result['of']} communities compared\n"
    for kind in ("strengths", "memberships"):
        text += f"  {kind:12} estimate {result['estimate'][kind]:5.2f}  found {root(found[kind]):5.2f}  "
        text += f"chance {root(chance[kind]):5.2f}  net {root(found[kind] - chance[kind]):5.2f}  "
        if kind == "strengths":
            text += f"mean {found['mean']:+.2f} (chance {chance['mean']:+.2f})  "
            text += f"strong {found['strong']:+.2f} (chance {chance['strong']:+.2f})\n"
        else:
            text += f"mean {found['mean memberships']:+.2f} (chance {chance['mean memberships']:+.2f})"
    return text


def main() -> None:
    """Print the comparison of every network."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument(
        "--sweeps", type=int, default=600, help="in all; half of them, or a bit less, are warm-up"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given, record = parser.parse_args(), []
    for name in given.networks:
        record.append(validate(name, given.sweeps, given.seed))
        print(lines(record[-1]), flush=True)
        if given.json:
            given.json.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
