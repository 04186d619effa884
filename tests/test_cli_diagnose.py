"""`blockmix diagnose` prints verdicts and tables, or one JSON object, and the record of a fit has the calibration."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

import blockmix as bm
from blockmix.cli.app import app
from blockmix.cli.record import score_record


def blockmix(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A result with held-out pairs, and one without."""
    place = tmp_path_factory.mktemp("diagnose")
    graph = bm.planted(120, 2, degree=14, overlap=(1, 1), seed=5).graph
    options = {"seed": 1, "sweeps": 60, "chains": 2, "threads": 1, "progress": False}
    bm.fit(graph, 2, held_out=0.1, **options).save(place / "run")
    bm.fit(graph, 2, held_out=0, **options).save(place / "none")
    return place


def test_the_checks_are_printed_with_their_verdicts(folder):
    done = blockmix("diagnose", folder / "run", "--replicates", 19)
    assert done.exit_code == 0, done.output
    for words in (
        "Chains.",
        "Calibration.",
        "training links of a node",
        "Predictive checks.",
        "largest degree",
    ):
        assert words in done.stdout


def test_json_has_what_is_printed(folder):
    found = json.loads(blockmix("diagnose", folder / "run", "--replicates", 25, "--json").stdout)
    assert found["replicates"] == 25
    assert {row["statistic"] for row in found["predictive_checks"]} >= {"average degree", "clustering"}
    post = bm.load(folder / "run")
    assert found["calibration_by_degree"] == post.calibration_by_degree().rows()
    assert sum(row["pairs"] for row in found["calibration"]) == len(post.held_out.pairs)
    assert sum(row["links"] for row in found["calibration_by_degree"]) == post.held_out.links.sum()
    assert found["calibration"] == score_record(post)["calibration"]


def numbers_in(value):
    """Return all numbers of a JSON value, those of the groups of degrees included, which are text."""
    if isinstance(value, dict):
        groups = value.get("degree_groups") or {}
        inside = [float(n) for text in groups.values() for n in re.findall(r"\d+", text)]
        return inside + [n for part in value.values() for n in numbers_in(part)]
    if isinstance(value, list):
        return [n for part in value for n in numbers_in(part)]
    return [float(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_every_number_on_the_screen_is_in_the_json(folder):
    words = ("diagnose", folder / "run", "--replicates", 19)
    shown, values = blockmix(*words).stdout, json.loads(blockmix(*words, "--json").stdout)
    known = numbers_in(values)
    for text in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-\d+)?%?", shown):
        value = float(text.rstrip("%").replace(",", "")) / (100 if text.endswith("%") else 1)
        digits = len(text.rstrip("%").partition(".")[2]) + (2 if text.endswith("%") else 0)
        assert any(abs(value - n) <= 0.51 * 10**-digits or abs(value - n) <= 0.005 * abs(n) for n in known), (
            text
        )
    assert (values["calibration_level"], values["degree_groups"]["no"]) == (0.99, "no")
    assert "no: no" not in shown


def test_the_seed_changes_the_networks_drawn(folder):
    first, again, other = (
        json.loads(blockmix("diagnose", folder / "run", "--replicates", 19, "--seed", s, "--json").stdout)
        for s in (1, 1, 2)
    )
    assert first == again
    assert first["predictive_checks"] != other["predictive_checks"]


def test_without_held_out_pairs_calibration_is_not_known(folder):
    done = blockmix("diagnose", folder / "none", "--replicates", 19)
    assert "Calibration. Not known" in done.stdout
    assert "ranking at equal degrees" not in done.stdout
    found = json.loads(blockmix("diagnose", folder / "none", "--replicates", 19, "--json").stdout)
    assert found["calibration"] is found["calibration_by_degree"] is found["calibration_verdict"] is None
    assert len(found["predictive_checks"]) == 4
