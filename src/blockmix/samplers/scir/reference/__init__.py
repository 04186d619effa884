"""The equations of `scir` in plain NumPy and Python: what every kernel is compared with."""
