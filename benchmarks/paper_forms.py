"""What each printed choice of the paper's samplers changes: held-out scores beside those of blockmix's own form.

    python benchmarks/paper_forms.py                                   # all samplers
    python benchmarks/paper_forms.py sgmc svi --sweeps 200 --seeds 1 2 3 --json paper_forms.json
    python benchmarks/paper_forms.py sgmc-m --rows blockmix "printed active sets"

Rows are blockmix's own form, the same with one printed choice at a time, and form="paper". All have alpha = 1/K and the
same number of sweeps, on one thread; 5% of the links and as many non-links are held out. Log loss is in units of 1e-3;
seconds are processor seconds of sampling. `sgmc`, `sgmc-m` and `svi` run on us-air-712 (K = 20), `lmc`, whose sweep
takes N^2 K, on synthetic-75 (K = 5). Networks come from the folder named by BLOCKMIX_DATA or are downloaded.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import blockmix as bm
from blockmix.graph.datasets.load import load_dataset
from blockmix.graph.split import hold_out

PLACES = {
    "sgmc": ("us-air-712", 20),
    "sgmc-m": ("us-air-712", 20),
    "svi": ("us-air-712", 20),
    "lmc": ("synthetic-75", 5),
}
PAPER: dict[str, Any] = {"form": "paper"}
# A fixed background, as the paper's form has it: a tenth of the density, filled in for the network.
FIXED: dict[str, Any] = {"background": None}
# Concentrations as blockmix chooses them, in the place of the paper's 1/K.
OWN_ALPHA: dict[str, Any] = {"alpha": None}
# The published schedules of `svi`.
SCHEDULES: dict[str, Any] = {
    "step": 1024.0**-0.5, "delay": 1024.0, "decay": 0.5,
    "strength_step": 1024.0**-0.9, "strength_delay": 1024.0, "strength_decay": 0.9,
}  # fmt: skip
CHOICES: dict[str, dict[str, dict[str, Any]]] = {
    "sgmc": {
        "blockmix": {}, "random start": {"start": "random"}, "non-links of the network": {"non_links_of": "network"},
        "printed scales": {"scales": "printed"}, "half of the strengths": {"strength_share": 0.5},
        "totals of the prior": {"totals": "prior"}, "printed update": {"preconditioned": False},
        "fixed background": FIXED, "alpha of blockmix": OWN_ALPHA,
        "paper": PAPER, "paper, preconditioned": PAPER | {"preconditioned": True},
        "paper, from the partition": PAPER | {"start": "partition"},
    },
    "sgmc-m": {
        "blockmix": {}, "flat start": {"start": "flat"}, "candidates of all neighbours": {"candidates": "all"},
        "equal promotion": {"promotion": "equal"}, "printed promotion": {"promotion": "printed"},
        "means of the bulk": {"bulk_update": "means", "bulk_batch": 10}, "one noise": {"bulk_noise": "one"},
        "printed active sets": {"active": "printed"}, "paper, printed active sets": PAPER | {"active": "printed"},
        "paper": PAPER, "paper, preconditioned": PAPER | {"preconditioned": True},
        "paper, from the partition": PAPER | {"start": "partition"},
    },
    "svi": {
        "blockmix": {}, "even start": {"start": "even"}, "factors": {"pairs": "factors"},
        "not weighted": {"weighted": False}, "pairs of the mini-batch": {"evidence": "pairs"},
        "the same, published steps": {"evidence": "pairs"} | SCHEDULES, "published steps": SCHEDULES,
        "a tenth of the non-links": {"batch_non_links": 71},
        "fixed background": FIXED, "paper": PAPER, "paper, joint pairs": PAPER | {"pairs": "joint"},
        "paper, from the partition": PAPER | {"start": "partition"},
    },
    "lmc": {
        "blockmix": {}, "random start": {"start": "random"}, "no damping": {"damping": 0.0},
        "no refreshing": {"refresh": 0}, "totals of the prior": {"totals": "prior"},
        "variance of the metric": {"widened": False}, "fixed background": FIXED, "paper": PAPER,
        "paper, from the partition": PAPER | {"start": "partition"},
    },
}  # fmt: skip
SHOWN = ("log_loss", "auc", "perplexity", "seconds")


def run(sampler: str, options: dict[str, Any], seed: int, sweeps: int) -> dict[str, float]:
    """Fit once; return the scores and the processor seconds."""
    network, communities = PLACES[sampler]
    graph = load_dataset(network)
    data = hold_out(graph, 0.05, seed=seed)
    if "background" in options:
        options = options | {"background": 0.1 * data.training.density}
    options = {"alpha": 1.0 / communities} | options
    begin = time.process_time()
    post = bm.fit(
        graph, communities, model="assortative", sampler=sampler, seed=seed, chains=1, threads=1, held_out=data,
        sweeps=sweeps, progress=False, **options,
    )  # fmt: skip
    seconds = time.process_time() - begin
    scores = post.scores
    assert scores is not None
    return {
        "log_loss": 1e3 * scores.log_loss, "auc": scores.auc, "perplexity": scores.perplexity, "seconds": seconds
    }  # fmt: skip


def main() -> None:
    """Print one table a sampler."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("samplers", nargs="*", default=list(CHOICES), metavar="SAMPLER")
    parser.add_argument(
        "--rows", nargs="+", metavar="ROW", help="only these rows, by their names; all by default"
    )
    parser.add_argument("--sweeps", type=int, default=2000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = {}
    for sampler in args.samplers:
        network, communities = PLACES[sampler]
        print(f"{sampler} on {network}, K = {communities}, {args.sweeps} sweeps, splits {args.seeds}")
        run(sampler, {}, 0, 4)
        for name, options in CHOICES[sampler].items():
            if args.rows and name not in args.rows:
                continue
            runs = [run(sampler, options, seed, args.sweeps) for seed in args.seeds]
            mean = {key: statistics.fmean(r[key] for r in runs) for key in SHOWN}
            spread = max(r["log_loss"] for r in runs) - min(r["log_loss"] for r in runs)
            found[f"{sampler}: {name}"] = mean | {"log_loss_spread": spread}
            print(
                f"  {name:30} log loss {mean['log_loss']:7.2f} (spread {spread:5.2f})  AUC {mean['auc']:.3f}  "
                f"perplexity {mean['perplexity']:6.2f}  {mean['seconds']:6.1f} s",
                flush=True,
            )
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
