"""When warm-up ends and when a run stops, decided from sweeps, seconds and scores alone."""

import math

import numpy as np
import pytest

from blockmix import InputError
from blockmix.inference.plan import FEWEST_SWEEPS, MOST_SWEEPS, UNWATCHED_SWEEPS, WARM_UP_SHARE, Plan


def test_a_number_of_sweeps_is_kept_to_and_a_share_of_them_is_warm_up():
    plan = Plan(sweeps=100)
    warm = int(WARM_UP_SHARE * 100)
    assert not plan.warm_up_over(warm - 1, 1e9)
    assert plan.warm_up_over(warm, 0.0)
    assert not plan.over(99, 1e9)
    assert plan.over(100, 0.0)
    assert plan.share_done(25, 0.0) == 0.25


def test_a_time_limit_is_kept_to_and_a_share_of_it_is_warm_up():
    plan = Plan(time_limit=10.0)
    assert not plan.warm_up_over(10**6, 10 * WARM_UP_SHARE - 0.01)
    assert plan.warm_up_over(1, 10 * WARM_UP_SHARE)
    assert not plan.over(10**6, 9.99)
    assert plan.over(1, 10.0)
    assert plan.share_done(5, 2.5) == 0.25
    assert plan.share_done(5, 25.0) == 1.0


def test_of_two_limits_the_first_that_is_reached_counts():
    plan = Plan(sweeps=100, time_limit=10.0)
    assert plan.over(100, 1.0)
    assert plan.over(10, 10.0)
    assert not plan.over(99, 9.9)
    assert plan.warm_up_over(40, 0.0)
    assert plan.warm_up_over(1, 4.0)
    assert not plan.warm_up_over(39, 3.9)
    assert plan.share_done(10, 5.0) == 0.5


@pytest.mark.parametrize("limits", [{}, {"sweeps": 100}, {"time_limit": 5.0}])
def test_a_warm_up_asked_for_is_kept_to(limits):
    plan = Plan(warm_up=70, **limits)
    assert not plan.warm_up_over(69, 1e9)
    assert plan.warm_up_over(70, 0.0)


def test_without_warm_up_sampling_begins_at_once():
    assert Plan(sweeps=10, warm_up=0).warm_up_over(0, 0.0)


def test_without_limits_and_without_scores_a_fixed_number_of_sweeps_is_run():
    assert Plan(watched=False).sweeps == UNWATCHED_SWEEPS
    assert Plan(watched=False, warm_up=70).sweeps == UNWATCHED_SWEEPS + 70


def play(plan, score, most=20_000):
    """Run a plan on made-up scores as the loop does; returns the sweeps after which warm-up and run ended."""
    sweep, warm = 0, None
    while sweep < most:
        sweep += 1
        if plan.over(sweep, 0.0):
            return warm, sweep
        if sweep % 10 == 0:
            plan.add_score(sweep, score(sweep))
            if plan.over(sweep, 0.0):
                return warm, sweep
        if warm is None and plan.warm_up_over(sweep, 0.0):
            warm = sweep
            plan.sampling_begins(sweep)
    raise AssertionError("the plan never ends")


def test_a_score_that_does_not_move_ends_each_phase_as_soon_as_allowed():
    warm, end = play(Plan(), lambda sweep: 1.0)
    assert warm == FEWEST_SWEEPS
    assert FEWEST_SWEEPS <= end - warm <= FEWEST_SWEEPS + 10


def test_a_score_that_improves_for_long_is_waited_for():
    warm, _ = play(Plan(), lambda sweep: 1.0 + math.exp(-sweep / 100))
    assert warm > 4 * FEWEST_SWEEPS


def test_a_score_that_improves_for_ever_is_not_waited_for_for_ever():
    warm, end = play(Plan(), lambda sweep: 1.0 / sweep)
    assert (warm, end) == (MOST_SWEEPS, 2 * MOST_SWEEPS)


def test_a_score_that_is_not_a_number_does_not_end_a_run_early():
    assert play(Plan(), lambda sweep: math.nan) == (MOST_SWEEPS, 2 * MOST_SWEEPS)


def test_a_settled_score_in_warm_up_begins_the_sampling_and_does_not_end_the_run():
    warm, end = play(Plan(warm_up=200), lambda sweep: 1.0)
    assert warm == 200
    assert end >= 200 + FEWEST_SWEEPS


def test_where_the_end_depends_on_scores_the_share_done_is_unknown():
    assert Plan().share_done(100, 10.0) is None


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "ten", "10", float("nan"), float("inf"), [3]])
def test_sweeps_are_a_whole_number_of_at_least_one(value):
    with pytest.raises(InputError, match="sweeps must be a whole number of at least 1"):
        Plan(sweeps=value)


@pytest.mark.parametrize("value", [-1, 0.5, "none"])
def test_warm_up_is_a_whole_number(value):
    with pytest.raises(InputError, match="warm_up must be a whole number of at least 0"):
        Plan(warm_up=value)


@pytest.mark.parametrize("value", [0, -2.0, float("nan"), float("inf"), "10"])
def test_a_time_limit_is_a_positive_number(value):
    with pytest.raises(InputError, match="time_limit must be a positive number of seconds"):
        Plan(time_limit=value)


@pytest.mark.parametrize("warm_up", [10, 11])
def test_warm_up_leaves_room_for_a_sample(warm_up):
    with pytest.raises(InputError, match="no sample would be taken"):
        Plan(sweeps=10, warm_up=warm_up)


def test_numbers_of_numpy_are_numbers():
    plan = Plan(sweeps=np.int64(10), time_limit=np.float32(2.0), warm_up=3.0)
    assert (plan.sweeps, plan.warm_up) == (10, 3)
    assert type(plan.sweeps) is int
