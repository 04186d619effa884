"""File formats other than the edge list: how they are recognised, and one module for each family."""
