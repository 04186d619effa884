"""Problems of a run are reported in words, and a good run has none."""

from dataclasses import replace

import numpy as np
import pytest

from blockmix.posterior.diagnostics import DiagnosticsTable
from blockmix.posterior.posterior import Posterior
from blockmix.report.verdict import remarks

from .conftest import made_trace


def reported(post):
    return " ".join(f"{r.headline} {r.advice}" for r in remarks(post))


def chains(rhat, ess, count=4, draws=100, kind="sorted strength", held_out=True):
    size = len(rhat)
    numbers = [np.full(size, 0.1)] * 3 + [np.array(rhat), np.array(ess), np.array(ess)]
    return DiagnosticsTable(["x"] * size, [kind] * size, *numbers, count, draws, held_out)


def compared(monkeypatch, table):
    """Give every posterior this table of chains."""
    monkeypatch.setattr(Posterior, "diagnostics", lambda self: table)


@pytest.fixture
def good(make_posterior, monkeypatch):
    """Return a run without problems: chains agree, links are as frequent as predicted."""
    compared(monkeypatch, chains([1.001], [900.0]))
    post = make_posterior()
    rng = np.random.default_rng(2)
    probability = rng.uniform(0.02, 0.98, 4_000)
    links = rng.random(4_000) < probability
    pairs = np.column_stack([np.zeros(4_000, dtype=np.int64), 1 + np.arange(4_000) % 50])
    held_out = replace(post.held_out, pairs=pairs, links=links, probability=probability, density=links.mean())
    return replace(post, held_out=held_out)


def test_nothing_is_reported_of_a_good_run(good):
    assert remarks(good) == []


def test_few_samples_are_reported(good):
    post = replace(good, provenance=good.provenance | {"samples": 30})
    assert "Only 30 samples" in reported(post)


def test_an_interrupted_run_is_reported(good):
    assert "interrupted" in reported(replace(good, provenance=good.provenance | {"interrupted": True}))


def test_a_score_that_still_falls_is_serious(good):
    post = replace(good, trace=made_trace(loss=np.linspace(0.3, 0.1, 60)))
    (remark,) = remarks(post)
    assert remark.serious
    assert "still falling" in remark.headline


def test_a_score_that_fell_in_warm_up_only_is_no_concern(good):
    loss = np.concatenate([np.linspace(0.9, 0.1, 20), np.full(40, 0.1)])
    assert remarks(replace(good, trace=made_trace(loss=loss))) == []


def test_dropped_mass_is_reported(good):
    assert "2.0% of all membership was dropped" in reported(replace(good, trace=made_trace(dropped=0.02)))


def test_predictions_that_are_off_are_reported(good):
    held_out = replace(good.held_out, links=~good.held_out.links)
    assert "off in" in reported(replace(good, held_out=held_out))


def test_nothing_held_out_is_reported(good):
    assert "Nothing was held out" in reported(replace(good, held_out=None))


def test_chains_that_disagree_are_serious(good, monkeypatch):
    compared(monkeypatch, chains([1.4, 1.3], [900.0, 800.0]))
    (remark,) = remarks(good)
    assert remark.serious
    assert remark.headline.startswith("The 4 chains do not agree: R-hat is above 1.05")
    assert remark.headline.endswith(".")
    assert remark.advice.startswith("Run longer")


def test_few_effective_samples_are_reported_but_not_serious(good, monkeypatch):
    compared(monkeypatch, chains([1.01], [12.0]))
    (remark,) = remarks(good)
    assert not remark.serious
    assert "Few effective samples" in remark.advice


def test_a_lone_chain_is_reported(good, monkeypatch):
    compared(monkeypatch, chains([np.nan], [900.0], count=1))
    (remark,) = remarks(good)
    assert not remark.serious
    assert remark.headline.startswith("One chain")


def test_too_few_draws_are_reported(good, monkeypatch):
    compared(monkeypatch, chains([1.0], [900.0], draws=7))
    (remark,) = remarks(good)
    assert remark.headline.startswith("Too few draws (7 a chain)")


def test_a_result_without_draws_is_never_without_a_remark(make_posterior):
    (remark,) = [r for r in remarks(make_posterior()) if "draws" in r.headline]
    assert remark.headline.startswith("Too few draws (0 a chain)")


def test_a_matching_that_is_in_doubt_does_not_decide(good, monkeypatch):
    table = chains([1.0, 1.9], [900.0, 5.0])
    matched = replace(table, kind=["sorted strength", "matched strength"])
    compared(monkeypatch, matched)
    assert matched.converged
    (remark,) = remarks(good)
    assert not remark.serious
    assert remark.headline == "Single communities are less certain."
    assert remark.advice.startswith("R-hat is above 1.05 for 1 of 1 strengths")


def test_nothing_held_out_is_said_once(good, monkeypatch):
    compared(monkeypatch, chains([1.4], [900.0], held_out=False))
    assert reported(replace(good, held_out=None)).count("held out") == 1
