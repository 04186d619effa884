"""Calibration of a sampler in the configuration that a user runs, as a table of p-values.

    python benchmarks/calibration.py scir --nodes 60 --communities 3 --background 0.02 --networks 150
    python benchmarks/calibration.py cgs --networks 100 --factor 1.1          # links 10% too likely: must fail
    python benchmarks/calibration.py scir moves=cir step=0.1 sweeps=2000 --json calibration.json
    python benchmarks/calibration.py lmc --geweke 12000 --nodes 6

Simulation-based calibration ranks true parameters among the posterior samples of `blockmix.fit`; a column shows how
many networks have each rank. Geweke's joint test alternates sweeps with networks and compares with the prior; a column
shows the difference in standard errors. Both are in tests/calibration/harness.py, and what they find is tested there.
Arguments NAME=VALUE go to `fit` (of Geweke's test, to the sampler).
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import time
from pathlib import Path
from typing import Any

from blockmix.model import Model
from blockmix.model.hyper import DEFAULT_CONCENTRATION

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "calibration"))
import harness


def value_of(text: str) -> tuple[str, Any]:
    """Split NAME=VALUE; a value that is no Python literal is text."""
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sampler", choices=("scir", "cgs", "lmc"))
    parser.add_argument("arguments", nargs="*", type=value_of, metavar="NAME=VALUE")
    parser.add_argument("--nodes", type=int, default=24)
    parser.add_argument("--communities", type=int, default=2)
    parser.add_argument("--alpha", type=float, help="0.3/K, the default of nodes with links, if left out")
    parser.add_argument("--eta", type=float, nargs=2, default=(1.0, 1.0))
    parser.add_argument("--background", type=float, help="learned, with a uniform prior, if left out")
    parser.add_argument("--networks", type=int, default=100)
    parser.add_argument(
        "--draws", type=int, default=9, help="posterior samples that the truth is ranked among"
    )
    parser.add_argument(
        "--geweke", type=int, metavar="ITERATIONS", help="Geweke's test instead, multiple of 40"
    )
    parser.add_argument(
        "--factor", type=float, default=1.0, help="links so much more likely than the model says"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    """Run one of the two tests and print its table."""
    args = parsed()
    alpha = DEFAULT_CONCENTRATION / args.communities if args.alpha is None else args.alpha
    model = Model(args.communities, alpha=alpha, eta=tuple(args.eta), background=args.background)
    setup = harness.Setup(args.sampler, args.nodes, model, dict(args.arguments))
    began = time.perf_counter()
    if args.geweke:
        table = harness.geweke_table(setup, args.geweke, args.seed, args.factor)
    else:
        ranks = harness.rank_truths(setup, args.networks, args.draws, args.seed, args.factor)
        table = harness.rank_table(ranks, args.draws)
    print(f"{setup}, factor {args.factor:g}: {time.perf_counter() - began:.0f} s")
    print(f"{'quantity':26}{'z' if args.geweke else 'mean rank':>10}{'p':>10}   ranks")
    for row in table:
        print(f"{row.quantity:26}{row.position:10.3f}{row.p_value:10.2g}   {' '.join(map(str, row.counts))}")
    failed = harness.failures(table, 1e-3)
    print(f"at a false-alarm rate of 1e-3 for the table: {', '.join(failed) or 'no quantity'} fails")
    if args.json:
        facts = {"setup": repr(setup), "factor": args.factor, "rows": [row._asdict() for row in table]}
        args.json.write_text(json.dumps(facts, indent=1), "utf-8")


if __name__ == "__main__":
    main()
