"""Posterior predictive checks: networks drawn from the posterior beside the network that was observed."""
