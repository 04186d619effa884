"""`reproduce`: run the trials that are missing, then draw the figures, write the tables and judge the claims.

`side_by_side` puts the verdicts of several such runs, of both starts for example, into one table.
"""

from __future__ import annotations

import csv
import datetime
import io
import multiprocessing
import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blockmix._version import __version__
from blockmix.errors import InputError
from blockmix.experiments.convergence import SETTLED, with_convergence
from blockmix.experiments.figure import Claim, Figure
from blockmix.experiments.methods import start_of
from blockmix.experiments.text import CLAIMS
from blockmix.experiments.trial import HELD_OUT, Outcome, Trial, run_trial
from blockmix.files import write_pieces

Say = Callable[[str], Any]
# Columns of the tables of claims are separated by bars; those inside a cell are written with a backslash.
BAR = re.compile(r"(?<!\\) \| ")
NOT_RUN = "not run"


@dataclass(frozen=True)
class Conditions:
    """What all trials of a run share: where every method starts, the share held out, and shorter runs or not."""

    start: str = "random"
    held_out: float = HELD_OUT
    quick: bool = False

    def trials(self, figure: Figure) -> list[Trial]:
        """List the trials of a figure under these conditions."""
        return [
            replace(
                trial, held_out=self.held_out, options=trial.options | {"start": start_of(trial.sampler, self.start)}
            )
            for trial in figure.trials(self.quick)
        ]  # fmt: skip


def reproduce(figures: Sequence[Figure], folder: Path, under: Conditions, *, jobs: int, say: Say) -> Path:
    """Run all figures into a folder; runs that an earlier call, or another figure, has finished are not made
    again.

    Each figure gets a CSV of every trial, a PNG and its claims; claims.md has those of all figures done so far. A
    figure whose network is missing is left out, and named in an error once the others are done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    missing: dict[str, InputError] = {}
    for figure in figures:
        try:
            _need_networks(figure, under.trials(figure))
        except InputError as error:
            say(f"{figure.name}: not run. {error}")
            missing[figure.name] = error
            continue
        say(f"{figure.name}: {figure.title}")
        outcomes = with_convergence(_outcomes(under.trials(figure), folder / "trials", jobs, say))
        _write_csv(outcomes, folder / f"{figure.name}.csv")
        figure.draw(outcomes).savefig(folder / f"{figure.name}.png")
        title = f"{figure.title}{', quick run' if under.quick else ''}"
        write_pieces(folder / f"{figure.name}.md", [_claims_table(title, figure.claims(outcomes))])
    parts = [path.read_text("utf-8") for path in sorted(folder.glob("figure?.md"))]
    parts.append(_claims_table("Claims that no figure shows", CLAIMS))
    write_pieces(folder / "claims.md", [_HEAD.format(**_said(under)) + "\n".join(parts)])
    if missing:
        # One reason is enough: those of the others have been printed above.
        raise InputError(
            f"not run for want of a network: {', '.join(missing)}. {next(iter(missing.values()))}"
        )
    return folder / "claims.md"


_HEAD = """# What the paper claims, and what was measured

Every claim of the text of Li, Ahn and Welling (2016), run again with blockmix. The methods "as printed" and "as
published" are the algorithms of the paper and of Gopalan et al. (2012) with their steps, `form="paper"`; the others are
blockmix's forms of them, with the corrections of docs/samplers.md. A verdict is about the latter; where the former come
to another one, it follows. Every method starts {start}.
{held_out:g}% of links and as many non-links are held out; perplexity is over these, as in the paper, and no method
weighs non-links. A run counts as converged if its perplexity changed by at most {settled:g}% over the last third of
its time and is nearer, in its logarithm, to the best run of any method on the same split than to a prediction without
communities. A claim about converged perplexity is undecided in a setting, a network with a number of communities, where
a run had not converged; one about the time or the memory of sgmc-m where its rows still became shorter or longer, the
mean number of communities stored over the last sixth of the time differing by more than {settled:g}% from that over the
sixth before. A claim holds if it holds in every setting, and does not if it fails in one; how many say what is in the
third column, whose other figures are means over seeds. {machine}

"""
_WHERE = {
    "random": "at random, at the same draws of memberships, from a flat Dirichlet, and of strengths (scir keeps the 16 "
    "largest memberships of a node)",
    "partition": "at the partition that blockmix finds",
}


def _said(under: Conditions) -> dict[str, Any]:
    """Return what the head of the claims says about a run."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    kind = (
        f"{platform.machine()}, {os.cpu_count()} processors, one thread a trial; seconds are processor time"
    )
    return {
        "start": _WHERE[under.start], "held_out": 100.0 * under.held_out, "settled": 100.0 * SETTLED,
        "machine": f"Run on {day} with blockmix {__version__}: {kind}.",
    }  # fmt: skip


