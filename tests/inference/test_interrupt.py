"""Ctrl-C ends a run after the sweep it is in, and what was learned so far is kept."""

import signal
import threading

import numpy as np
import pytest

from blockmix import fit
from blockmix.inference.interrupt import Interruption


@pytest.fixture(autouse=True)
def usual_handler():
    """Begin and end tests with Python's own handler."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_first_signal_is_a_request_and_the_second_an_interrupt():
    with Interruption() as interruption:
        assert not interruption.requested
        signal.raise_signal(signal.SIGINT)
        assert interruption.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_the_handler_that_was_there_comes_back():
    def mine(number, frame):
        pass

    for handler in (mine, signal.SIG_IGN, signal.default_int_handler):
        signal.signal(signal.SIGINT, handler)
        with Interruption():
            assert signal.getsignal(signal.SIGINT) is not handler
        assert signal.getsignal(signal.SIGINT) is handler
        with pytest.raises(ZeroDivisionError), Interruption():
            raise ZeroDivisionError
        assert signal.getsignal(signal.SIGINT) is handler


def test_elsewhere_than_in_the_main_thread_it_does_nothing():
    handler, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with Interruption() as interruption:
            seen.append((signal.getsignal(signal.SIGINT), interruption.requested))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(handler, False)]
    assert signal.getsignal(signal.SIGINT) is handler


def interrupt_at(sweep):
    def callback(report):
        if report.sweep == sweep:
            signal.raise_signal(signal.SIGINT)

    return callback


def test_a_run_interrupted_while_sampling_keeps_its_samples(small):
    post = fit(small, 4, sweeps=10_000, warm_up=10, seed=1, chains=1, threads=1, callback=interrupt_at(30))
    assert post.provenance["interrupted"]
    assert post.provenance["sweeps"] == 31
    assert post.provenance["samples"] == 21
    assert post.trace["sweep"][-1] == 31
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_interrupted_in_warm_up_still_gives_a_posterior(small):
    post = fit(small, 4, sweeps=10_000, seed=1, chains=1, threads=1, callback=interrupt_at(2))
    assert post.provenance["interrupted"]
    assert post.provenance["sweeps"] == post.provenance["warm_up"] == 3
    assert post.provenance["samples"] == 1
    assert np.isfinite(post.perplexity)
    assert 0 < post.node_link_probability(np.array([[0, 1]]))[0] < 1
    assert not post.sd.any()


def test_what_an_interrupted_run_keeps_is_what_a_shorter_run_gives(small):
    stopped = fit(small, 4, sweeps=10_000, warm_up=10, seed=1, chains=1, threads=1, callback=interrupt_at(30))
    short = fit(small, 4, sweeps=31, warm_up=10, seed=1, chains=1, threads=1)
    np.testing.assert_array_equal(stopped.mean, short.mean)
    np.testing.assert_array_equal(stopped.held_out.probability, short.held_out.probability)


def test_a_fit_runs_in_any_thread(small):
    found = []
    thread = threading.Thread(target=lambda: found.append(fit(small, 4, sweeps=10, seed=1, threads=1)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0].mean, fit(small, 4, sweeps=10, seed=1, threads=1).mean)
