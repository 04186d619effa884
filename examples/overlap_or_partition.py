"""What a hard partition misses: overlapping communities that are known, found with and without overlap."""

import numpy as np

import blockmix as bm
from blockmix.evaluate import compare_covers


def main() -> None:
    """Compare the covers found with the largest membership of each node."""
    made = bm.planted(2000, 20, degree=20, overlap=(1, 3), seed=2)
    post = bm.fit(made.graph, communities=20, seed=1, sweeps=200)
    overlapping = list(post.covers(0.1).values())
    first = post.community[post.offsets[:-1]]
    hard = [np.flatnonzero(first == k) for k in np.unique(first)]
    for name, found in (("overlapping", overlapping), ("one label a node", hard)):
        print(f"{name:>18}: {compare_covers(found, made.covers, made.graph.n_nodes)}")


if __name__ == "__main__":
    main()
