"""Placing new nodes among the communities of a result, without a new fit."""
