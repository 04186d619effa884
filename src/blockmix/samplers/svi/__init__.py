"""`svi`: stochastic variational inference."""
