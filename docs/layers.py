"""Draw docs/figures/layers.svg, the figure of the layers: `python docs/layers.py`.

Names, order and texts are those of the list in ARCHITECTURE.md, the folders of samplers those of the source tree.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIGURE = ROOT / "docs" / "figures" / "layers.svg"
SHARED = ("langevin", "ranks", "starts")
# What layers are for, with the colour of each group; a group ends with the layer named.
GROUPS = (
    ("foundations", "tables", "#dbe7f5"),
    ("sampling", "samplers", "#fbe3cf"),
    ("results", "inference", "#d9efe0"),
    ("interfaces", "cli", "#efe0f1"),
)
WIDTH, ROW, GAP, LEFT, NAMES, TEXTS = 880, 34, 6, 140, 154, 274
INK, MUTED = "#1b1f24", "#57606a"


def layers() -> list[tuple[str, str]]:
    """Return name and first line of every layer, in import order."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    return re.findall(r"^  (\w+)/ +(.+)$", text, re.MULTILINE)


def folders() -> list[str]:
    """Return the folders of samplers, those that samplers share last."""
    found = sorted(path.parent.name for path in (ROOT / "src/blockmix/samplers").glob("*/__init__.py"))
    return [name for name in found if name not in SHARED] + [name for name in found if name in SHARED]


def words(x: float, y: float, text: str, **attributes: str) -> str:
    """Return a line of text."""
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:g}" y="{y:g}"{given}>{escape(text)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a rounded rectangle."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" fill="{fill}"/>'


def sampler_boxes(y: float) -> list[str]:
    """Return one small box for each folder of samplers/."""
    names, parts = folders(), []
    step = (WIDTH - 20 - NAMES) / len(names)
    for i, name in enumerate(names):
        x = NAMES + i * step
        parts.append(box(x, y, step - 6, ROW - 8, "#f3ece4" if name in SHARED else "#ffffff"))
        parts.append(words(x + (step - 6) / 2, y + 17, name, text_anchor="middle", font_size="12"))
    return parts


def drawing() -> str:
    """Return the figure as SVG."""
    parts, y, groups = [], 44.0, iter(GROUPS)
    title, last, colour = next(groups)
    top = y
    for name, text in layers():
        height = 2 * ROW if name == "samplers" else ROW
        parts.append(box(LEFT, y, WIDTH - LEFT - 14, height, colour))
        parts.append(words(NAMES, y + 22, name, font_weight="600", font_size="15"))
        parts.append(words(TEXTS, y + 22, text, fill=MUTED, font_size="13"))
        if name == "samplers":
            parts += sampler_boxes(y + ROW)
        y += height + GAP
        if name == last:
            parts.append(words(54, (top + y - GAP) / 2 + 4, title, fill=MUTED, font_size="13"))
            title, last, colour = next(groups, ("", "", ""))
            top = y
    line = f'<path d="M34 {y - GAP:g}V58l-5 9m5-9l5 9" fill="none" stroke="{MUTED}" stroke-width="1.5"/>'
    head = words(20, 26, "A layer imports only from layers above it.", font_size="14")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 6:g}" '
        f'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif" fill="{INK}" role="img" '
        'aria-label="The layers of blockmix in import order">\n'
        f'<rect width="{WIDTH}" height="{y + 6:g}" rx="8" fill="#ffffff"/>\n'
        + "\n".join([head, line, *parts])
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    FIGURE.write_text(drawing(), encoding="utf-8")
