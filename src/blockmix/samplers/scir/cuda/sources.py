"""The source of the kernels: files of `source/`, in the order in which they build on each other."""

from __future__ import annotations

from importlib.resources import files

# Rows may have so many slots: one a lane of a tile, which is half a warp or a warp.
MOST_SLOTS = 32
FIRST = "device.cu"
FILES = ("variates.cu", "frame.cu", "tilts.cu", "links.cu", "redraw.cu", "strengths.cu", "tables.cu")


def tile_of(slots: int) -> int:
    """Return the number of lanes that work on one node."""
    return 16 if slots <= 16 else 32


def definitions(slots: int, **light: int) -> tuple[str, ...]:
    """Return the options of the compiler for rows of so many slots, and lists of this size for most nodes."""
    known = {"TILE": tile_of(slots), "SLOTS": slots} | {
        f"LIGHT_{n.upper()}": value for n, value in light.items()
    }
    return tuple(f"-D{name}={value}" for name, value in known.items())


def source(first: str | None = None) -> str:
    """Return all of the source; `first` takes the place of what it needs of a GPU."""
    folder = files("blockmix.samplers.scir.cuda").joinpath("source")
    head = folder.joinpath(FIRST).read_text(encoding="utf-8") if first is None else first
    return "\n".join([head, *(folder.joinpath(name).read_text(encoding="utf-8") for name in FILES)])
