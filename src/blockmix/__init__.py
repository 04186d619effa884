"""Overlapping communities in networks, with uncertainty, at any scale."""

from blockmix._version import __version__

__all__ = ["__version__"]