def _outcomes(trials: list[Trial], place: Path, jobs: int, say: Say) -> list[Outcome]:
    """Return the outcomes of trials, in their order; what two figures share, or two panels, is run once."""
    place.mkdir(parents=True, exist_ok=True)
    found = {trial.name: _load(place / f"{trial.name}.json", trial) for trial in trials}
    left = [trial for trial in {trial.name: trial for trial in trials}.values() if found[trial.name] is None]
    if len(left) < len(found):
        say(f"  {len(found) - len(left)} of {len(found)} runs are there already")
    for done, outcome in enumerate(_run(left, jobs), start=1):
        write_pieces(place / f"{outcome.trial.name}.json", [outcome.to_json()])
        found[outcome.trial.name] = outcome
        scores = outcome.figures
        say(
            f"  {done}/{len(left)}  {outcome.trial.panel}, {outcome.trial.method}, K={outcome.trial.communities}, "
            f"seed {outcome.trial.seed}: perplexity {scores['perplexity']:.3f}, AUC {scores['auc']:.3f}"
        )
    return [replace(outcome, trial=trial) for trial in trials if (outcome := found[trial.name]) is not None]


def _run(trials: list[Trial], jobs: int) -> Any:
    """Yield outcomes in the order they finish. Each job is one process for all its trials: kernels are loaded once."""
    if not trials:
        return
    if jobs == 1:
        yield from map(run_trial, trials)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(run_trial, trial) for trial in trials]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _need_networks(figure: Figure, trials: list[Trial]) -> None:
    from blockmix.graph.datasets.load import load_dataset

    for network in dict.fromkeys(trial.network for trial in trials):
        try:
            load_dataset(network)
        except InputError as error:
            raise InputError(f"{figure.name} needs the network {network}: {error}") from error


def _load(path: Path, trial: Trial) -> Outcome | None:
    """Return the outcome of an earlier call, if its file is complete and belongs to this trial."""
    try:
        outcome = Outcome.from_json(path.read_text("utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return outcome if outcome.trial.run == trial.run else None


def _write_csv(outcomes: Sequence[Outcome], path: Path) -> None:
    columns = ("panel", "network", "communities", "method", "sampler", "seed", "x")
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.figures))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*columns, *names])
    for outcome in outcomes:
        row = [getattr(outcome.trial, column) for column in columns]
        writer.writerow([*row, *(f"{outcome.figures.get(name, float('nan')):.6g}" for name in names)])
    write_pieces(path, [text.getvalue()])


def _claims_table(title: str, claims: Sequence[Claim]) -> str:
    lines = [f"## {title}", "", "| claim | the paper | measured here | |", "|---|---|---|---|"]
    lines += ["| " + " | ".join(_cell(part) for part in claim) + " |" for claim in claims]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def verdicts_of(folder: Path) -> dict[tuple[str, str], str]:
    """Read the verdicts of a run from the tables of its figures, by figure and claim."""
    found = {}
    for path in sorted(folder.glob("figure?.md")):
        for line in path.read_text("utf-8").splitlines():
            cells = BAR.split(line[2:-2]) if line.startswith("| ") else []
            if len(cells) == 4 and cells[0] != "claim":
                found[path.stem, cells[0]] = cells[3]
    return found


def side_by_side(runs: Mapping[str, Path]) -> str:
    """Return a table of all claims with the verdicts of each run, whose names are the heads of its columns."""
    found = {name: verdicts_of(folder) for name, folder in runs.items()}
    claims = sorted(set().union(*found.values()), key=lambda key: _place(key, found))
    if not claims:
        raise InputError(f"no claims in {', '.join(str(folder) for folder in runs.values())}")
    lines = [f"| figure | claim | {' | '.join(runs)} |", "|---" * (2 + len(runs)) + "|"]
    for figure, claim in claims:
        verdicts = [found[name].get((figure, claim), NOT_RUN) for name in runs]
        lines.append(f"| {figure[-1]} | {claim} | {' | '.join(verdicts)} |")
    return "\n".join(lines) + "\n"


def _place(key: tuple[str, str], found: Mapping[str, Mapping[tuple[str, str], str]]) -> tuple[str, int]:
    """Return where a claim stands: by figure, and there in the order of the first run that has it."""
    own = next(list(verdicts) for verdicts in found.values() if key in verdicts)
    return key[0], own.index(key)
