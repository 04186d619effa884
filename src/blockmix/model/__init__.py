"""What is believed: hyperparameters, and the reference form of every equation."""

from blockmix.model.hyper import Model

__all__ = ["Model"]
