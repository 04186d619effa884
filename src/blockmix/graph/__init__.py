"""What comes in: networks, readers, held-out splits, generators, datasets."""

from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels

__all__ = ["Graph", "Labels"]
