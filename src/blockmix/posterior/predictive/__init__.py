"""Predictions: link probabilities of pairs, and networks drawn from the posterior beside the one observed."""
