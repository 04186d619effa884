"""The model: hyperparameters, the probability of a link, and the reference form of its equations."""

from blockmix.model.hyper import Model

__all__ = ["Model"]
