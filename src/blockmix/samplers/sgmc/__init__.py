"""`sgmc`: stochastic gradient Langevin dynamics, of both models."""
