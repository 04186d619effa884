"""The model in NumPy float64, one function per numbered equation of docs/method.md.

Slow and plain on purpose: this is what the kernels are tested against.
"""
