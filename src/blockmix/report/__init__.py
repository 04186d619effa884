"""The report: a result as one HTML file that opens from disk, and static plots with matplotlib."""

from __future__ import annotations

from blockmix.report.write import report_html, write_report

__all__ = ["report_html", "write_report"]
