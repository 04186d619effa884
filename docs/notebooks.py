"""Run the notebooks of docs/ and turn them into pages of the site.

A notebook is kept without outputs. mkdocs runs it when the site is built (docs/hooks.py), and tests/test_site.py runs
it too: what the site shows is what the code of this version gives. Needs nbclient and ipykernel, nothing else; the
conversion is the few lines below.
"""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
SECONDS = 300
MARK = '<div class="cell-output" id="{name}"></div>'


def notebooks() -> dict[str, Path]:
    """Return the page of every notebook."""
    return {f"{path.stem}.md": path for path in sorted(DOCS.glob("*.ipynb"))}


def executed(path: Path) -> Any:
    """Run a notebook from its first cell to its last; an error in a cell is an error here."""
    import nbformat
    from nbclient import NotebookClient

    # A plot must not look for a screen, and a change of a default elsewhere must not change the page.
    os.environ.setdefault("MPLBACKEND", "agg")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute()
    return notebook


def page(notebook: Any) -> tuple[str, dict[str, str]]:
    """Return a notebook as Markdown with marks for its outputs, and the HTML that belongs in the place of each."""
    parts, outputs = [], {}
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.cell_type == "code":
            parts.append(f"```python\n{cell.source}\n```")
            shown = "".join(shown_output(output) for output in cell.outputs)
            if shown:
                mark = MARK.format(name=f"output-{number}")
                outputs[mark] = f'<div class="cell-output">{shown}</div>'
                parts.append(mark)
    return "\n\n".join(parts) + "\n", outputs


def shown_output(output: Any) -> str:
    """Return an output of a cell as HTML: the richest of its forms that a page can show."""
    if output.output_type == "stream":
        return f"<pre><code>{html.escape(output.text)}</code></pre>"
    data = output.get("data", {})
    if "image/png" in data:
        return (
            f'<img alt="Plot made by the cell above" src="data:image/png;base64,{data["image/png"].strip()}">'
        )
    if "text/html" in data:
        return str(data["text/html"])
    return f"<pre><code>{html.escape(data.get('text/plain', ''))}</code></pre>"
