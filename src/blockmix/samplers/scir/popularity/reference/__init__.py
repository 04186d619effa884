"""The popularity model in plain Python: `node` has its local move, `kernels` the engine."""
