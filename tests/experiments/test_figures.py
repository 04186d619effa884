"""Every figure can be drawn and its claims judged from outcomes."""

from dataclasses import replace

import numpy as np
import pytest

from blockmix.errors import InputError
from blockmix.experiments import FIGURES, find_figure
from blockmix.experiments.figure import (
    curve,
    mean_of,
    seconds_to,
    select,
    unique,
    verdict,
)
from blockmix.experiments.trial import Outcome, Trial

pytest.importorskip("matplotlib")


def made_up(trial, rng):
    """An outcome as a run would leave it, with scores that fall over time."""
    seconds = np.linspace(0.1, trial.seconds, 12)
    perplexity = 3 + rng.uniform(1, 2) * np.exp(-seconds)
    trace = {"seconds": seconds.tolist(), "perplexity": perplexity.tolist(), "iterations": list(range(1, 13))}
    trace |= {"auc": (0.9 - 0.1 * np.exp(-seconds)).tolist(), "log_loss": (0.01 * perplexity).tolist()}
    figures = {
        "perplexity": perplexity[-1],
        "auc": 0.9,
        "log_loss": 0.01,
        "seconds_per_iteration": 1e-3 * trial.communities,
    }
    return Outcome(trial, trace, figures | {"memory_ratio": 1.0 / trial.communities, "iterations": 12.0})


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("quick", [True, False])
def test_every_figure_draws_and_judges(name, quick, tmp_path):
    figure = find_figure(name)
    trials = figure.trials(quick)
    assert len({trial.name for trial in trials}) == len(trials)
    assert {trial.seed for trial in trials} == {1, 2, 3}
    rng = np.random.default_rng(1)
    outcomes = [made_up(trial, rng) for trial in trials]
    if quick:  # the full run has the same panels and more of the same curves
        figure.draw(outcomes).savefig(tmp_path / "figure.png", dpi=40)
    claims = figure.claims(outcomes)
    assert claims
    for claim in claims:
        assert set(claim.holds.split("; as printed, ")) <= {"holds", "does not hold", "undecided"}
        assert "nan" not in claim.measured


@pytest.mark.parametrize(
    ("name", "about_ends"),
    [
        (
            "figure3",
            {
                "not much",
                "sgmc-m converges",
                "US-AIR: sgmc-m",
                "NETSCIENCE: sgmc-m",
                "sgmc predicts",
                "svi is best",
                "sgmc stays",
            },
        ),
        ("figure4", {"in the end", "US-AIR and", "with many"}),
        ("figure5", {"thresholds of", "a lower"}),
        ("figure6", {"sgmc: on", "sgmc, as printed: on", "mini-batches of"}),
    ],
)
def test_claims_about_ends_are_undecided_where_no_run_has_converged(name, about_ends):
    figure, rng = find_figure(name), np.random.default_rng(1)
    made = [made_up(trial, rng) for trial in figure.trials(True)]
    outcomes = [replace(o, figures=o.figures | {"converged": 0.0}) for o in made]
    for claim in figure.claims(outcomes):
        ends = claim.claim.startswith(tuple(about_ends))
        assert (claim.holds == "undecided") == ends, claim.claim


def test_a_figure_is_found_by_name_or_number_and_another_is_refused():
    assert find_figure("3") is find_figure("figure3")
    with pytest.raises(InputError, match="there is no figure '7'; figures: figure1"):
        find_figure("7")


def test_quick_trials_take_less_than_25_minutes_on_two_processors():
    """Sum the seconds that runs ask for, shared ones once; a third of the time is left for starting them."""
    asked = {trial.name: trial.seconds for name in FIGURES for trial in find_figure(name).trials(True)}
    assert sum(asked.values()) / 2 < 25 * 60 * 2 / 3


def outcome(times, scores, **fields):
    trial = Trial("figure1", "p", "n", 2, "m", "scir", 1, 1.0, **fields)
    return Outcome(trial, {"seconds": times, "perplexity": scores}, {"perplexity": scores[-1]})


def test_curves_are_means_over_seeds_with_their_range():
    both = [outcome([1.0, 2.0, 4.0], [4.0, 3.0, 2.0]), outcome([1.0, 2.0, 4.0], [6.0, 5.0, 4.0])]
    found = curve(both, "perplexity")
    assert found.time[0] == pytest.approx(1.0)
    assert found.mean[0] == pytest.approx(5.0)
    assert (found.low[-1], found.high[-1]) == pytest.approx((2.0, 4.0))
    assert seconds_to(both, "perplexity", 4.0) == pytest.approx(2.0, rel=0.05)
    assert seconds_to(both, "perplexity", 1.0) == np.inf
    assert mean_of(both, "perplexity") == 3.0
    assert np.isnan(mean_of([], "perplexity"))


def test_outcomes_are_selected_by_the_fields_of_their_trials():
    both = [outcome([1.0], [1.0], x=1.0), outcome([1.0], [1.0], x=2.0)]
    assert select(both, x=2.0) == both[1:]
    assert unique(both, "x") == [1.0, 2.0]
    assert [verdict(x) for x in (True, False, None)] == ["holds", "does not hold", "undecided"]


def test_an_outcome_reads_back_as_it_was_written():
    first = outcome([1.0, 2.0], [3.0, float("inf")], options={"step": 0.1})
    assert Outcome.from_json(first.to_json()) == first
