"""Answers to questions about a result; `methods.py` has them as methods of `Posterior`."""
