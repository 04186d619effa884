"""Shared by `sgmc` and `sgmc-m`: the Langevin step of one number, strengths, step sizes, settings."""
