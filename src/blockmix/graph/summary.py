"""What reading a network did to it, so that nothing is merged, dropped or skipped silently."""

from __future__ import annotations

from dataclasses import dataclass

_SHOWN_COLUMNS = 8


@dataclass(frozen=True)
class ReadSummary:
    """Counts of what was found and what was done about it; `str()` gives them in one or two lines.

    `records` are the links as listed; `merged` of them repeated an earlier one in the same or the other
    direction and `self_loops` joined a node to itself. `isolated` nodes have no link, `loop_only` of which
    were listed in self-loops alone. `extra_columns` counts the records with more than two columns (weights,
    timestamps), whose surplus was ignored, and `ignored_columns` names them. `header` is a first line taken as
    column names; `declared_nodes` and `declared_edges` are counts the file states about itself.

    >>> print(ReadSummary(source="pairs", records=4, nodes=3, links=2, merged=1, self_loops=1))
    pairs: 3 nodes, 2 links from 4 records
      1 repeated link (either direction) merged; 1 self-loop dropped
    """

    source: str
    records: int
    nodes: int
    links: int
    merged: int = 0
    self_loops: int = 0
    isolated: int = 0
    loop_only: int = 0
    extra_columns: int = 0
    ignored_columns: tuple[str, ...] = ()
    header: str | None = None
    declared_nodes: int | None = None
    declared_edges: int | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        first = (
            f"{self.source}: {_count(self.nodes, 'node')}, {_count(self.links, 'link')} "
            f"from {_count(self.records, 'record')}"
        )
        return "\n  ".join([first, "; ".join(self._details())]).rstrip()

    def _details(self) -> list[str]:
        details = []
        if self.merged:
            details.append(f"{_count(self.merged, 'repeated link')} (either direction) merged")
        if self.self_loops:
            details.append(f"{_count(self.self_loops, 'self-loop')} dropped")
        if self.isolated:
            only = f" ({self.loop_only:,} listed only in self-loops)" if self.loop_only else ""
            details.append(f"{_count(self.isolated, 'isolated node')} kept{only}")
        if self.extra_columns:
            named = f" ({_listed(self.ignored_columns)})" if self.ignored_columns else ""
            details.append(f"extra columns ignored in {_count(self.extra_columns, 'record')}{named}")
        if self.header is not None:
            details.append(f"first line {self.header} taken as column names")
        return [*details, *self._declared(), *self.notes]

    def _declared(self) -> list[str]:
        stated = []
        if self.declared_nodes is not None and self.declared_nodes != self.nodes:
            stated.append(_count(self.declared_nodes, "node"))
        if self.declared_edges is not None and self.declared_edges not in (self.links, self.records):
            stated.append(_count(self.declared_edges, "link"))
        return [f"the file itself declares {' and '.join(stated)}"] if stated else []


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN_COLUMNS} more" if len(names) > _SHOWN_COLUMNS else ""
    return ", ".join(names[:_SHOWN_COLUMNS]) + more


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
