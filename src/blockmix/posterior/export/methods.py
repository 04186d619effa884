"""What a result becomes elsewhere: methods of `Posterior`, each with its module in this folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from blockmix.graph.labels import Label

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior


class Exports:
    """A result as a table, a network or a file of other programs."""

    @property
    def _post(self) -> Posterior:
        return cast("Posterior", self)

    def to_pandas(self, *, threshold: float = 0.0, level: float = 0.9) -> Any:
        """Return the table of `memberships` as a pandas data frame."""
        from blockmix.posterior.export.frames import to_pandas

        return to_pandas(self._post, threshold=threshold, level=level)

    def to_polars(self, *, threshold: float = 0.0, level: float = 0.9) -> Any:
        """Return the table of `memberships` as a polars data frame."""
        from blockmix.posterior.export.frames import to_polars

        return to_polars(self._post, threshold=threshold, level=level)

    def to_networkx(self) -> Any:
        """Return the network as a networkx graph with the memberships as node attributes.

        Node attributes: `community` and `membership`, the largest one; `memberships` and `memberships_sd`, all of
        them by community. A directed network is a networkx.DiGraph, and these attributes are there for both roles, with
        `out_` and `in_` in front.
        """
        from blockmix.posterior.export.networks import to_networkx

        return to_networkx(self._post)

    def to_cdlib(self, *, threshold: float = 0.1) -> Any:
        """Return the overlapping communities as a cdlib `NodeClustering`, with all its scores and comparisons."""
        from blockmix.posterior.export.networks import to_cdlib

        return to_cdlib(self._post, threshold=threshold)

    def to_arviz(self, *, nodes: Sequence[Label] = ()) -> Any:
        """Return the samples kept as an ArviZ `DataTree`: strengths, background, and the memberships of `nodes`."""
        from blockmix.posterior.export.arviz import to_arviz

        return to_arviz(self._post, nodes=nodes)

    def write_graphml(self, path: str | Path) -> None:
        """Write the network with its memberships as GraphML, for Gephi, Cytoscape, yEd and others."""
        from blockmix.posterior.export.networks import write_graphml

        write_graphml(self._post, path)

    def write_parquet(self, path: str | Path, *, threshold: float = 0.0, level: float = 0.9) -> None:
        """Write the table of `memberships` as a Parquet file."""
        from blockmix.posterior.export.frames import write_parquet

        write_parquet(self._post, path, threshold=threshold, level=level)

    def write_csv(
        self,
        path: str | Path,
        *,
        threshold: float = 0.0,
        level: float = 0.9,
        keep_formulas: bool = False,
    ) -> None:
        """Write the table of `memberships` as comma-separated text, quoted where labels need it.

        A label that a spreadsheet would take for a formula gets an apostrophe in front, unless `keep_formulas`.
        """
        from blockmix.posterior.export.frames import write_csv

        write_csv(self._post, path, threshold=threshold, level=level, keep_formulas=keep_formulas)
