"""What notebooks show: tables, networks and results as HTML without any markup of labels, the report, progress."""

from __future__ import annotations

import html
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import blockmix as bm
from blockmix.inference import progress
from blockmix.inference.progress import NotebookBar, Report, choose_progress
from blockmix.notebook import notebook_shell, table_html
from blockmix.posterior.answers.table import Answer
from blockmix.report.write import InlineReport

HOSTILE = "<script>alert(1)</script>"
NAMES = [HOSTILE, '"><img src=x>', "a&b", "x\u202etxt", *"efghijkl"]


@pytest.fixture(scope="module")
def post():
    """A fit of two cliques whose labels are markup."""
    links = [(NAMES[a + c], NAMES[b + c]) for c in (0, 6) for a in range(6) for b in range(a)]
    nodes = {"id": NAMES, HOSTILE: [HOSTILE] * 12}
    return bm.fit(links, 2, seed=1, sweeps=60, chains=2, held_out=0.2, nodes=nodes)


def tags(text):
    return set(re.findall(r"<\s*/?([a-zA-Z]+)", text))


ALLOWED = {"div", "strong", "table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize(
    "thing",
    [
        lambda post: post,
        lambda post: post.graph,
        lambda post: post.node(HOSTILE),
        lambda post: post.memberships(),
        lambda post: post.strengths(),
        lambda post: post.diagnostics(),
        lambda post: post.calibration(),
        lambda post: post.compare(post),
        lambda post: Answer({HOSTILE: [HOSTILE]}, note=HOSTILE),
    ],
    ids=[
        "posterior",
        "graph",
        "node",
        "memberships",
        "strengths",
        "diagnostics",
        "calibration",
        "compare",
        "answer",
    ],
)
def test_everything_that_a_notebook_shows_is_markup_of_blockmix_alone(post, thing):
    text = thing(post)._repr_html_()
    assert tags(text) <= ALLOWED
    assert "<script" not in text
    assert "\u202e" not in text


def test_the_graph_and_the_posterior_say_what_they_are(post):
    graph = post.graph._repr_html_()
    assert "12, 0 of them isolated" in graph
    assert "&#x27;&lt;script&gt;alert(1)" in graph
    shown = post._repr_html_()
    assert html.escape(repr(post)[1:60]) in shown
    assert all(html.escape(name) in shown for name in ("a&b", HOSTILE))


def test_a_long_table_says_how_many_rows_there_are():
    text = table_html({"n": np.arange(1234), "p": np.full(1234, 3e-7)}, rows=3)
    assert text.count("<tr>") == 4
    assert "3 of 1,234 rows" in text
    assert "3.0e-07" in text
    assert 'style="text-align:right"' in text


def test_the_inline_report_is_the_page_in_a_sandbox_with_its_policy(post, tmp_path):
    found = post.report()
    frame = found._repr_html_()
    assert tags(frame) == {"iframe"}
    assert "allow-same-origin" not in frame
    assert "\n" not in frame
    page = html.unescape(re.search('srcdoc="([^"]*)"', frame)[1])
    assert page == found.page
    assert "Content-Security-Policy" in page
    assert found.save(tmp_path / "r.html").read_text("utf-8") == post.report(tmp_path / "s.html").read_text(
        "utf-8"
    )
    assert "a notebook shows it" in repr(found)


@pytest.mark.parametrize("height", [10, 0.5, True, "tall"])
def test_an_odd_height_of_the_report_is_named(post, height):
    with pytest.raises(bm.InputError, match="height must be a whole number of pixels"):
        post.report(height=height)


def test_the_height_and_the_options_of_the_report_count(post):
    found = post.report(height=300, title="Two cliques")
    assert isinstance(found, InlineReport)
    assert 'height="300"' in found._repr_html_()
    assert "<title>Two cliques" in found.page


@pytest.fixture
def shown(monkeypatch):
    """A notebook without a browser: what is displayed is collected."""
    outputs: list[str] = []

    def display(thing, display_id):
        assert display_id
        outputs.append(thing)
        return SimpleNamespace(update=outputs.append)

    shell = SimpleNamespace(kernel=object())
    fake = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(HTML=str, display=display))
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", fake.display)
    return SimpleNamespace(outputs=outputs, shell=shell)


def report(sweep, share=0.25):
    return Report(sweep, False, 3.0, 2e6, share, 9.0, None)


def test_progress_is_shown_in_a_notebook_from_the_start_unless_it_is_not_wanted(shown):
    assert isinstance(choose_progress(None), NotebookBar)
    assert isinstance(choose_progress(True), NotebookBar)
    assert all("starting" in text for text in shown.outputs)
    assert len(shown.outputs) == 2
    assert not isinstance(choose_progress(False), NotebookBar)


def test_ipython_on_a_terminal_is_no_notebook(shown):
    shown.shell.kernel = None
    assert notebook_shell() is None


def test_a_notebook_shows_what_is_compiled_then_the_bar_then_one_line(shown, monkeypatch):
    clock = iter(np.arange(100.0, 200.0, 0.05))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    bar = NotebookBar()
    bar.waiting("compiling <kernels>")
    assert "compiling &lt;kernels&gt;" in shown.outputs[-1]
    for sweep in range(20):
        bar.update(report(sweep))
    # Twenty updates within a second or two: not all of them are sent.
    assert 3 < len(shown.outputs) < 15
    assert 'value="0.2500"' in shown.outputs[-1]
    assert "9 s left" in shown.outputs[-1]
    bar.close()
    assert "sweep 19" in shown.outputs[-1]
    assert "progress" not in shown.outputs[-1]


def test_a_fit_in_a_notebook_shows_its_progress(shown):
    bm.fit([(a, b) for a in range(8) for b in range(a)], 2, seed=1, sweeps=20)
    assert "starting" in shown.outputs[0]
    assert any("finding a start" in text for text in shown.outputs)
    assert "sweep" in shown.outputs[-1]
