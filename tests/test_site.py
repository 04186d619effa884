"""What the site makes of the documents: formulas, the notebook, the gallery."""

from __future__ import annotations

import html
import importlib.util
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def script(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


mathematics = script("mathematics")
PAGES = [DOCS / "method.md", *sorted((ROOT / "src/blockmix/samplers").glob("**/README.md"))]


def plain(markup):
    """Return the symbols of a formula in their order."""
    return "".join(ElementTree.fromstring(markup).itertext())


@pytest.mark.parametrize(
    ("formula", "part"),
    [
        ("pi_ak", "<msub><mi>π</mi><mrow><mi>a</mi><mi>k</mi></mrow></msub>"),
        ("R2_k^2", "<msubsup><mrow><mi>R</mi><mn>2</mn></mrow><mi>k</mi><mn>2</mn></msubsup>"),
        ("sum_{i<j} x", "<munder><mo>∑</mo><mrow><mi>i</mi><mo>&lt;</mo><mi>j</mi></mrow></munder><mi>x</mi>"),
        ("sqrt(h x)", "<msqrt><mrow><mi>h</mi><mi>x</mi></mrow></msqrt>"),
        ("p^(0)", '<mi>p</mi><mrow><mo stretchy="false">(</mo><mn>0</mn><mo stretchy="false">)</mo></mrow></msup>'),
        ("e^(-c x)", "<msup><mi>e</mi><mrow><mo>−</mo><mi>c</mi><mi>x</mi></mrow></msup>"),
        ("t^n_k", "<msup><mi>t</mi><mrow><msub><mi>n</mi><mi>k</mi></msub></mrow></msup>"),
        ("t^-0.6", "<msup><mi>t</mi><mrow><mo>−</mo><mn>0.6</mn></mrow></msup>"),
        ("x' <= 5,000", "<msup><mi>x</mi><mo>′</mo></msup><mo>≤</mo><mn>5,000</mn>"),
        ("dphi = 1", "<mrow><mi>d</mi><mi>φ</mi></mrow><mo>=</mo><mn>1</mn>"),
    ],
)  # fmt: skip
def test_formulas_become_mathematics(formula, part):
    assert part in mathematics.typeset(formula)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_every_formula_of_a_page_is_whole_and_no_symbol_is_lost(page):
    """What is set, read again letter by letter, is what was written but for the names of symbols."""
    text = page.read_text("utf-8")
    shown, found = mathematics.typeset_page(text)
    assert len(found) >= 5
    names = {value: key for key, value in (mathematics.GREEK | mathematics.LARGE | mathematics.SIGNS).items()}
    for mark, markup in found.items():
        assert shown.count(mark) == 1
        read = "".join(names.get(c, c) for c in plain(markup.replace(' class="formula"', "")))
        shown = shown.replace(mark, read)

    def bare(text):
        # Braces and parentheses of scripts are not shown, nor the word sqrt, underscores and carets.
        return re.sub(r"[\s(){}_^]|sqrt|eps(?:ilon)?", "", text)

    assert bare(shown) == bare(text)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Nodes of a network, in words.", 0),
        ("The `pi_ak` of code and [a link](x_y.md) stay, as does (M1).", 0),
        ("With pi_ak = 1 (and beta_k of it), done.", 2),
        ("# Heading with beta_k\n\ntext", 0),
        ("Say:\n\n    x_k = 1,\n    y_k = 2\n\nand so on", 1),
        ("Run:\n\n    python file.py\n\nand so on", 0),
    ],
)
def test_only_formulas_are_set(text, marked):
    assert len(mathematics.typeset_page(text)[1]) == marked


def test_parentheses_of_the_sentence_stay_in_the_sentence():
    shown, found = mathematics.typeset_page("a node (and its pi_a) moves")
    assert shown == "a node (and its ⟦0⟧) moves"
    assert plain(found["⟦0⟧"]) == "πa"


@pytest.mark.slow
def test_the_notebook_runs_and_shows_tables_plots_and_the_report():
    """Its page is made of what the cells give: no cell fails, and nothing is text that could be a table."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    notebooks = script("notebooks")
    (name, path), *others = notebooks.notebooks().items()
    assert not others
    text, outputs = notebooks.page(notebooks.executed(path))
    assert name == "les-miserables.md"
    assert all(text.count(mark) == 1 for mark in outputs)
    shown = "".join(outputs.values())
    assert "sweep 1,000" in shown
    assert shown.count("<table>") == 7
    assert shown.count("data:image/png;base64,") >= 2
    assert shown.count("<iframe ") == 1
    assert "Content-Security-Policy" in html.unescape(shown)


def test_notebooks_are_kept_without_outputs():
    for path in script("notebooks").notebooks().values():
        text = path.read_text("utf-8")
        assert '"outputs": []' in text
        assert 'execution_count": 1' not in text


@pytest.mark.parametrize(
    ("output", "part"),
    [
        (SimpleNamespace(output_type="stream", text="a < b\n"), "<pre><code>a &lt; b\n"),
    ],
)
def test_printed_text_is_escaped(output, part):
    assert part in script("notebooks").shown_output(output)


def test_the_gallery_shows_each_report_that_is_made():
    gallery = script("gallery")
    text = (DOCS / "gallery.md").read_text("utf-8")
    linked = set(re.findall(r"\((gallery/[^)]+)\)", text))
    assert linked == {f"gallery/{name}.{end}" for name in gallery.ENTRIES for end in ("html", "png")}


@pytest.mark.slow
def test_the_report_of_a_random_network_says_that_there_is_nothing():
    pytest.importorskip("matplotlib")
    files = script("gallery").report("no-structure")
    page = files["gallery/no-structure.html"]
    assert "no better than by" in page or "predicted worse than by" in page
    assert files["gallery/no-structure.png"][:4] == b"\x89PNG"
