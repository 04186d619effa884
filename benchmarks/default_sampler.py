"""What is promised of the default sampler, all in one table: the goal, the figure, whether it holds; JSON beside it.

    python benchmarks/default_sampler.py --json default_sampler.json

Runs quality.py, uncertainty.py and speed.py, each in a process of its own, and com-DBLP from a file to written
results: about a quarter of an hour on two cores that have nothing else to do. Networks come from the folder named by
BLOCKMIX_DATA or are downloaded. Seconds and updates are those of this machine; ratios to the plain baseline
(baseline.py), which takes turns with the sampler, carry over to others. `--parts` runs some of it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import speed
from quality import K_GOAL, LARGER_K, ONMI_GOAL, PERPLEXITY_GOAL, RIVALS
from speed import Line

import blockmix as bm

HERE = Path(__file__).parent
SEEDS = [str(seed) for seed in (1, 2, 3)]
COVERAGE_SEEDS = [str(seed) for seed in range(20)]
MOST_OFF_NOMINAL = 0.05
DBLP_SECONDS, DBLP_AUC, DBLP_LOG_LOSS = 300.0, 0.93, 0.125e-3
Part = tuple[Any, list[Line]]  # figures for the JSON, and lines of the table


def run_script(name: str, *options: str) -> Any:
    """What a benchmark writes as JSON; what it prints is shown as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        subprocess.run([sys.executable, str(HERE / name), *options, "--json", str(out)], check=True)
        return json.loads(out.read_text("utf-8"))


def at_most(what: str, value: float, limit: float, form: str) -> Line:
    return Line(what, f"{value:{form}} at worst", f"<= {limit:g}", value <= limit)


def quality_part() -> Part:
    found = run_script("quality.py", "--seeds", *SEEDS)["sections"]
    return found, [*prediction_lines(found), *planted_lines(found)]


def prediction_lines(found: Any) -> Iterator[Line]:
    for row, rival in zip(found["predictions"], RIVALS, strict=True):
        yield Line(
            f"{rival.network}, K = {rival.communities}, {rival.seconds} s: AUC, log loss (1e-3)",
            f"{row['auc']:.4f}, {row['log_loss'] * 1e3:.2f}",
            f"> {rival.auc}, < {rival.log_loss * 1e3:g}",
            row["auc"] > rival.auc and row["log_loss"] < rival.log_loss,
        )
    network, (small, large) = LARGER_K
    auc = {
        k: float(np.mean([row["all"]["auc"] for row in found["larger-k"] if row["communities"] == k]))
        for k in (small, large)
    }
    goal = f"> {auc[small]:.4f} (K = {small})"
    yield Line(f"{network}: AUC at K = {large}", f"{auc[large]:.4f}", goal, auc[large] > auc[small])


def planted_lines(found: Any) -> Iterator[Line]:
    perplexity, onmi = zip(*(row["ratio"] for row in found["planted"]), strict=True)
    what = "planted networks, over a start at the truth: "
    yield at_most(f"{what}perplexity", max(perplexity), PERPLEXITY_GOAL, ".3f")
    yield Line(f"{what}ONMI", f"{min(onmi):.3f} at worst", f">= {ONMI_GOAL}", min(onmi) >= ONMI_GOAL)
    off = max(abs(row["ratio"] - 1.0) for row in found["auto"])
    yield at_most("communities chosen, share off the planted number", off, K_GOAL, ".2f")


def uncertainty_part() -> Part:
    (drawn,) = run_script("uncertainty.py", "--case", "prior-300", "--seeds", *COVERAGE_SEEDS)
    (planted,) = run_script("uncertainty.py", "--case", "planted-2000", "--seeds", *SEEDS)
    bins = drawn["held_out_bins"] + planted["held_out_bins"]
    outside = sum(not inside for _, inside, _, _ in bins)
    # One in a hundred lies outside by chance.
    table = [Line("calibration bins off the diagonal", f"{outside} of {len(bins)}", "0", outside == 0)]
    for quantity in ("memberships", "strengths"):
        covered = {
            level: share for name, share in drawn["coverage"].items()
            if (level := name.removeprefix(f"{quantity}, table ")) != name
        }  # fmt: skip
        # Shares are of a hundred strengths: 55 of them is five points off, not a rounding error more.
        off = round(max(abs(share - float(level)) for level, share in covered.items()), 9)
        table.append(at_most(f"coverage of {quantity}, share off the nominal", off, MOST_OFF_NOMINAL, ".3f"))
    return [drawn, planted], table


def speed_part() -> Part:
    found = run_script("speed.py")
    return found, list(speed.lines(found))


def file_to_results_part() -> Part:
    with tempfile.TemporaryDirectory() as folder:
        edges, out = Path(folder) / "edges.txt", Path(folder) / "run"
        np.savetxt(edges, bm.load_dataset("com-DBLP").edges(), fmt="%d")
        command = [sys.executable, "-m", "blockmix", "fit", str(edges), "-k", "5000", "--time-limit", "60"]
        command += ["--held-out", "0.05", "--seed", "1", "--threads", "2", "--output", str(out), "--json"]
        began = time.perf_counter()
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        seconds = time.perf_counter() - began
    found = json.loads(done.stdout) | {"file_to_results_seconds": seconds}
    auc, loss = found["auc"], found["log_loss"]
    return found, [
        Line(
            "com-DBLP, K = 5000, file to results: seconds", f"{seconds:.0f}", f"< {DBLP_SECONDS:.0f}",
            seconds < DBLP_SECONDS,
        ),
        Line(
            "  AUC, log loss (1e-3)", f"{auc:.4f}, {loss * 1e3:.4f}",
            f">= {DBLP_AUC}, <= {DBLP_LOG_LOSS * 1e3:g}", auc >= DBLP_AUC and loss <= DBLP_LOG_LOSS,
        ),
    ]  # fmt: skip


PARTS: dict[str, Callable[[], Part]] = {
    "quality": quality_part,
    "uncertainty": uncertainty_part,
    "speed": speed_part,
    "file-to-results": file_to_results_part,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found, table = {}, []
    for name in args.parts:
        found[name], lines = PARTS[name]()
        table += lines
    print()
    for line in table:
        print(f"{'  ' if line.holds else 'NO'}  {line.what:58} {line.goal:26} {line.found}")
    if args.json:
        rows = [line._asdict() for line in table]
        args.json.write_text(json.dumps({"table": rows, "parts": found}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
