"""Run the code blocks of a page in order, as a reader would paste them, and compare or renew what they print.

A ```text block right after a ```python or ```bash block is what that block prints. `python docs/outputs.py` lists the
pages whose text differs from what is printed now; `--renew` writes it into them. Prose that quotes a number must then
be read again: tests/test_docs.py compares it with the blocks.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def blocks(text: str) -> list[tuple[str, str, str | None]]:
    """Return the code blocks of a page: language, code, and the text that is said to be printed."""
    return [match.groups() for match in BLOCK.finditer(text)]  # type: ignore[misc]


def run_blocks(found: list[tuple[str, str, str | None]]) -> list[str]:
    """Run the blocks one after another in the current folder; return what each printed on standard output."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for language, code, _ in found:
        if language == "python":
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(compile(code, "<page>", "exec"), names)
            printed.append(stream.getvalue())
        else:
            command = ["bash", "-euo", "pipefail", "-c", code]
            printed.append(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return printed


def run_page(page: Path, folder: Path) -> list[str]:
    """Run the blocks of a page in a folder, in a process of its own; return what each printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "MPLBACKEND": "agg", "COLUMNS": "100"}
    command = [sys.executable, "-W", "error", str(DOCS / "outputs.py"), "--run", str(page)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{page.name}: {done.stderr[-3000:]}"
    return list(json.loads(done.stdout.splitlines()[-1]))


def tidy(text: str) -> str:
    """Return a text without blanks at the ends of its lines."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def renewed(text: str, printed: list[str]) -> str:
    """Return the text of a page with what its blocks print now, where it quotes it."""
    following = iter(printed)

    def replace(match: re.Match[str]) -> str:
        shown = tidy(next(following))
        if match.group(3) is None:
            return match.group(0)
        return f"```{match.group(1)}\n{match.group(2)}```\n\n```text\n{shown}\n```\n"

    return BLOCK.sub(replace, text)


def main(words: list[str]) -> int:
    """Compare all pages that quote what they print, or renew them."""
    if words[:1] == ["--run"]:
        print(json.dumps(run_blocks(blocks(Path(words[1]).read_text("utf-8")))))
        return 0
    different = 0
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text("utf-8")
        if any(said is not None for _, _, said in blocks(text)):
            with tempfile.TemporaryDirectory() as folder:
                new = renewed(text, run_page(page, Path(folder)))
            if new != text:
                different += 1
                print(f"{page.name}: prints something else now")
                if "--renew" in words:
                    page.write_text(new, "utf-8")
    return int(different > 0 and "--renew" not in words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
