"""`scir`, the default sampler."""
