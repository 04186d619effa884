"""The documents are true: every code block runs, every example runs, every page is in the site."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.name not in ("method.md", "lab-notes.md")]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def pages_with(language):
    return [pytest.param(p, id=p.relative_to(DOCS).as_posix()) for p in PAGES if blocks(p, language)]


def run(command, folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "MPLBACKEND": "agg"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("python"))
def test_the_python_of_a_page_runs_from_top_to_bottom(page, tmp_path):
    for needed in ("networkx", "pandas", "polars", "arviz_base", "sklearn", "matplotlib"):
        pytest.importorskip(needed)
    run([sys.executable, "-W", "error", "-c", "\n".join(blocks(page, "python"))], tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the lines are those of a Unix shell")
@pytest.mark.parametrize("page", pages_with("bash"))
def test_the_commands_of_a_page_run_from_top_to_bottom(page, tmp_path):
    pytest.importorskip("matplotlib")
    run(["bash", "-euo", "pipefail", "-c", "\n".join(blocks(page, "bash"))], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example, tmp_path):
    pytest.importorskip("networkx")
    run([sys.executable, "-W", "error", str(example)], tmp_path)


def test_every_page_is_in_the_site_and_every_entry_of_the_site_is_a_page():
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r"[\w/-]+\.md", text))
    assert listed == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


def test_there_are_three_examples_and_code_on_most_pages():
    assert len(EXAMPLES) >= 3
    assert len(pages_with("python")) >= 5
    assert len(pages_with("bash")) >= 4
