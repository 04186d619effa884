"""The documents are true: every code block runs, every example runs, every page is in the site."""

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import blockmix
import blockmix.evaluate
from blockmix.samplers import SAMPLERS, sampler_class

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.name not in ("method.md", "lab-notes.md")]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def pages_with(*languages):
    return [
        pytest.param(page, id=page.relative_to(DOCS).as_posix())
        for page in PAGES
        if any(blocks(page, language) for language in languages)
    ]


def run(command, folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "MPLBACKEND": "agg"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the lines are those of a Unix shell")
@pytest.mark.parametrize("page", pages_with("python", "bash"))
def test_the_blocks_of_a_page_run_in_order_and_print_what_it_says(page, tmp_path):
    """Pasted one after another into one folder, Python and shell alike; docs/outputs.py --renew writes them anew."""
    for needed in ("networkx", "pandas", "polars", "arviz_base", "sklearn", "matplotlib"):
        pytest.importorskip(needed)
    outputs = script("outputs")
    printed = outputs.run_page(page, tmp_path)
    said = [text for _, _, text in outputs.blocks(page.read_text("utf-8"))]
    if not same_rounding():
        return
    for told, shown in zip(said, printed, strict=True):
        assert told is None or outputs.tidy(told) == outputs.tidy(shown)


# Numbers in prose that are no results: years, versions, options, what a word means.
FACTS = {
    "tutorial.md": {"1970", "90", "5"},
    "index.md": {"3.11", "3.13"},
}


@pytest.mark.parametrize("name", FACTS)
def test_every_number_that_prose_quotes_is_printed_by_a_block_of_the_page(name):
    """A quoted number equals one that is printed, or in the code, as far as its digits go."""
    text = (DOCS / name).read_text("utf-8")
    inside = re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE)
    prose = re.sub(
        r"`[^`]*`|\]\([^)]*\)", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    )
    known = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", "\n".join(inside))]
    for quoted in re.findall(r"\d+(?:\.\d+)?", prose):
        digits = len(quoted.partition(".")[2])
        found = any(abs(float(quoted) - n) <= 0.5001 * 10.0**-digits * (digits > 0) for n in known)
        assert found or quoted in FACTS[name], f"{name} quotes {quoted}, which no block prints"


def test_the_quick_start_and_the_tutorial_show_what_they_print():
    outputs = script("outputs")
    for name in FACTS:
        assert any(text for _, _, text in outputs.blocks((DOCS / name).read_text("utf-8")))


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example, tmp_path):
    pytest.importorskip("networkx")
    run([sys.executable, "-W", "error", str(example)], tmp_path)


def same_rounding():
    """Return whether numbers are rounded here as where the golden hashes were made: long chains then agree."""
    renew = script("renew", ROOT / "tests" / "golden")
    return renew.environment() == json.loads(renew.FILE.read_text("utf-8"))["environment"]


def script(name, folder=DOCS):
    """Load a script as a module, by default one of docs/."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def hooks():
    return script("hooks")


def test_every_page_is_in_the_site_and_every_entry_of_the_site_is_a_page(hooks):
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r"[\w/-]+\.md", text))
    entered = {page for page in hooks.pages().values() if not page.startswith("derivations/")}
    entered |= set(script("notebooks").notebooks())
    assert listed == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} | entered


SHOWN = {"src/blockmix/samplers/scir/README.md": "derivations/scir.md", "ARCHITECTURE.md": "architecture.md"}


def test_the_site_shows_the_derivation_of_every_sampler_that_has_one(hooks):
    readmes = {path.parent.name for path in (ROOT / "src/blockmix/samplers").glob("**/README.md")}
    assert {Path(page).stem for page in hooks.pages().values() if page.startswith("derivations/")} == readmes


def test_derivations_are_entered_in_the_navigation(hooks, monkeypatch):
    monkeypatch.setattr(hooks, "pages", lambda: SHOWN)
    config = SimpleNamespace(nav=[{"Quick start": "index.md"}, {"Method": [{"The model": "method.md"}]}])
    entries = hooks.on_config(config).nav[1]["Method"]
    assert entries == [{"The model": "method.md"}, {hooks.SECTION: ["derivations/scir.md"]}]


@pytest.mark.parametrize(
    ("here", "text", "expected"),
    [
        (
            "derivations/scir.md",
            "[m](../../../../docs/method.md#1-the-model)",
            "[m](../method.md#1-the-model)",
        ),
        ("method.md", "[s](../src/blockmix/samplers/scir/README.md)", "[s](derivations/scir.md)"),
        ("architecture.md", "[s](src/blockmix/samplers/scir/)", "[s](derivations/scir.md)"),
        ("architecture.md", "![f](docs/figures/layers.svg)", "![f](figures/layers.svg)"),
        ("architecture.md", "[a file](src/blockmix/errors.py)", "a file"),
        (
            "howto/links.md",
            "[m](../method.md), [w](https://example.org)",
            "[m](../method.md), [w](https://example.org)",
        ),
        ("derivations/scir.md", "By (M1) and `(M1)`.", "By [(M1)](../method.md#M1) and `(M1)`."),
        ("method.md", "**(M1)** p\n\n    (M1) code", '<span id="M1"></span>**(M1)** p\n\n    (M1) code'),
        ("method.md", "(G1) and (Q9)", "[(G1)](derivations/scir.md#G1) and (Q9)"),
    ],
)
def test_links_and_equations_lead_to_pages_of_the_site(hooks, monkeypatch, here, text, expected):
    monkeypatch.setattr(hooks, "pages", lambda: SHOWN)
    monkeypatch.setattr(hooks, "equations", lambda: {"M1": "method.md", "G1": "derivations/scir.md"})
    page = SimpleNamespace(file=SimpleNamespace(src_uri=here))
    assert hooks.on_page_markdown(text, page, None, None) == expected


def test_every_public_name_is_on_the_page_of_the_reference():
    shown = set(re.findall(r"^::: (\S+)$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE))
    public = {f"blockmix.{name}" for name in blockmix.__all__ if name != "__version__"}
    public |= {f"blockmix.evaluate.{name}" for name in blockmix.evaluate.__all__}
    public |= {"blockmix.sklearn.MixedMembership"}
    assert public <= shown
    # Beside the public names only what their functions take and return: options, tables, summaries.
    assert all(
        hasattr(importlib.import_module(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in shown
    )
    options = {sampler_class(name, kind).Options for kind, names in SAMPLERS.items() for name in names}
    assert {f"{found.__module__}.{found.__qualname__}" for found in options} <= shown


def test_the_figure_of_the_layers_is_what_its_script_draws():
    layers = script("layers")
    assert layers.FIGURE.read_text("utf-8") == layers.drawing()


def test_there_are_three_examples_and_code_on_most_pages():
    assert len(EXAMPLES) >= 3
    assert len(pages_with("python")) >= 5
    assert len(pages_with("bash")) >= 4
