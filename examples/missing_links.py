"""Which links are missing? Hide a tenth of a network's links and see whether they come out on top."""

import numpy as np

import blockmix as bm


def main() -> None:
    """Rank hidden links among as many pairs that are not linked."""
    made = bm.planted(1000, 20, degree=20, seed=5)
    split = bm.hold_out(made.graph, 0.1, seed=1)
    post = bm.fit(made.graph, communities=20, held_out=split, seed=1, sweeps=200)
    held_out = post.held_out
    order = np.argsort(-held_out.probability)
    top = order[: len(order) // 10]
    print(
        f"AUC {post.scores.auc:.3f}; of the tenth ranked highest {held_out.links[top].mean():.0%} are links"
    )
    print(post.calibration())


if __name__ == "__main__":
    main()
