"""HTML by construction: text is escaped where it is put in, so no label can become markup."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from typing import Any

import numpy as np

# Marks, embeddings, overrides and isolates of writing direction, and control characters other than tab and line ends.
_HIDDEN = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]"
)


class Markup(str):
    """Text that is markup already; only this module and constants make it."""

    __slots__ = ()


def element(name: str, *children: str | None, **attributes: str | bool | float | None) -> Markup:
    """Make an element with its children; escape plain text among them, leave None out.

    A trailing underscore of an attribute is dropped and others become hyphens: `class_`, `aria_label`.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    inside = "".join(c if isinstance(c, Markup) else _escape(c) for c in children if c is not None)
    return Markup(f"<{name}{_attributes(attributes)}>{inside}</{name}>")


def void(name: str, **attributes: str | bool | float | None) -> Markup:
    """Make an element that has no content, such as `img` in HTML or `circle` in SVG.

    >>> void("circle", cx=1.5, r=2)
    '<circle cx="1.5" r="2"/>'
    """
    return Markup(f"<{name}{_attributes(attributes)}/>")


def joined(*parts: str | None) -> Markup:
    """Join several pieces, with plain text among them escaped."""
    return Markup("".join(p if isinstance(p, Markup) else _escape(p) for p in parts if p is not None))


def visible(text: str) -> str:
    """Show characters that reverse or hide text around them: direction marks and overrides, control characters.

    >>> visible("ann\u202etxt.exe")
    'ann⟨U+202E⟩txt.exe'
    """
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def _escape(text: str) -> str:
    return html.escape(visible(text))


def _attributes(attributes: dict[str, str | bool | float | None]) -> str:
    text = ""
    for name, value in attributes.items():
        key = name.removesuffix("_").replace("_", "-")
        if value is True:
            text += f" {key}"
        elif value is not None and value is not False:
            shown = value if isinstance(value, str) else f"{value:g}"
            text += f' {key}="{_escape(shown)}"'
    return text


def json_block(identity: str, value: Any) -> Markup:
    """Write data for the page's script, in an element that browsers do not run.

    The text holds no <, > or &, so nothing in it ends the element or opens a comment, and no U+2028 or
    U+2029, which end a line in older scripts.

    >>> json_block("d", ["</script>"])
    '<script type="application/json" id="d">["\\\\u003c/script\\\\u003e"]</script>'
    """
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{identity}">{text}</script>')


def _plain(value: Any) -> Any:
    """Convert to lists and plain numbers, null for what is not a number."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        # A lone surrogate has no UTF-8: it is shown as the replacement character.
        return visible(value).encode("utf-8", errors="replace").decode("utf-8")
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def source_hash(text: str) -> str:
    """Compute the hash by which a Content-Security-Policy allows one inline script or style, and no other."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"
