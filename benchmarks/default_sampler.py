"""What is promised of the default sampler, all in one table: the goal, the figure, whether it holds; JSON beside it.

    python benchmarks/default_sampler.py --json default_sampler.json

Runs quality.py, uncertainty.py and speed.py, each in a process of its own, and com-DBLP from a file to written results:
about twenty minutes on two cores that have nothing else to do. Networks come from the folder named by BLOCKMIX_DATA
or are downloaded. Seconds and updates are those of this machine; ratios to the plain baseline (baseline.py), which
takes turns with the sampler, carry over to others. `--parts` runs some of it.
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
from typing import Any, NamedTuple

import numpy as np
from quality import RIVALS
from speed import LEAST_SCALING, LEAST_UPDATES, MOST_BYTES, MOST_COLD, MOST_WARM

import blockmix as bm

HERE = Path(__file__).parent
SEEDS = [str(seed) for seed in (1, 2, 3)]
COVERAGE_SEEDS = [str(seed) for seed in range(20)]
MOST_PERPLEXITY, LEAST_ONMI, MOST_OFF = 1.03, 0.95, 0.2
MOST_OFF_NOMINAL = 0.05
DBLP_SECONDS, DBLP_AUC, DBLP_LOG_LOSS = 300.0, 0.93, 0.125e-3


class Line(NamedTuple):
    """One line of the table."""

    what: str
    goal: str
    found: str
    holds: bool


def run_script(name: str, *options: str) -> Any:
    """What a benchmark writes as JSON; what it prints is shown as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        subprocess.run([sys.executable, str(HERE / name), *options, "--json", str(out)], check=True)
        return json.loads(out.read_text("utf-8"))


def quality() -> tuple[Any, list[Line]]:
    found = run_script("quality.py", "--seeds", *SEEDS)["sections"]
    return found, [*prediction_lines(found), *planted_lines(found)]


def prediction_lines(found: Any) -> Iterator[Line]:
    for row, rival in zip(found["predictions"], RIVALS, strict=True):
        yield Line(
            f"{rival.network}, K = {rival.communities}, {rival.seconds} s: AUC, log loss (1e-3)",
            f"> {rival.auc}, < {rival.log_loss * 1e3:g}",
            f"{row['auc']:.4f}, {row['log_loss'] * 1e3:.2f}",
            row["auc"] > rival.auc and row["log_loss"] < rival.log_loss,
        )
    auc = {
        k: float(np.mean([row["all"]["auc"] for row in found["larger-k"] if row["communities"] == k]))
        for k in (50, 500)
    }
    yield Line("ca-GrQc: AUC at K = 500", f"> {auc[50]:.4f} (K = 50)", f"{auc[500]:.4f}", auc[500] > auc[50])


def planted_lines(found: Any) -> Iterator[Line]:
    worst = [row["ratio"] for row in found["planted"]]
    perplexity, onmi = max(ratio[0] for ratio in worst), min(ratio[1] for ratio in worst)
    yield Line(
        "planted networks, over a start at the truth: perplexity",
        f"<= {MOST_PERPLEXITY}",
        f"{perplexity:.3f} at worst",
        perplexity <= MOST_PERPLEXITY,
    )
    yield Line(
        "planted networks, over a start at the truth: ONMI",
        f">= {LEAST_ONMI}",
        f"{onmi:.3f} at worst",
        onmi >= LEAST_ONMI,
    )
    off = max(abs(row["ratio"] - 1.0) for row in found["auto"])
    yield Line(
        "communities chosen, off the planted number by", f"<= {MOST_OFF:.0%}", f"{off:.0%}", off <= MOST_OFF
    )


