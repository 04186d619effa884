"""Do predictions come true on real networks? Calibration by range and by degree, and posterior predictive checks.

    python benchmarks/held_out_calibration.py --json calibration.json
    python benchmarks/held_out_calibration.py --networks ca-GrQc --models popularity --chains 1 --sweeps 80

A fifth of all pairs is held out, links and non-links in proportion, so that every held-out pair counts the same. Both
link models are fitted to the same split for the same number of sweeps. Printed for each: ranges of predictions
outside their 99% interval, links observed over links predicted by the training degrees of both nodes (M16), and the
predictive checks (M17). The networks come from the folder named by BLOCKMIX_DATA or are downloaded.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import blockmix as bm

NETWORKS = {"us-air-712": 20, "netscience": 50, "ca-GrQc": 500}
MODELS = ("assortative", "popularity")
HELD_OUT = 0.2


def figures(name: str, model: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Fit one model to one network, print its tables and return them."""
    began = time.perf_counter()
    post = bm.fit(
        bm.load_dataset(name), NETWORKS[name], model=model, held_out=HELD_OUT, held_out_kind="proportional",
        progress=False, **options,
    )  # fmt: skip
    bins, degrees, checks = post.calibration(), post.calibration_by_degree(), post.predictive_checks()
    outside = int((~bins.covered).sum())
    ratios = degrees.ratio[degrees.n_links > 0]
    print(
        f"\n{name}, {NETWORKS[name]} communities, {model}: {time.perf_counter() - began:.0f} s, {post.scores}"
    )
    print(f"ranges outside their 99% interval: {outside} of {len(bins)}\n{bins}")
    print(
        f"classes off: {int(degrees.off.sum())} of {len(degrees)}, outside {int((~degrees.covered).sum())}; ",
        end="",
    )
    print(
        f"observed over predicted {ratios.min():.2f} to {ratios.max():.2f} in classes with links\n{degrees}"
    )
    print(f"{checks}\n{checks.verdict}", flush=True)
    return {
        "network": name, "model": model, "options": options, "calibration": bins.rows(),
        "by_degree": degrees.rows(), "checks": checks.rows(),
    }  # fmt: skip


def main() -> None:
    """Print the tables of all networks and models."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    options = {"seed": given.seed, "chains": given.chains, "sweeps": given.sweeps}
    found = [figures(name, model, options) for name in given.networks for model in given.models]
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
