"""Workers process every index of a range once, for any number of threads, and raise every error."""

import threading

import numpy as np
import pytest

from blockmix.numerics.workers import LEAST_PIECE, PIECES_A_WORKER, WORTH_A_THREAD, Workers, default_threads


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "count", [0, 1, WORTH_A_THREAD - 1, 2 * WORTH_A_THREAD, 1000, 12 * WORTH_A_THREAD + 1]
)
def test_every_index_is_covered_exactly_once_by_a_worker_of_its_own(threads, count):
    seen = np.zeros(count, dtype=np.int64)
    who = []

    def task(worker, begin, end):
        seen[begin:end] += 1
        who.append(worker)

    with Workers(threads) as workers:
        workers.share(count, task)
    assert (seen == 1).all()
    assert len(set(who)) == len(who) <= threads
    assert all(0 <= worker < threads for worker in who)


def test_several_threads_take_part_when_there_is_enough_to_do():
    names = set()
    barrier = threading.Barrier(3, timeout=30)

    def task(worker, begin, end):
        names.add(threading.current_thread().name)
        barrier.wait()

    with Workers(3) as workers:
        workers.share(3 * WORTH_A_THREAD, task)
    assert len(names) == 3


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_an_error_in_any_worker_reaches_the_caller(failing):
    def task(worker, begin, end):
        if worker == failing:
            raise ArithmeticError(f"worker {worker}")

    with Workers(3) as workers, pytest.raises(ArithmeticError, match=f"worker {failing}"):
        workers.share(3 * WORTH_A_THREAD, task)


def test_a_pool_works_again_after_an_error_and_after_it_was_closed():
    done = []

    def fail(worker, begin, end):
        raise ArithmeticError

    def succeed(worker, begin, end):
        done.append(end - begin)

    workers = Workers(2)
    with pytest.raises(ArithmeticError):
        workers.share(4 * WORTH_A_THREAD, fail)
    workers.share(4 * WORTH_A_THREAD, succeed)
    workers.close()
    workers.close()
    workers.share(4 * WORTH_A_THREAD, succeed)
    workers.close()
    assert sum(done) == 8 * WORTH_A_THREAD


def test_closing_ends_the_threads():
    before = threading.active_count()
    with Workers(3) as workers:
        workers.share(9 * WORTH_A_THREAD, lambda worker, begin, end: None)
    assert threading.active_count() == before


def test_the_default_is_the_processors_this_process_may_use():
    assert Workers().threads == default_threads() >= 1
    assert Workers(0).threads == 1


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("count", [0, WORTH_A_THREAD, 4 * LEAST_PIECE, 50 * LEAST_PIECE + 1])
def test_dealt_pieces_cover_every_index_once_and_a_worker_has_one_at_a_time(threads, count):
    seen, busy = np.zeros(count, dtype=np.int64), [threading.Lock() for _ in range(threads)]

    def task(worker, begin, end):
        assert busy[worker].acquire(blocking=False)
        seen[begin:end] += 1
        busy[worker].release()

    with Workers(threads) as workers:
        workers.deal(count, task)
    assert (seen == 1).all()


def test_while_one_worker_waits_the_others_take_all_other_pieces():
    done = {0: 0, 1: 0}
    rest_is_done = threading.Event()
    pieces = 2 * PIECES_A_WORKER

    def task(worker, begin, end):
        done[worker] += 1
        if sum(done.values()) == pieces:
            rest_is_done.set()
        if begin == 0:
            assert rest_is_done.wait(timeout=30)

    with Workers(2) as workers:
        workers.deal(pieces * LEAST_PIECE, task)
    assert sorted(done.values()) == [1, pieces - 1]