def uncertainty() -> tuple[Any, list[Line]]:
    (drawn,) = run_script("uncertainty.py", "--case", "prior-300", "--seeds", *COVERAGE_SEEDS)
    (planted,) = run_script("uncertainty.py", "--case", "planted-2000", "--seeds", *SEEDS)
    bins = drawn["held_out_bins"] + planted["held_out_bins"]
    outside = sum(not inside for _, inside, _, _ in bins)
    # One in a hundred lies outside by chance.
    lines = [Line("calibration bins off the diagonal", "0", f"{outside} of {len(bins)}", outside == 0)]
    for quantity in ("memberships", "strengths"):
        shares = {
            level: share for name, share in drawn["coverage"].items()
            if (level := name.removeprefix(f"{quantity}, table ")) != name
        }  # fmt: skip
        # Shares are of a hundred strengths: 55 of them is five points off, not a rounding error more.
        off = round(max(abs(share - float(level)) for level, share in shares.items()), 9)
        lines.append(
            Line(
                f"coverage of {quantity}, off the nominal by",
                f"<= {MOST_OFF_NOMINAL:.0%}",
                f"{off:.1%} at worst",
                off <= MOST_OFF_NOMINAL,
            )
        )
    return [drawn, planted], lines


def speed() -> tuple[Any, list[Line]]:
    found = run_script("speed.py")
    rates, starts = found["updates"], found["starts"]
    rate, ratio = rates["updates_on_2_threads"], rates["ratio_on_2_threads"]
    bytes_a_node = max(row["held_bytes_a_node"] for row in found["communities"])
    sweeps = [row["seconds_a_sweep"] for row in found["communities"]]
    return found, [
        Line(
            "com-DBLP, K = 5000: million updates/s, 2 threads",
            f">= {LEAST_UPDATES / 1e6:.0f}",
            f"{rate / 1e6:.2f} ({ratio:.1f} x baseline)",
            rate >= LEAST_UPDATES,
        ),
        Line(
            "2 threads over 1", f">= {LEAST_SCALING}", f"{rates['scaling']:.2f}", rates["scaling"] >= LEAST_SCALING
        ),
        Line(
            "a sweep at K = 100, 1000, 10,000, 100,000: ms",
            "edges, not K",
            ", ".join(f"{s * 1e3:.0f}" for s in sweeps),
            sweeps[-1] < 10 * sweeps[0],
        ),
        Line(
            "bytes a node, any K", f"<= {MOST_BYTES:.0f}", f"{bytes_a_node:.0f}", bytes_a_node <= MOST_BYTES
        ),
        Line(
            "seconds to the first sweep: warm, empty cache",
            f"< {MOST_WARM:.0f}, < {MOST_COLD:.0f}",
            f"{starts['warm_seconds']:.2f}, {starts['cold_seconds']:.1f}",
            starts["warm_seconds"] < MOST_WARM and starts["cold_seconds"] < MOST_COLD,
        ),
    ]  # fmt: skip


def file_to_results() -> tuple[Any, list[Line]]:
    with tempfile.TemporaryDirectory() as folder:
        edges, out = Path(folder) / "edges.txt", Path(folder) / "run"
        np.savetxt(edges, bm.load_dataset("com-DBLP").edges(), fmt="%d")
        command = [sys.executable, "-m", "blockmix", "fit", str(edges), "-k", "5000", "--time-limit", "60"]
        command += ["--held-out", "0.05", "--seed", "1", "--threads", "2", "--output", str(out), "--json"]
        began = time.perf_counter()
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout) | {"file_to_results_seconds": time.perf_counter() - began}
    seconds, auc, loss = found["file_to_results_seconds"], found["auc"], found["log_loss"]
    return found, [
        Line(
            "com-DBLP, K = 5000, file to results: seconds",
            f"< {DBLP_SECONDS:.0f}",
            f"{seconds:.0f}",
            seconds < DBLP_SECONDS,
        ),
        Line(
            "  AUC, log loss (1e-3)",
            f">= {DBLP_AUC}, <= {DBLP_LOG_LOSS * 1e3:g}",
            f"{auc:.4f}, {loss * 1e3:.4f}",
            auc >= DBLP_AUC and loss <= DBLP_LOG_LOSS,
        ),
    ]


PARTS: dict[str, Callable[[], tuple[Any, list[Line]]]] = {
    "quality": quality,
    "uncertainty": uncertainty,
    "speed": speed,
    "file-to-results": file_to_results,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found, lines = {}, []
    for name in args.parts:
        found[name], more = PARTS[name]()
        lines += more
    print()
    for line in lines:
        print(f"{'  ' if line.holds else 'NO'}  {line.what:58} {line.goal:26} {line.found}")
    if args.json:
        table = [line._asdict() for line in lines]
        args.json.write_text(json.dumps({"table": table, "parts": found}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
