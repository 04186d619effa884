"""Held-out predictions of `blockmix fit` on real networks, mean over seeds: one table, one JSON file.

    python benchmarks/predictions.py --time-limit 15 --seeds 1 2 3 --threads 2 --json predictions.json

Every row is a run of the command line, in a process of its own, with 5% of the links held out. The networks come
from the folder named by BLOCKMIX_DATA or are downloaded. Kernels are compiled before the first run, so that
seconds are seconds of sampling.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

# network, K, and what a first release has to reach: AUC at least, balanced perplexity at most
CASES = [
    ("netscience", 50, 0.94, 5.0),
    ("us-air-712", 20, 0.92, 2.6),
    ("ca-GrQc", 50, 0.91, 8.0),
    ("ca-GrQc", 1000, 0.92, 4.5),
]
SHOWN = ("auc", "perplexity", "log_loss", "average_precision", "sweeps", "seconds")


def fit_command(name: str, communities: int, seed: int, time_limit: float, threads: int) -> dict[str, float]:
    """What `blockmix fit` reports of a run on a dataset, in a process of its own."""
    command = [
        sys.executable, "-m", "blockmix.cli", "fit", f"dataset:{name}", "-k", str(communities), "--seed", str(seed),
        "--time-limit", str(time_limit), "--threads", str(threads), "--held-out", "0.05", "--json", "--quiet",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--time-limit", type=float, default=15.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    print(
        f"{'network':12} {'K':>5} {'AUC':>7} {'(goal)':>7} {'perpl.':>7} {'(goal)':>7} {'log loss':>10} {'sweeps':>7}"
    )
    for name, communities, least_auc, most_perplexity in CASES:
        runs = [fit_command(name, communities, seed, args.time_limit, args.threads) for seed in args.seeds]
        mean = {key: statistics.fmean(r[key] for r in runs) for key in SHOWN}
        print(
            f"{name:12} {communities:5d} {mean['auc']:7.4f} {least_auc:7.2f} {mean['perplexity']:7.3f} "
            f"{most_perplexity:7.1f} {mean['log_loss']:10.6f} {mean['sweeps']:7.0f}",
            flush=True,
        )
        rows.append({"network": name, "communities": communities, "mean": mean, "runs": runs})
    if args.json:
        args.json.write_text(
            json.dumps({"arguments": vars(args) | {"json": None}, "rows": rows}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
