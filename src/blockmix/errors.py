"""The errors blockmix raises on purpose: each names what is wrong, where, and what to do.

Everything a caller can cause is an `InputError`. The command line turns it into one message and exit
status 2; a program can catch it, or catch `ValueError`, which it also is.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

_SHOWN_TEXT = 60
# Characters above Latin-1 that end a line; other blanks there, as in Japanese text, are harmless.
_LINE_ENDS = "\u2028\u2029"


class BlockmixError(Exception):
    """Base class of every error blockmix raises on purpose."""


class InputError(BlockmixError, ValueError):
    """A value, option or file that cannot be used, with the remedy in the message."""


class GraphFormatError(InputError):
    """A file that cannot be read as a network.

    The message names the path, the line and column (both counted from 1) where they are known, the
    offending text cut to a readable length, and what to do about it.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        column: int | None = None,
        text: bytes | str | None = None,
        remedy: str = "",
    ) -> None:
        self.problem = problem
        self.path = None if path is None else str(path)
        self.line = line
        self.column = column
        self.text = None if text is None else readable(text)
        self.remedy = remedy
        super().__init__(self._message())

    def _message(self) -> str:
        place = self.path or "graph"
        if self.line is not None:
            place += f", line {self.line}"
        if self.column is not None:
            place += f", column {self.column}"
        found = f" (found: {self.text})" if self.text else ""
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{place}: {self.problem}{found}.{remedy}"


def optional(module: str, what: str, remedy: str) -> Any:
    """Import a library that is not needed to use blockmix, when `what` asks for it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(f"{what} needs {error.name}, which is not installed: {remedy}") from None


def readable(text: bytes | str) -> str:
    """Quote untrusted text so that it fits on a line and cannot move the cursor.

    >>> readable(b"ann\\x00\\xffbob")
    "'ann\\\\x00\\\\xffbob'"
    """
    if isinstance(text, bytes):
        text = text[: 4 * _SHOWN_TEXT].decode("utf-8", errors="backslashreplace")
    shown = text if len(text) <= _SHOWN_TEXT else text[: _SHOWN_TEXT - 3] + "..."
    return "'" + printable(shown) + "'"


def printable(text: str, keep: str = "") -> str:
    """Escape what a terminal would obey and not show: control characters, direction overrides, lone surrogates.

    >>> printable("a\\x1b[2J\\u202eb\\n", keep="\\n")
    'a\\\\x1b[2J\\\\u202eb\\n'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep or (c.isspace() and ord(c) > 0xFF and c not in _LINE_ENDS)
        else c.encode("unicode_escape").decode()
        for c in text
    )  # fmt: skip
