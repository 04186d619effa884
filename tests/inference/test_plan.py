"""When warm-up ends and when a run stops, decided from sweeps, seconds and scores alone."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from blockmix import InputError
from blockmix.inference.plan import (
    FEWEST_SWEEPS,
    LEAST_LIMIT,
    LEAST_OF_NEEDED,
    MOST_BY_DEFAULT,
    MOST_TIMES,
    MOST_WARM_UP,
    UNWATCHED_SWEEPS,
    UNWATCHED_WARM_UP,
    WARM_UP_SHARE,
    Plan,
)


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


def table(converged, known=True, times=math.inf):
    return SimpleNamespace(
        converged=converged,
        known=known,
        missing="" if converged else "R-hat above 1.05 for 30%",
        times_needed=1.0 if converged else times,
    )


AGREE, DISAGREE, ALONE = table(True), table(False), table(False, known=False)


def play(plan, score, chains=lambda sweep: AGREE, most=MOST_BY_DEFAULT):
    """Run a plan on made-up scores and comparisons of chains as the loop does; return when warm-up and run ended."""
    sweep, warm = 0, None
    while sweep <= most:
        sweep += 1
        if plan.over(sweep, 0.0):
            return warm, sweep
        if sweep % 10 == 0:
            plan.add_score(sweep, score(sweep))
            if plan.check_due(sweep):
                plan.add_check(sweep, chains(sweep))
            if plan.over(sweep, 0.0):
                return warm, sweep
        if warm is None and plan.warm_up_over(sweep, 0.0):
            warm = sweep
            plan.sampling_begins(sweep)
    raise AssertionError("the plan never ends")


def settled(sweep):
    return 1.0


def test_a_score_that_does_not_move_ends_each_phase_as_soon_as_allowed_if_the_chains_agree():
    warm, end = play(Plan(), settled)
    assert warm == FEWEST_SWEEPS
    assert end - warm == FEWEST_SWEEPS


def test_a_score_that_improves_for_long_is_waited_for():
    warm, _ = play(Plan(), lambda sweep: 1.0 + math.exp(-sweep / 100))
    assert warm > 4 * FEWEST_SWEEPS


def test_at_least_as_many_sweeps_are_sampled_as_warmed_up():
    warm, end = play(Plan(), lambda sweep: 1.0 + math.exp(-sweep / 100))
    assert end - warm >= warm


def test_chains_that_do_not_agree_are_waited_for_and_compared_again():
    compared = []

    def later(sweep):
        compared.append(sweep)
        return AGREE if sweep > 700 else DISAGREE

    warm, end = play(Plan(), settled, later)
    assert end == compared[-1] > 700
    assert compared[0] == 2 * warm
    # Each comparison at a quarter more samples than the last, rounded up to an evaluation.
    assert [b - warm for b in compared[1:]] == [-(-5 * (a - warm) // 40) * 10 for a in compared[:-1]]


def test_chains_that_never_agree_end_at_a_limit_and_the_reason_says_so():
    plan = Plan()
    warm, end = play(plan, settled, lambda sweep: DISAGREE)
    assert end - warm == LEAST_LIMIT
    assert plan.reason(end, 4) == (
        "the chains did not agree in 1,000 sampling sweeps, and are not expected to within the limit of 30,000 sweeps"
    )
    warm, end = play(Plan(warm_up=900), settled, lambda sweep: DISAGREE)
    assert end - warm == MOST_TIMES * 900


def test_chains_that_agree_do_not_end_a_run_whose_score_still_falls():
    """The score is waited for as long as the work of a run allows, and not only in the first sweeps."""
    plan = Plan(warm_up=200)
    warm, end = play(plan, lambda sweep: max(1.0 / sweep, 1 / 5000))
    assert 5000 < end < 30_000
    assert plan.reason(end, 4) == "the held-out score had settled and the chains agreed"
    warm, end = play(plan := Plan(warm_up=200, most=3000), lambda sweep: 1.0 / sweep)
    assert (warm, end) == (200, 3000)
    assert (
        plan.reason(end, 4) == "the limit of 3,000 sweeps was reached before the held-out score had settled"
    )


def test_chains_that_will_agree_within_the_work_of_a_run_are_waited_for():
    """They need 4,000 sampling sweeps, of which each comparison sees the share that is left."""
    plan = Plan()
    warm, end = play(plan, settled, lambda at: AGREE if at >= 4120 else table(False, times=4000 / (at - 120)))
    assert 4000 <= end - warm < 1.25 * 4000 + 10
    assert plan.reason(end, 4) == "the held-out score had settled and the chains agreed"


def test_chains_that_stay_apart_are_given_up_when_the_work_of_a_run_cannot_do():
    """Five times as many samples as there are is always within reach, until a fifth of all sweeps is made."""
    plan = Plan(most=10_000)
    warm, end = play(plan, settled, lambda at: table(False, times=5.0))
    assert (10_000 - warm) / 5 < end - warm < 1.25 * (10_000 - warm) / 5 + 10
    assert "are not expected to within the limit of 10,000 sweeps" in plan.reason(end, 4)


def test_the_work_of_a_run_ends_it_in_any_case():
    plan = Plan(most=3000)
    warm, end = play(plan, settled, lambda at: table(False, times=1.01))
    assert end == 3000
    assert plan.reason(end, 4) == "the limit of 3,000 sweeps was reached before the chains agreed"
    warm, end = play(Plan(most=360), lambda sweep: 1.0 / sweep, lambda at: DISAGREE)
    assert (warm, end) == (120, 360)


def test_a_resumed_plan_waits_for_the_chains_as_long_as_one_that_was_never_stopped():
    whole = Plan()
    whole.sampling_begins(100)
    whole.add_check(1100, table(False, times=4.0))
    part = Plan()
    part.remember(whole.memory())
    assert part.most_sampled == whole.most_sampled == 30_000 - 100
    assert not part.over(1110, 0.0)
    whole.add_check(1500, AGREE)
    part.remember(whole.memory())
    for sweep in range(110, 1510, 10):
        part.add_score(sweep, 1.0)
    assert part.reason(1500, 2) == "the held-out score had settled and the chains agreed"
    assert part.over(1500, 0.0)
    whole.add_check(1500, DISAGREE)
    part.remember(whole.memory())
    assert part.most_sampled == whole.most_sampled == LEAST_LIMIT


def test_without_scores_the_chains_decide_after_a_fixed_warm_up():
    plan = Plan(watched=False)
    assert play(plan, settled) == (UNWATCHED_WARM_UP, UNWATCHED_SWEEPS)
    assert plan.reason(UNWATCHED_SWEEPS, 4) == "the chains agreed"
    assert "score" not in Plan(watched=False).missing(10)
    plan = Plan(watched=False)
    warm, end = play(plan, settled, lambda at: AGREE if at > 900 else table(False, times=2.0))
    assert 900 < end < 1200
    warm, end = play(Plan(watched=False), settled, lambda at: DISAGREE)
    assert end - warm == LEAST_LIMIT
    plan = Plan(watched=False)
    assert play(plan, settled, lambda at: ALONE)[1] == UNWATCHED_SWEEPS
    assert plan.reason(UNWATCHED_SWEEPS, 1).startswith("500 sweeps were made")
    assert play(Plan(watched=False, warm_up=70), settled)[0] == 70
    assert play(Plan(watched=False, most=360), settled) == (120, 360)


def test_one_chain_cannot_tell_and_the_score_decides():
    plan = Plan()
    warm, end = play(plan, settled, lambda sweep: ALONE)
    assert end - warm == FEWEST_SWEEPS
    assert plan.reason(end, 1) == "the held-out score had settled"
    assert plan.reason(end, 2) == "the held-out score had settled and the chains agreed"


def test_a_score_that_improves_for_ever_is_not_waited_for_for_ever():
    warm, end = play(Plan(), lambda sweep: 1.0 / sweep)
    assert (warm, end) == (MOST_WARM_UP, MOST_BY_DEFAULT)


def test_a_score_that_is_not_a_number_does_not_end_a_run_early():
    assert play(Plan(), lambda sweep: math.nan) == (MOST_WARM_UP, MOST_BY_DEFAULT)


def test_a_settled_score_in_warm_up_begins_the_sampling_and_does_not_end_the_run():
    warm, end = play(Plan(warm_up=207), settled)
    assert warm == 207
    assert 2 * warm <= end < 2 * warm + 10


def test_a_resumed_plan_compares_the_chains_at_the_same_sweeps():
    whole, part = Plan(), Plan()
    whole.sampling_begins(300)
    part.remember(whole.memory())
    assert [s for s in range(2000) if whole.check_due(s)] == [s for s in range(2000) if part.check_due(s)]


def test_with_limits_chains_are_not_compared():
    for plan in (Plan(sweeps=1000), Plan(time_limit=5.0)):
        plan.sampling_begins(100)
        assert not any(plan.check_due(sweep) for sweep in range(1000))
        assert plan.missing(300) == ""


def test_what_is_missing_is_named_in_every_phase():
    plan = Plan()
    assert plan.missing(50) == "a warm-up whose score has settled, at most 1,000 sweeps"
    plan.sampling_begins(200)
    assert plan.missing(290) == "110 sweeps until the chains are compared"
    assert plan.missing(410) == "a settled score"
    plan.add_check(400, DISAGREE)
    assert plan.missing(410) == "a settled score, R-hat above 1.05 for 30%"
    for sweep in range(210, 420, 10):
        plan.add_score(sweep, 1.0)
    assert plan.missing(410) == "R-hat above 1.05 for 30%"
    plan.add_check(400, AGREE)
    assert plan.missing(410) == "the next comparison of the chains"


def test_the_time_left_rests_on_the_present_speed_and_the_limits():
    assert Plan(sweeps=100).seconds_left(10, 50.0, None) is None
    assert Plan(sweeps=100).seconds_left(10, 50.0, 0.1) == pytest.approx((9.0, 9.0))
    assert Plan(time_limit=60.0).seconds_left(10, 50.0, None) == (10.0, 10.0)
    assert Plan(sweeps=100, time_limit=60.0).seconds_left(10, 50.0, 0.01) == pytest.approx((0.9, 0.9))
    assert Plan(time_limit=60.0).seconds_left(10, 70.0, None) == (0.0, 0.0)
    assert Plan().seconds_left(100, 1.0, None) is None


def test_a_run_without_limits_may_end_at_the_next_comparison_or_at_its_limit():
    plan = Plan(most=5000)
    # In the warm-up: if it ended now, its chains would first be compared after as many sweeps again.
    assert plan.seconds_left(100, 1.0, 0.1) == pytest.approx((0.1 * (240 - 100), 0.1 * (5000 - 100)))
    assert plan.seconds_left(300, 1.0, 0.1) == pytest.approx((0.1 * (600 - 300), 0.1 * (5000 - 300)))
    assert Plan(warm_up=300, most=5000).seconds_left(100, 1.0, 0.1)[0] == pytest.approx(0.1 * (600 - 100))
    plan.sampling_begins(200)
    assert plan.seconds_left(300, 1.0, 0.1) == pytest.approx((0.1 * (400 - 300), 0.1 * (5000 - 300)))
    plan.add_check(400, table(False, times=10.0))
    # They need 2,000 sampling sweeps, and a run ends at a comparison: the first one from sweep 2,200 on. It may come
    # sooner, but not at the next comparison already.
    assert [sweep for sweep in range(2140, 2640) if plan.check_due(sweep)] == [2140, 2630]
    least = next(sweep for sweep in range(int(200 + LEAST_OF_NEEDED * 2000), 2630) if plan.check_due(sweep))
    assert plan.seconds_left(410, 1.0, 0.1) == pytest.approx((0.1 * (least - 410), 0.1 * (2630 - 410)))
    # Where they need nearly all that the run allows, they may be given up at the limit for that.
    plan.add_check(400, table(False, times=20.0))
    given_up = next(sweep for sweep in range(200 + LEAST_LIMIT, 2630) if plan.check_due(sweep))
    assert plan.seconds_left(410, 1.0, 0.1)[0] == pytest.approx(0.1 * (given_up - 410))
    plan.add_check(400, table(False, times=10.0))
    # What they needed is over and the next comparison is to come: that is not "0 s left".
    assert plan.seconds_left(2300, 1.0, 0.1) == pytest.approx((0.1 * (2630 - 2300), 0.1 * (2630 - 2300)))
    plan.add_check(450, DISAGREE)
    assert plan.seconds_left(1190, 1.0, 0.1) == pytest.approx((0.1 * 10, 0.1 * (200 + LEAST_LIMIT - 1190)))


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
