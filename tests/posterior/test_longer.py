"""What a run lacks until it has converged, and how long that takes at least."""

from types import SimpleNamespace

import pytest

from blockmix.posterior.structure import longer, longer_text


def run(times, *, known=True, converged=False, sweeps=1300, warm_up=300, seconds=13.0):
    table = SimpleNamespace(
        known=known, converged=converged, times_needed=times, missing="R-hat above 1.05 for 40%"
    )
    facts = {"sweeps": sweeps, "warm_up": warm_up, "seconds": seconds}
    return SimpleNamespace(diagnostics=lambda: table, provenance=facts)


def test_the_sweeps_are_those_of_the_whole_run_and_the_seconds_those_on_top():
    """Four times 1,000 sampling sweeps and the warm-up; a hundredth of a second each."""
    found = longer(run(4.0))
    assert (found.sweeps, found.seconds) == (4300, pytest.approx(30.0))
    text = longer_text(run(4.0))
    assert text.startswith(
        "Missing: R-hat above 1.05 for 40%. That takes at least 4,300 sweeps in all, 30 s more"
    )


def test_what_no_number_of_sweeps_brings_is_told_so():
    assert longer(run(float("inf")))[2:] == (None, None)
    assert "will not agree in a longer run" in longer_text(run(float("inf")))


@pytest.mark.parametrize(
    "done",
    [{"converged": True}, {"known": False}, {"sweeps": 5, "warm_up": 5}],
    ids=["converged", "unknown", "warm-up"],
)
def test_where_nothing_is_missing_or_none_can_tell_nothing_is_said(done):
    assert longer(run(4.0, **done)) is None
    assert longer_text(run(4.0, **done)) == ""
