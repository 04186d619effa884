"""What a person sees while a fit runs: a bar, plain lines, or nothing, as the place asks for."""

import io
import sys

import pytest

from blockmix import InputError, fit
from blockmix.evaluate import Scores
from blockmix.inference.progress import (
    LOOK_BACK,
    PLAIN_EVERY,
    Bar,
    Pace,
    Plain,
    Report,
    Silent,
    choose_progress,
    describe,
)

SCORES = Scores(2.34567, 0.01, 0.98765, 0.9, 10, 10)


def report(sweep=12, seconds=3.0, share=None, left=None, scores=SCORES, warm_up=False, speed=2.5e6):
    return Report(sweep, warm_up, seconds, speed, share, left, scores)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def stderr_as(monkeypatch):
    """Return a function that replaces standard error; called in the test, since capture undoes it in a fixture."""

    def install(stream):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", "160")
        for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            monkeypatch.delenv(name, raising=False)
        return stream

    return install


def test_a_line_names_phase_sweep_speed_and_scores():
    assert describe(report(1234)) == "sampling  sweep 1,234  2.50 M updates/s  perplexity 2.346  AUC 0.988"
    assert describe(report(scores=None, warm_up=True, speed=45_600)) == "warm-up   sweep 12  46 k updates/s"


def test_plain_lines_are_far_apart_and_say_how_long_is_left():
    stream = io.StringIO()
    plain = Plain(stream)
    plain.waiting("compiling")
    for second in range(12):
        plain.update(report(second, seconds=float(second), share=second / 100, left=100.0 - second))
    plain.close()
    lines = stream.getvalue().splitlines()
    assert lines[0] == "compiling"
    assert len(lines) == 1 + 1 + int(11 // PLAIN_EVERY)
    assert lines[1].startswith("    0.0 s  sampling  sweep 0")
    assert lines[1].endswith("100 s left")


def test_the_last_plain_line_is_always_printed():
    stream = io.StringIO()
    plain = Plain(stream)
    plain.update(report(1, seconds=0.1, share=0.5))
    plain.update(report(2, seconds=0.2, share=1.0, left=0.0))
    assert "sweep 2" in stream.getvalue().splitlines()[-1]


def test_a_bar_on_a_terminal_shows_the_run_and_leaves_the_screen_tidy(stderr_as):
    terminal = stderr_as(Terminal())
    bar = Bar()
    bar.waiting("compiling the kernels")
    bar.update(report(77, share=0.25, left=9.0))
    bar.update(report(78, share=0.26, left=8.0))
    bar.close()
    shown = terminal.getvalue()
    assert "sweep 77" in shown
    assert "9 s left" in shown
    # a bar that is redrawn at every call would slow short sweeps down
    assert "sweep 78" not in shown
    # the cursor comes back
    assert shown.rstrip("\r").count("\x1b[?25h") >= 1


def test_what_is_missing_is_not_cut_on_a_terminal_of_80_columns(stderr_as, monkeypatch):
    terminal = stderr_as(Terminal())
    monkeypatch.setenv("COLUMNS", "80")
    bar = Bar()
    missing = "R-hat above 1.05 for 34%, 120 effective samples"
    bar.update(Report(10_820, False, 60.0, 18_400.0, None, 340.0, SCORES, missing, 1.0))
    bar.close()
    shown = terminal.getvalue()
    assert f"up to 6 min left; missing: {missing}" in shown
    assert "sampling  sweep 10,820  18 k updates/s" in shown
    assert "…" not in shown


def test_a_bar_moves_where_the_end_is_not_known(stderr_as):
    terminal = stderr_as(Terminal())
    bar = Bar()
    bar.update(report(5, share=None))
    bar.close()
    assert "sweep 5" in terminal.getvalue()


def test_closing_a_bar_twice_is_harmless(stderr_as):
    stderr_as(Terminal())
    bar = Bar()
    bar.close()
    bar.close()


def test_the_display_suits_the_place(stderr_as):
    stderr_as(io.StringIO())
    assert isinstance(choose_progress(None), Silent)
    assert isinstance(choose_progress(False), Silent)
    assert isinstance(choose_progress(True), Plain)


def test_a_terminal_gets_a_bar_unless_it_is_not_wanted(stderr_as):
    stderr_as(Terminal())
    assert isinstance(choose_progress(False), Silent)
    for wanted in (None, True):
        bar = choose_progress(wanted)
        assert isinstance(bar, Bar)
        bar.close()


def test_a_program_without_standard_error_runs_silently(stderr_as):
    stderr_as(None)
    assert isinstance(choose_progress(None), Silent)


def test_a_silent_display_prints_nothing(capsys):
    silent = Silent()
    silent.waiting("x")
    silent.update(report())
    silent.close()
    assert capsys.readouterr() == ("", "")


def test_a_fit_is_silent_off_a_terminal_unless_asked(small, capfd):
    fit(small, 4, sweeps=4, threads=1)
    assert capfd.readouterr() == ("", "")
    fit(small, 4, sweeps=4, threads=1, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "sampling  sweep 4" in err


def test_a_fit_on_a_terminal_shows_its_bar_and_takes_it_away_after_an_error(small, stderr_as):
    terminal = stderr_as(Terminal())

    def stop(_):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        fit(small, 4, sweeps=4, threads=1, callback=stop)
    assert "\x1b[?25h" in terminal.getvalue()
    with pytest.raises(InputError):
        fit(small, 4, sweeps=4, threads=1, no_such_option=1)


def test_the_pace_is_that_of_the_last_sweeps_and_not_of_a_slow_start():
    """The first sweep ends after 20 s of finding a start; then ten sweeps take a second."""
    pace = Pace()
    pace.add(1, 20.0)
    assert pace.seconds_a_sweep is None
    pace.add(2, 20.1)
    assert pace.seconds_a_sweep is None, "a tenth of a second tells little"
    pace.add(20, 21.9)
    assert pace.seconds_a_sweep == pytest.approx(0.1)
    for i in range(LOOK_BACK):
        pace.add(30 + 10 * i, 100.0 + 5.0 * i)
    assert pace.seconds_a_sweep == pytest.approx(0.5), "what is long ago does not count"


def test_sweeps_too_quick_to_time_one_by_one_have_a_pace_in_the_end():
    pace = Pace()
    for i in range(LOOK_BACK):
        pace.add(10 * i, 0.01 * i)
    assert pace.seconds_a_sweep == pytest.approx(0.001)
