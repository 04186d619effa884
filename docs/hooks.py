"""What the site shows besides docs/: the derivations that live beside the code, and the documents of the repository.

mkdocs calls the functions named on_... while it builds. Each file becomes a page: the README of a folder below
src/blockmix/samplers becomes derivations/<name>.md and is entered in the navigation, so that a new sampler appears by
itself. Links between files of the repository become links between pages. A number such as (M1) links to the page that
derives it. Notebooks are run and become pages (docs/notebooks.py), reports are made for the gallery (docs/gallery.py),
and formulas of the method and of the derivations are set as mathematics (docs/mathematics.py).
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import gallery
import mathematics
import notebooks

ROOT = Path(__file__).resolve().parents[1]
SECTION = "Derivations of the samplers"
DOCUMENTS = {name: name.lower() for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
DEFINED = re.compile(r"\*\*\(((?:DC|[A-Z])\d+)\)")
# An equation's number that is neither defined here (in bold) nor the text of a link.
CITED = re.compile(r"(?<!\*\*)(?<!\[)\(((?:DC|[A-Z])\d+)\)(?!\])")
# Code, in which nothing is changed: fenced blocks, indented blocks behind an empty line, and `code` in a line.
CODE = re.compile(
    r"(^ *```.*?^ *```|(?<=\n\n) {4}[^\n]*(?:\n {4}[^\n]*|\n(?=\n* {4}))*|`[^`\n]+`)",
    re.DOTALL | re.MULTILINE,
)


# What belongs in the place of the marks of a page, by page: outputs of the cells of notebooks, and formulas.
_outputs: dict[str, dict[str, str]] = {}


def pages() -> dict[str, str]:
    """Return the page of every file of the repository that the site shows from outside docs/."""
    found = {name: page for name, page in DOCUMENTS.items() if (ROOT / name).exists()}
    for readme in sorted((ROOT / "src/blockmix/samplers").glob("**/README.md")):
        found[readme.relative_to(ROOT).as_posix()] = f"derivations/{readme.parent.name}.md"
    return found


def equations() -> dict[str, str]:
    """Return the page that derives each numbered equation."""
    sources = {"docs/method.md": "method.md"} | pages()
    found: dict[str, str] = {}
    for source, page in sources.items():
        if page not in DOCUMENTS.values():
            found |= dict.fromkeys(DEFINED.findall((ROOT / source).read_text("utf-8")), page)
    return found


def on_config(config: Any) -> Any:
    """Enter the derivations in the navigation, behind the page of the model."""
    derivations = [page for page in pages().values() if page.startswith("derivations/")]
    for entry in config.nav:
        if derivations and "Method" in entry:
            entry["Method"].insert(1, {SECTION: derivations})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the files outside docs/ as pages."""
    from mkdocs.structure.files import File  # here, so that tests can load this file without mkdocs

    for source, page in pages().items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    for page, path in notebooks.notebooks().items():
        text, _outputs[page] = notebooks.page(notebooks.executed(path))
        files.append(File.generated(config, page, content=text))
    for name, report in gallery.reports().items():
        files.append(File.generated(config, name, content=report))
    return files


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Put formulas and the outputs of notebooks in the place of their marks."""
    for mark, output in _outputs.get(page.file.src_uri, {}).items():
        content = content.replace(mark, output)
    return content


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Rewrite links between files, and link the numbers of equations."""
    here = page.file.src_uri
    source = next((source for source, shown in pages().items() if shown == here), f"docs/{here}")
    derived = equations()

    def rewrite(text: str) -> str:
        text = LINK.sub(lambda link: link[1] + _linked(link[2], link[3], source, here), text)
        text = CITED.sub(lambda cited: _cited(cited[1], derived, here), text)
        return DEFINED.sub(lambda defined: f'<span id="{defined[1]}"></span>{defined[0]}', text)

    if here == "method.md" or here.startswith("derivations/"):
        markdown, _outputs[here] = mathematics.typeset_page(markdown)
    parts = CODE.split(markdown)
    return "".join(part if i % 2 else rewrite(part) for i, part in enumerate(parts))


def _cited(number: str, derived: dict[str, str], here: str) -> str:
    """Return a link to the page that derives an equation."""
    if number not in derived:
        return f"({number})"
    return f"[({number})]({_relative(derived[number], here)}#{number})"


def _linked(text: str, target: str, source: str, here: str) -> str:
    """Return a link as the site needs it, or its text alone where the site does not show the target."""
    path, mark, anchor = target.partition("#")
    if not path or ":" in path:
        return f"[{text}]({target})"
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    shown = pages()
    page = shown.get(file) or shown.get(f"{file}/README.md")
    if page is None and file.startswith("docs/"):
        page = file.removeprefix("docs/")
        # Others link to the page of a notebook; the page itself to the file.
        shown_as = f"{page.removesuffix('.ipynb')}.md"
        page = shown_as if page.endswith(".ipynb") and here != shown_as else page
    return f"[{text}]({_relative(page, here)}{mark}{anchor})" if page else text


def _relative(page: str, here: str) -> str:
    return posixpath.relpath(page, posixpath.dirname(here) or ".")
