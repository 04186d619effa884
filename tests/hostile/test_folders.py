"""Folders that somebody made to break blockmix end in one message and exit status 2, never in a crash."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from blockmix.cli.app import app
from blockmix.graph.graph import Graph

sys.path.insert(0, str(Path(__file__).parent))
import fuzz
from changes import reseal

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and links are made with POSIX calls")


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    return fuzz.make_run(tmp_path_factory.mktemp("hostile") / "run")


@pytest.fixture
def run(original, tmp_path) -> Path:
    (tmp_path / "pairs").write_text("n0é n1é\n")
    (tmp_path / "truth").write_text("n0é\tn1é\tn2é\n")
    return Path(shutil.copytree(original, tmp_path / "run"))


def set_entry(path: Path, at: int, value: float) -> None:
    """Change one entry of an array, and the checksums and the fingerprints that know of it."""
    array = np.load(path)
    array.reshape(-1)[at] = value
    np.save(path, array)
    run = next(parent for parent in path.parents if (parent / "status.json").exists())
    reseal(run)


def commands(run: Path) -> list[tuple[str, ...]]:
    truth = run.parent / "truth"
    return [
        ("predict", run, run.parent / "pairs"),
        ("report", run, "-o", run.parent / "report.html"),
        ("evaluate", run, "--truth", truth, "--complete"),
        ("export", run, run.parent / "out.csv"),
        ("resume", run, "--sweeps", "20", "-q"),
    ]


def refused(words, expected: str) -> None:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 2, (words, done.output)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert expected in lines[0], lines[0]


def test_an_untouched_run_is_accepted(run):
    for words in commands(run):
        assert CliRunner().invoke(app, [str(word) for word in words]).exit_code == 0, words


@pytest.mark.parametrize("value", [60, -1, 2**31 - 1])
def test_a_neighbour_out_of_range_is_refused_before_any_kernel(run, value, monkeypatch):
    """Fingerprints are made to agree: whoever changes a network can compute them."""
    for folder in ("graph", "checkpoint/graph", "checkpoint/training"):
        set_entry(run / folder / "neighbors.npy", 5, value)
    facts = json.loads((run / "run.json").read_text())["provenance"]
    monkeypatch.setattr(Graph, "fingerprint", facts["graph_fingerprint"])
    for words in commands(run):
        refused(words, f"neighbors.npy: entry 5 is {value}, outside 0 .. 59")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("draws0_communities", 300, "communities of the posterior samples: entry 7 is 300, outside 0 .. 2"),
        ("draws1_counts", 9, "rows of the posterior samples do not add up"),
        ("draws0_strengths", np.nan, "strengths of the posterior samples: entry 7 is nan"),
        ("community", 3, "community: entry 7 is 3, outside 0 .. 2"),
        ("mean", np.inf, "mean: entry 7 is inf"),
        ("held_out_pairs", 60, "held_out_pairs: entry 7 is 60"),
        ("offsets", -4, "offsets does not fit its entries"),
    ],
)
def test_results_with_crafted_entries_are_refused(run, name, value, expected):
    set_entry(run / "posterior" / f"{name}.npy", 7, value)
    for words in commands(run)[:4]:
        refused(words, expected)


@pytest.mark.parametrize(
    ("name", "at", "value", "expected"),
    [
        ("chain0_state_words", 0, 3, "words: entry 0 is 3, outside"),
        ("chain1_state_words", 0, -1, "words: row 0 is empty"),
        ("chain0_state_strengths", 0, np.nan, "strengths: entry 0 is nan"),
        ("chain0_state_sweep", 0, -1, "sweep: entry 0 is -1"),
        ("chain0_summary_running_community", 1, 99, "running_community: entry 1 is 99"),
        ("chain1_summary_draws_communities", 3, 77, "communities of the posterior samples: entry 3 is 77"),
        ("chain0_forecast", 0, np.inf, "forecast: entry 0 is inf"),
        ("plan", 0, np.nan, "plan: entry 0 is nan"),
    ],
)
def test_checkpoints_with_crafted_entries_are_refused(run, name, at, value, expected):
    for folder in (run / "checkpoint").glob("0*"):
        if (folder / f"{name}.npy").exists():
            set_entry(folder / f"{name}.npy", at, value)
    refused(("resume", run, "--sweeps", "20", "-q"), expected)


@pytest.mark.parametrize(
    ("name", "at", "value", "expected"),
    [
        ("attribute_0_codes", 1, 2, "attribute_0_codes.npy names a text that is not there"),
        ("attribute_0_codes", 1, -2, "attribute_0_codes.npy names a text that is not there"),
        (
            "attribute_0_offsets",
            1,
            1,
            "attribute_0_offsets.npy cuts a character of attribute_0_text.npy in two",
        ),
        ("attribute_0_offsets", 2, 9, "attribute_0_offsets.npy does not fit its entries"),
        ("attribute_0_text", 0, 255, "attribute_0_text.npy is not UTF-8 text"),
    ],
)
def test_attributes_with_crafted_entries_are_refused(run, name, at, value, expected):
    set_entry(run / "graph" / f"{name}.npy", at, value)
    for words in (*commands(run)[:4], ("ask", run, "attribute", "club")):
        refused(words, expected)


@pytest.mark.parametrize("name", ["attribute_0_codes", "attribute_1_numbers"])
def test_an_attribute_of_another_length_is_refused(run, name):
    path = run / "graph" / f"{name}.npy"
    np.save(path, np.load(path)[1:])
    reseal(run)
    refused(("ask", run, "attribute", "club"), f"{name}.npy has not one value per node")


@pytest.fixture(scope="module")
def popular(tmp_path_factory) -> Path:
    """A run of the popularity model."""
    return fuzz.make_run(tmp_path_factory.mktemp("hostile") / "popular", "popularity")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("popularity_mean", np.nan, "popularity_mean: entry 2 is nan"),
        ("popularity_sd", -1.0, "popularity_sd: entry 2 is -1.0"),
        ("draws1_popularity", np.inf, "popularity of the posterior samples: entry 2 is inf"),
        ("draws0_strengths", -0.5, "strengths of the posterior samples: entry 2 is -0.5"),
    ],
)
def test_popularities_of_a_result_with_crafted_entries_are_refused(popular, tmp_path, name, value, expected):
    run = Path(shutil.copytree(popular, tmp_path / "run"))
    set_entry(run / "posterior" / f"{name}.npy", 2, value)
    refused(("ask", run, "node", "n0é"), expected)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("chain0_state_words", 3, "words: entry 0 is 3, outside"),
        ("chain0_state_popularity", np.nan, "popularity: entry 0 is nan"),
        ("chain1_state_rates", -1.0, "rates: entry 0 is -1.0"),
        ("chain0_state_rho", 0.0, "rho: entry 0 is 0.0"),
        ("chain1_summary_popularity_mean", np.inf, "popularity_mean: entry 0 is inf"),
        ("chain0_summary_draws_popularity", -1.0, "popularity of the posterior samples: entry 0 is -1.0"),
    ],
)
def test_checkpoints_of_the_popularity_model_with_crafted_entries_are_refused(
    popular, tmp_path, name, value, expected
):
    run = Path(shutil.copytree(popular, tmp_path / "run"))
    for folder in (run / "checkpoint").glob("0*"):
        if (folder / f"{name}.npy").exists():
            set_entry(folder / f"{name}.npy", 0, value)
    refused(("resume", run, "--sweeps", "20", "-q"), expected)


@pytest.fixture(scope="module")
def bulk_run(tmp_path_factory) -> Path:
    """A run whose posterior samples have an even rest."""
    return fuzz.make_run(tmp_path_factory.mktemp("hostile") / "bulk", "bulk")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda path: path.unlink(), "draws0_rest.npy"),
        (lambda path: np.save(path, np.load(path)[:, 1:]), "rest is uint16 of the shape (8, 59)"),
        (lambda path: np.save(path, np.load(path).astype(np.float32)), "draws0_rest.npy holds the type <f4"),
    ],
)
def test_a_result_whose_rest_was_changed_is_refused(bulk_run, tmp_path, change, expected):
    run = Path(shutil.copytree(bulk_run, tmp_path / "run"))
    (tmp_path / "pairs").write_text("0 1\n")
    change(run / "posterior" / "draws0_rest.npy")
    reseal(run)
    refused(("predict", run, tmp_path / "pairs"), expected)


def test_a_checkpoint_whose_samples_lost_their_rest_is_refused(bulk_run, tmp_path):
    """Samples with a rest and without one do not go into one store."""
    run = Path(shutil.copytree(bulk_run, tmp_path / "run"))
    for manifest in (run / "checkpoint").glob("0*/manifest.json"):
        body = json.loads(manifest.read_text())
        body["files"].pop("chain0_summary_draws_rest", None)
        manifest.write_text(json.dumps(body))
    reseal(run)
    refused(("resume", run, "--sweeps", "20", "-q"), "draws_rest is missing")


def test_a_held_out_pair_out_of_range_is_refused(run):
    set_entry(run / "checkpoint" / "start" / "pairs.npy", 0, 60)
    refused(("resume", run, "--sweeps", "20", "-q"), "pairs: entry 0 is 60, outside 0 .. 59")


@pytest.mark.parametrize("dtype", [">i4", "<i8", "<f4"])
def test_another_type_or_byte_order_is_refused(run, dtype):
    path = run / "posterior" / "community.npy"
    np.save(path, np.load(path).astype(dtype))
    reseal(run)
    refused(("predict", run, run.parent / "pairs"), f"community.npy holds the type {dtype}, not <i4")


def test_a_header_that_promises_more_than_the_file_has_takes_no_memory(run):
    path = run / "posterior" / "mean.npy"
    data = path.read_bytes()
    shape = str(np.load(path).shape).encode()
    path.write_bytes(
        data.replace(shape + b", }" + b" " * 9, b"(99999999999,), }" + b" " * (len(shape) - 5), 1)
    )
    reseal(run)
    refused(("predict", run, run.parent / "pairs"), "mean.npy cannot be read")


def test_names_of_arrays_lead_nowhere_else(run):
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(manifest | {"trace": ["../../outside"]}))
    reseal(run)
    refused(("predict", run, run.parent / "pairs"), "is not the name of an array")


def test_names_of_arrays_in_a_checkpoint_lead_nowhere_else(run):
    """The file outside is whole, and its checksum is right: only its name is wrong."""
    np.save(run.parent / "outside.npy", np.zeros(3))
    for path in (run / "checkpoint").glob("0*/manifest.json"):
        manifest = json.loads(path.read_text())
        manifest["files"]["../../../outside"] = {}
        path.write_text(json.dumps(manifest))
    reseal(run)
    done = CliRunner().invoke(app, ["resume", str(run), "--sweeps", "20", "-q"])
    assert done.exit_code == 2
    *warnings, error = done.stderr.splitlines()
    assert all("'../../../outside' is not the name of an array" in line for line in warnings)
    assert "none of the checkpoints is whole" in error


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("samples", -1), ("seed", True), ("sweeps", 2.5), ("created", 7), ("sampler", None), ("seconds", "x"),
        ("total_seconds", 10**400), ("options", []), ("model", 3), ("interrupted", 1), ("peak_memory_bytes", -1),
        ("model", {"alpha": "x"}), ("model", {"alpha": 10**400}),
    ],
)  # fmt: skip
def test_a_result_with_facts_of_another_kind_is_refused(run, name, value):
    manifest = json.loads((run / "run.json").read_text())
    manifest["provenance"][name] = value
    (run / "run.json").write_text(json.dumps(manifest))
    reseal(run)
    refused(("predict", run, run.parent / "pairs"), f"{name} in the provenance is {value!r:.80}")


def test_a_result_without_weights_of_its_chains_weighs_them_the_same(run):
    manifest = json.loads((run / "run.json").read_text())
    manifest["provenance"]["pool"] = None
    (run / "run.json").write_text(json.dumps(manifest))
    reseal(run)
    for words in commands(run)[:4]:
        assert CliRunner().invoke(app, [str(word) for word in words]).exit_code == 0, words


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"init": [[0, 1]]}, "'init' is no setting of the model"),
        ({"checkpoint": "/tmp/elsewhere"}, "'checkpoint' is no setting of the model"),
        ({"communities": "auto"}, "communities of the model is 'auto'"),
        ({"kind": "auto"}, "kind of the model is 'auto'"),
    ],
)
@pytest.mark.parametrize("before_the_first_checkpoint", [False, True])
def test_a_folder_gives_no_settings_but_those_of_the_model(
    run, changed, expected, before_the_first_checkpoint
):
    """Its fields were passed on as arguments of the request."""
    manifest = run / "checkpoint" / "start" / "manifest.json"
    body = json.loads(manifest.read_text())
    body["facts"]["task"]["model"] |= changed
    manifest.write_text(json.dumps(body))
    reseal(run)
    if before_the_first_checkpoint:
        for folder in (run / "checkpoint").glob("0*"):
            shutil.rmtree(folder)
    refused(("resume", run, "-q"), expected if before_the_first_checkpoint else "")


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("task", []), ("plan", {}), ("notes", {"threshold": 2}), ("notes", {"threshold": 10**400}),
        ("held_out", {"kind": "x"}),
        ("networks", {"graph": 3}), ("blockmix", 2),
    ],
)  # fmt: skip
def test_a_start_with_facts_of_another_kind_is_refused(run, fact, value):
    path = run / "checkpoint" / "start" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["facts"][fact] = value
    path.write_text(json.dumps(manifest))
    reseal(run)
    refused(
        ("resume", run, "--sweeps", "20", "-q"),
        "in the manifest" if fact != "networks" else "graph in the manifest",
    )


def test_a_report_is_not_written_through_a_link(run, tmp_path):
    (tmp_path / "mine").write_text("precious")
    (run / "report.html").symlink_to(tmp_path / "mine")
    refused(("report", run), "this is a symbolic link")
    assert (tmp_path / "mine").read_text() == "precious"
