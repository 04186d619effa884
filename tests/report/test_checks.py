"""The report shows calibration by degree and predictive checks, and the verdict says what is off."""

from dataclasses import replace

import numpy as np
import pytest

import blockmix as bm
from blockmix.posterior.predictive.words import calibration_text, degree_text
from blockmix.report.checks import degree_calibration, predictive_part
from blockmix.report.diagnostics import diagnostics_section
from blockmix.report.verdict import remarks


@pytest.fixture(scope="module")
def post():
    """Two groups of a network drawn from the model, a fifth of the pairs held out."""
    made = bm.planted(120, 2, degree=14, overlap=(1, 1), seed=5)
    return bm.fit(
        made.graph, 2, model="assortative", seed=1, sweeps=120, chains=2, threads=1, held_out=0.2,
        held_out_kind="proportional", progress=False,
    )  # fmt: skip


def underestimated(post, factor):
    """Return the result with the probabilities of all pairs divided by so much."""
    return replace(post, held_out=replace(post.held_out, probability=post.held_out.probability / factor))


def test_the_section_has_both_tables_and_what_they_say(post):
    text = str(diagnostics_section(post))
    table = post.calibration_by_degree()
    assert (
        text.index("Calibration by degree")
        < text.index("Predictive checks")
        < text.index("Agreement of chains")
    )
    for name, ratio in zip(table.names, table.ratio, strict=True):
        assert name in text
        assert f"{ratio:.2f}" in text
    assert "ranking at equal degrees" in text
    assert post.predictive_checks().verdict in text


def test_a_class_that_is_off_is_marked_and_reported_with_the_model_that_may_fit(post):
    wrong = underestimated(post, 5.0)
    table = wrong.calibration_by_degree()
    assert str(degree_calibration(table)).count(">off<") == table.off.sum() > 0
    (remark,) = [r for r in remarks(wrong) if "training links" in r.headline]
    assert remark.headline == table.verdict
    assert remark.advice.startswith('model="popularity"')
    # Of the popularity model there is no other to advise.
    popular = replace(wrong, popularity_mean=np.ones(120, np.float32), popularity_sd=np.ones(120, np.float32))
    assert "model=" not in degree_text(popular)


def test_right_predictions_are_called_right(post):
    assert degree_text(post) == ""
    assert (
        calibration_text(post)
        == "Predicted link probabilities agree with held-out pairs, by range and by degree."
    )
    assert "ranges" in calibration_text(underestimated(post, 5.0))
    assert calibration_text(replace(post, held_out=None)).startswith("Not known")


def test_a_result_without_samples_has_no_predictive_checks(post):
    assert predictive_part(replace(post, draws=((), ()))) is None
