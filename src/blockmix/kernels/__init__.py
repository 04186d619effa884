"""Where the time goes: random numbers, the local and the global step, as scalar numba functions."""
