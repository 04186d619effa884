"""What happens to communities that are not needed, and how many communities "auto" chooses.

    python benchmarks/spare_communities.py --seeds 0 1 2 3 4

Networks of 300 nodes and 5 communities: planted ones with and without overlap, and draws from the model. Each is
fitted with 5, 20 and 50 communities; printed are the share of all membership outside the 5 largest communities, how
many communities are listed (`Posterior.communities`), the held-out log loss over that with 5, and the number that
`communities="auto"` takes.
"""

from __future__ import annotations

import argparse

import numpy as np

import blockmix as bm
from blockmix.inference.fit import choose_held_out
from blockmix.samplers.starts.choose import choose_communities

NODES, COMMUNITIES, DEGREE, ALLOWED, SWEEPS = 300, 5, 16, (5, 20, 50), 300

KINDS = ("one community a node", "one to three communities a node", "from the model")


def network(kind: str, seed: int) -> bm.Graph:
    """Draw a network of this kind."""
    if kind == "one community a node":
        return bm.planted(NODES, COMMUNITIES, degree=DEGREE, overlap=(1, 1), seed=seed).graph
    if kind == "one to three communities a node":
        return bm.planted(NODES, COMMUNITIES, degree=DEGREE, seed=seed).graph
    return bm.simulate(NODES, COMMUNITIES, degree=DEGREE, seed=seed).graph


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    given = parser.parse_args()
    for kind in given.kinds:
        chosen, rows = [], {k: [] for k in ALLOWED}
        for seed in given.seeds:
            graph = network(kind, seed)
            data = choose_held_out(graph, None, None, seed)
            chosen.append(choose_communities(data.training, seed))
            for k in ALLOWED:
                post = bm.fit(
                    graph,
                    k,
                    model="assortative",
                    seed=seed,
                    sweeps=SWEEPS,
                    chains=2,
                    held_out=data,
                    progress=False,
                )
                assert post.scores is not None
                spare = np.sort(post.sizes)[::-1][COMMUNITIES:].sum() / NODES
                rows[k].append((spare, len(post.covers()), post.scores.log_loss))
        print(
            f"{kind}, {len(given.seeds)} networks: auto takes {', '.join(map(str, chosen))} for {COMMUNITIES}"
        )
        base = np.array([row[2] for row in rows[ALLOWED[0]]])
        for k, values in rows.items():
            spare, listed, loss = np.array(values).T
            print(
                f"  {k:3} allowed: {100 * spare.min():.1f} to {100 * spare.max():.1f}% of the membership outside the "
                f"{COMMUNITIES} largest; {listed.min():.0f} to {listed.max():.0f} listed; "
                f"log loss {(loss / base).mean():.3f}"
            )


if __name__ == "__main__":
    main()
