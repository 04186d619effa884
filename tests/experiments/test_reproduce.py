"""`blockmix reproduce` runs figures, continues interrupted ones, and writes tables, pictures and claims."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from blockmix.cli.app import app
from blockmix.errors import InputError
from blockmix.experiments import FIGURES, figure1, find_figure
from blockmix.experiments import run as running
from blockmix.experiments.methods import STARTS
from blockmix.experiments.text import CLAIMS
from blockmix.experiments.trial import run_trial
from blockmix.graph.datasets.load import load_dataset
from blockmix.inference import fit as fit_function
from blockmix.samplers import sampler_options

pytest.importorskip("matplotlib")
QUICK = running.Conditions(quick=True)


@pytest.fixture
def _data(shared_data, monkeypatch):
    monkeypatch.setenv("BLOCKMIX_DATA", str(shared_data))


def small_figure(panels=("Synthetic",), methods=("cgs", "scir", "sgmc", "sgmc as printed", "lmc")):
    """Figure 1 in a few seconds: one network, one seed, a fifth of a second each."""
    figure = find_figure("figure1")

    def trials(quick):
        wanted = [
            t for t in figure.trials(quick) if t.panel in panels and t.seed == 1 and t.method in methods
        ]
        return [replace(t, seconds=0.2) for t in wanted]

    return replace(figure, trials=trials, claims=lambda outcomes: [])


@pytest.mark.usefixtures("_data")
def test_a_figure_leaves_a_table_a_picture_and_claims_and_is_not_run_twice(tmp_path, monkeypatch):
    messages = []
    claims = running.reproduce([small_figure()], tmp_path, QUICK, jobs=1, say=messages.append)
    assert claims == tmp_path / "claims.md"
    assert "What the paper claims" in claims.read_text("utf-8")
    assert (tmp_path / "figure1.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "figure1.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == {"cgs", "scir", "sgmc", "sgmc as printed", "lmc"}
    assert all(float(row["perplexity"]) > 1 for row in rows)
    assert {row["converged"] for row in rows} <= {"0", "1"}
    assert "Every method starts at random" in claims.read_text("utf-8")
    # one outcome is lost, as if the run had been stopped: only that one is made again
    lost = sorted((tmp_path / "trials").glob("*.json"))[0]
    lost.write_text(lost.read_text("utf-8")[:100])
    made = []
    monkeypatch.setattr(running, "run_trial", lambda trial: made.append(trial) or run_trial(trial))
    running.reproduce([small_figure()], tmp_path, QUICK, jobs=1, say=messages.append)
    assert len(made) == 1
    assert any("4 of 5 runs are there already" in line for line in messages)


@pytest.mark.usefixtures("_data")
def test_what_two_figures_share_is_run_once_and_shown_by_both(tmp_path, monkeypatch):
    """Runs that differ in panel, name and place alone are one; another seed is another run."""
    first = small_figure(methods=("scir",))
    trial = first.trials(True)[0]
    there = {"figure": "figure4", "panel": "Another", "method": "other", "x": 3.0}
    second = replace(first, name="figure4", trials=lambda quick: [replace(trial, **there)])
    third = replace(first, name="figure6", trials=lambda quick: [replace(trial, seed=2)])
    made = []
    monkeypatch.setattr(running, "run_trial", lambda trial: made.append(trial) or run_trial(trial))
    running.reproduce([first, second, third], tmp_path, QUICK, jobs=1, say=lambda text: None)
    assert [trial.seed for trial in made] == [1, 2]
    rows = []
    for name in ("figure1", "figure4"):
        with (tmp_path / f"{name}.csv").open(encoding="utf-8") as file:
            rows += list(csv.DictReader(file))
    assert (rows[0]["panel"], rows[1]["panel"], rows[1]["method"]) == ("Synthetic", "Another", "other")
    assert rows[0]["perplexity"] == rows[1]["perplexity"]


@pytest.mark.usefixtures("_data")
def test_a_figure_without_its_network_is_reported_and_the_others_are_run(tmp_path, monkeypatch):
    def some(name):
        if name == "us-air-712":
            raise InputError(f"{name} is not on this machine")
        return load_dataset(name)

    monkeypatch.setattr("blockmix.graph.datasets.load.load_dataset", some)
    first = replace(small_figure(("US-AIR",)), name="figure4")
    messages = []
    with pytest.raises(InputError, match=r"figure4 needs the network us-air-712: .* not on this machine"):
        running.reproduce(
            [first, small_figure(methods=("scir",))], tmp_path, QUICK, jobs=1, say=messages.append
        )
    assert any("figure4: not run" in line for line in messages)
    assert (tmp_path / "figure1.png").exists()
    assert "figure" in (tmp_path / "claims.md").read_text("utf-8")


@pytest.mark.usefixtures("_data")
def test_a_trial_that_was_cut_short_is_not_kept(tmp_path, monkeypatch):
    """Ctrl-C reaches the fit, which returns early; the trial must be run again."""
    trial = small_figure(methods=("scir",)).trials(True)[0]
    whole = fit_function.fit_request

    def interrupted(*args, **options):
        post = whole(*args, **options)
        post.provenance["interrupted"] = True
        return post

    monkeypatch.setattr(fit_function, "fit_request", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_trial(trial)
    done = CliRunner().invoke(app, ["reproduce", "figure1", "--quick", "-o", str(tmp_path), "--jobs", "1"])
    assert done.exit_code == 130
    assert "the same command goes on from there" in done.stderr
    assert not list((tmp_path / "trials").glob("*.json"))


def test_what_no_figure_shows_is_among_the_claims_with_its_evidence():
    """Tests that the claims name exist."""
    root = Path(__file__).parents[2]
    for claim in CLAIMS:
        assert any(word in claim.holds for word in ("holds", "does not hold", "not tested"))
        for name in re.findall(r"(?:tests|docs)/[\w/.-]+\w", claim.measured):
            assert (root / name).exists(), name


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", FIGURES)
def test_every_method_of_a_run_has_the_same_start_and_hold_out(start, name):
    """No method begins at the partition while another begins at random, and none weighs non-links."""
    trials = running.Conditions(start, 0.01, True).trials(find_figure(name))
    assert {trial.held_out for trial in trials} == {0.01}
    expected = {"partition": {"partition"}, "random": {"random", "flat"}}[start]
    assert {trial.options["start"] for trial in trials} <= expected
    for trial in trials:
        options = sampler_options(trial.sampler, trial.options)
        assert (options.start == "flat") == (trial.sampler != "sgmc" and start == "random")
        assert not getattr(options, "weighted", False)


@pytest.mark.usefixtures("_data")
def test_both_starts_go_to_folders_of_their_own(tmp_path, monkeypatch):
    seen = []

    def noted(figures, folder, under, **_):
        seen.append((folder, under))
        folder.mkdir()
        table = f"| claim | the paper | measured | |\n| a \\| b | words | 1 | {under.start} holds |\n"
        (folder / "figure1.md").write_text(table)
        return folder

    monkeypatch.setattr(running, "reproduce", noted)
    words = ["reproduce", "figure1", "-o", str(tmp_path), "--start", "both", "--held-out", "0.01"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert [(folder.name, under.start, under.held_out) for folder, under in seen] == [
        ("random", "random", 0.01), ("partition", "partition", 0.01),
    ]  # fmt: skip
    assert "| 1 | a \\| b | random holds | partition holds |" in (tmp_path / "verdicts.md").read_text("utf-8")
    refused = CliRunner().invoke(app, ["reproduce", "figure1", "-o", str(tmp_path), "--held-out", "1.5"])
    assert refused.exit_code == 2
    assert "must be a share between 0 and 1" in refused.stderr


def test_the_command_names_the_figures_there_are(tmp_path):
    done = CliRunner().invoke(app, ["reproduce", "figure9", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "figure6" in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("_data")
def test_the_smallest_figure_runs_as_users_run_it(tmp_path, monkeypatch):
    """With one seed and less time a trial than `--quick` has, which takes minutes and would decide nothing more."""
    monkeypatch.setattr(figure1, "QUICK", {"Synthetic": 1.0, "US-AIR": 4.0})
    monkeypatch.setattr(figure1, "SEEDS", (1,))
    done = CliRunner().invoke(app, ["reproduce", "figure1", "--quick", "-o", str(tmp_path), "--jobs", "2"])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "claims.md").read_text("utf-8")
    judged = [
        line
        for line in text.splitlines()
        if re.match(r"\| (Synthetic|US-AIR): .* (holds|does not hold|undecided) \|$", line)
    ]
    assert len(judged) == 4
    assert "## Claims that no figure shows" in text
