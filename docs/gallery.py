"""Reports made by blockmix for the gallery of the site: fitted and written when the site is built.

    python docs/gallery.py FOLDER        writes the same files to a folder

So the gallery shows what this version gives. The networks are small, and a test makes one of the reports.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A report of the gallery: its title, how the network is made, and how it is fitted."""

    title: str
    network: Callable[[], Any]
    settings: dict[str, Any]


def _les_miserables() -> Any:
    from blockmix.graph import les_miserables

    return les_miserables()


def _overlapping() -> Any:
    import blockmix as bm

    return bm.planted(400, 8, degree=16, overlap=(1, 2), seed=4).graph


def _map() -> Any:
    import blockmix as bm

    return bm.planted(6000, 60, degree=14, overlap=(1, 2), seed=6).graph


def _letters() -> Any:
    import blockmix as bm

    made = bm.planted(
        150, 5, degree=10, directed=True, degrees="gamma", rho=2.0, overlap=(1, 1), mixing=0.1, seed=2
    )
    return made.graph


def _no_structure() -> Any:
    import numpy as np

    import blockmix as bm

    pairs = np.column_stack(np.triu_indices(200, 1))
    return bm.Graph.from_edges(pairs[np.random.default_rng(1).random(len(pairs)) < 0.04])


ENTRIES = {
    "les-miserables": Entry(
        "Les Misérables", _les_miserables, {"communities": 8, "sweeps": 1000, "chains": 8}
    ),
    "overlapping": Entry(
        "Eight planted communities that overlap",
        _overlapping,
        {"communities": 8, "sweeps": 600, "chains": 4},
    ),
    "map": Entry("A map of 6,000 nodes", _map, {"communities": 70, "sweeps": 200, "chains": 2}),
    "letters": Entry(
        "Senders and receivers",
        _letters,
        {"communities": 5, "model": "popularity", "sweeps": 600, "chains": 4},
    ),
    "no-structure": Entry(
        "A random network without communities",
        _no_structure,
        {"communities": 6, "sweeps": 600, "chains": 4},
    ),
}


def report(name: str) -> dict[str, str | bytes]:
    """Return the files of one entry: the page of its report and a picture of the network."""
    import blockmix as bm

    entry = ENTRIES[name]
    post = bm.fit(entry.network(), seed=1, progress=False, **entry.settings)
    picture = io.BytesIO()
    post.plot().savefig(picture, format="png", dpi=70)
    return {
        f"gallery/{name}.html": post.report(title=entry.title).page,
        f"gallery/{name}.png": picture.getvalue(),
    }


def reports() -> dict[str, str | bytes]:
    """Return the files of all entries, by their place in the site."""
    found: dict[str, str | bytes] = {}
    for name in ENTRIES:
        found |= report(name)
    return found


def main(folder: str) -> None:
    """Write all files to a folder."""
    for name, content in reports().items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


if __name__ == "__main__":
    main(sys.argv[1])
