"""The file: complete in itself, the same every time, whole or not at all."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from blockmix.errors import InputError
from blockmix.posterior.diagnostics import DiagnosticsTable
from blockmix.posterior.posterior import Posterior
from blockmix.report import page, report_html, write_report

from .conftest import NASTY

ROOT = Path(__file__).resolve().parents[2]
# Scripts, styles and licences weigh this much before there are any data.
MOST_BYTES_EMPTY = 190_000


@pytest.fixture(scope="module")
def text(small):
    return report_html(small, title="<b>Bold</b> & co")


def without_scripts(text):
    return re.sub(r"<script.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL)


def test_the_file_loads_nothing(text):
    sources = re.findall(r'(?:src|href|action|srcset)="([^"]*)"', without_scripts(text))
    assert sources
    assert all(source.startswith(("#", "data:image/svg+xml;base64,")) for source in sources)
    assert "@import" not in text
    assert "url(" not in "".join(page.asset(name) for name in page.STYLES)


def test_the_policy_allows_these_scripts_and_no_others(text):
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == len(page.SCRIPTS) == len(re.findall("script-src ([^;]*)", policy)[0].split())


def test_no_label_and_no_title_becomes_markup(text):
    assert "<b>Bold</b>" not in text
    for label in NASTY[:4]:
        assert label not in text


def test_the_same_result_gives_the_same_file(small, text):
    assert report_html(small, title="<b>Bold</b> & co") == text


def test_the_file_has_a_sane_size(make_posterior):
    assert len(report_html(make_posterior(8, 2)).encode()) < MOST_BYTES_EMPTY


@pytest.mark.parametrize(
    "options",
    [{"held_out": False}, {"trace": False}, {"held_out": False, "trace": False, "communities": 1}],
)
def test_a_result_without_scores_or_trace_has_a_report(make_posterior, options):
    assert "</html>" in report_html(make_posterior(**options))


def test_a_result_without_provenance_has_a_report(small):
    assert "</html>" in report_html(replace(small, provenance={}))


def test_agreement_of_chains_is_shown_the_worst_first(make_posterior, monkeypatch):
    table = DiagnosticsTable(
        ["<i>", "matched", "worse"], ["scalar", "matched strength", "scalar"],
        *([np.array([0.5, 0.75, 0.25])] * 3), rhat=np.array([1.0, 1.9, 1.2]),
        ess_bulk=np.array([1234.0, 10.0, 56.0]), ess_tail=np.array([np.nan, 10.0, 60.0]), chains=2, draws=50,
    )  # fmt: skip
    monkeypatch.setattr(Posterior, "diagnostics", lambda self: table)
    shown = re.sub(r" (class|data-name)=\"[^\"]*\"", "", report_html(make_posterior()))
    rows = [
        "<td>worse</td><td>scalar</td><td>0.25</td><td>0.25</td><td>0.25</td><td>1.200</td><td>56</td><td>60</td>",
        "<td>&lt;i&gt;</td><td>scalar</td><td>0.5</td><td>0.5</td><td>0.5</td><td>1.000</td><td>1,234</td><td>n/a</td>",
        "<td>matched</td><td>matched strength</td><td>0.75</td><td>0.75</td><td>0.75</td><td>1.900</td><td>10</td>"
        "<td>10</td>",
    ]
    assert "".join(f"<tr>{row}</tr>" for row in rows) in shown
    assert "The 2 chains do not agree" in shown


def test_a_run_without_draws_has_a_report_that_says_so(make_posterior):
    shown = report_html(make_posterior())
    assert shown.count("Too few draws (0 a chain) to tell whether the chains have converged") == 2
    assert "No problem was found" not in shown


def test_the_file_is_written_and_replaced(small, tmp_path):
    path = tmp_path / "new" / "report.html"
    assert write_report(small, path) == path
    before = path.read_text("utf-8")
    write_report(small, path, title="Another")
    assert path.read_text("utf-8") != before
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_a_folder_cannot_be_a_report(small, tmp_path):
    with pytest.raises(InputError, match="name a file"):
        write_report(small, tmp_path)


def test_a_place_that_cannot_be_written_is_named_and_left_clean(small, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(small, tmp_path / "file" / "report.html")


@pytest.mark.parametrize(("name", "value"), [("threshold", 0.0), ("threshold", 1.5), ("level", 1.0)])
def test_options_out_of_range_are_refused(small, name, value):
    with pytest.raises(InputError, match=name):
        report_html(small, **{name: value})


def test_the_command_writes_into_the_result(make_posterior, tmp_path):
    from blockmix.cli.commands.report import report

    app = typer.Typer()
    app.command()(report)
    make_posterior().save(tmp_path / "run")
    done = CliRunner().invoke(app, [str(tmp_path / "run"), "--json"])
    assert done.exit_code == 0, done.output
    written = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert '<p class="kicker">run</p>' in written
    assert '"bytes"' in done.output
    done = CliRunner().invoke(app, [str(tmp_path / "run"), "-o", str(tmp_path / "x.html"), "--title", "T<"])
    assert '<p class="kicker">T&lt;</p>' in (tmp_path / "x.html").read_text("utf-8")


def test_the_bundle_was_built_from_these_sources():
    folder = ROOT / "report-js"
    if not folder.is_dir():
        pytest.skip("the sources of the scripts are not part of this distribution")
    digest = hashlib.sha256()
    names = ["build.mjs", "package-lock.json", *(f"src/{p.name}" for p in sorted((folder / "src").iterdir()))]
    for name in names:
        digest.update(f"{name}\n".encode() + (folder / name).read_bytes())
    assert digest.hexdigest() == page.asset("sources.sha256").strip(), (
        "run `npm ci && npm run build` in report-js"
    )


def test_the_lock_file_names_no_host():
    lock = ROOT / "report-js" / "package-lock.json"
    if not lock.is_file():
        pytest.skip("the sources of the scripts are not part of this distribution")
    assert "resolved" not in lock.read_text("utf-8")


def test_licences_of_all_programs_inside_are_there():
    licences = page.asset("LICENCES.txt")
    assert re.search(r"^uplot \d", licences, re.MULTILINE)
    assert licences.count("Permission is hereby granted") == 1
