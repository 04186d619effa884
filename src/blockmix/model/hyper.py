"""The model and its hyperparameters: the prior before the network is observed."""

from __future__ import annotations

import numbers
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError

# K alpha where the user gives no alpha: of samplers that do not learn it, and of the start of those that do. Chosen by
# held-out scores on several networks (docs/lab-notes.md): with 1 memberships are too spread out, with 0.1 chains move
# too slowly.
DEFAULT_CONCENTRATION = 0.3
# K alpha of an isolated node, of samplers that do not learn it. No link shows which communities it is in, and 0.3 would
# put all of it into one that is nearly empty, because its non-links make every other unlikely.
UNLINKED_CONCENTRATION = 3.0
KINDS = ("assortative", "popularity", "mmsb")
# What the weights of links may be in the popularity model (DC12), (DC13).
WEIGHT_LAWS = ("counts", "amounts")
# What hyperparameters may be: far beyond what is of use, and within what sums in single precision can hold.
ALPHAS, ETAS, BACKGROUNDS = (1e-12, 1e6), (1e-12, 1e15), (1e-30, 1.0 - 1e-16)


def _within(value: Any, least: float, most: float) -> bool:
    """Return whether a value is a number in this range; True is none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and least <= float(value) <= most


@dataclass(frozen=True)
class Model:
    """The mixed-membership model with K communities, section 1 of docs/method.md.

    `alpha` is the Dirichlet concentration of the memberships: a number fixes it, None lets the default sampler learn it
    (the others take 0.3/K, and 3/K for isolated nodes). `eta` is the Beta prior of a strength (link, non-link),
    `background` the probability of a link between nodes that do not meet in a community: a number fixes it, None learns
    it, with the Beta prior `background_prior` or (1, N) for N nodes. `kind` "assortative" has one strength for each
    community, "mmsb" one for every pair of communities, and no background. "popularity" is "assortative" with a
    popularity for every node (DC1): strengths are rates there, with the prior Gamma(eta[0], eta[1]), which for
    eta = (1, c) is the same prior of a strength. `weights` is the law of the weights of links in this model: "counts",
    Poisson (DC12), or "amounts", a Poisson number of units of a Gamma size (DC13); None where only links are seen.

    >>> Model(communities=50).concentration
    0.006
    """

    communities: int
    alpha: float | None = None
    eta: tuple[float, float] = (1.0, 1.0)
    background: float | None = None
    kind: str = "assortative"
    background_prior: tuple[float, float] | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"model must be one of {', '.join(KINDS)}, not {self.kind!r}")
        if (
            isinstance(self.communities, bool)
            or int(self.communities) != self.communities
            or self.communities < 1
        ):
            raise InputError(f"communities must be a whole number of at least 1, not {self.communities!r}")
        if self.alpha is not None and not _within(self.alpha, *ALPHAS):
            raise InputError(
                f"alpha must be a positive number, from {ALPHAS[0]:g} to {ALPHAS[1]:g}, not {self.alpha!r:.80}; "
                "leave it out for the default"
            )
        for name, shapes in (("eta", self.eta), ("background_prior", self.background_prior)):
            if shapes is not None and (len(shapes) != 2 or not all(_within(e, *ETAS) for e in shapes)):
                raise InputError(
                    f"{name} must be two positive numbers, from {ETAS[0]:g} to {ETAS[1]:g}, not {shapes!r:.80}; "
                    "leave it out for the default"
                )
        if self.background is not None and not _within(self.background, *BACKGROUNDS):
            raise InputError(
                f"background must lie strictly between 0 and 1, and not be below {BACKGROUNDS[0]:g}, "
                f"not {self.background!r:.80}; leave it out to learn it"
            )
        if self.weights is not None and (self.kind != "popularity" or self.weights not in WEIGHT_LAWS):
            raise InputError(
                f"weights of links are {' or '.join(WEIGHT_LAWS)}, of the model 'popularity' alone, not "
                f"{self.weights!r:.40} of {self.kind!r}"
            )
        if self.background is not None and self.kind == "mmsb":
            raise InputError(
                "the general model has no background: it has a strength for every pair of communities"
            )

    @property
    def concentration(self) -> float:
        """The alpha of nodes with links."""
        return DEFAULT_CONCENTRATION / self.communities if self.alpha is None else float(self.alpha)

    @property
    def unlinked_concentration(self) -> float:
        """The alpha of isolated nodes: the one given for all nodes, or a larger one in models without popularity."""
        if self.alpha is not None or self.kind == "popularity":
            return self.concentration
        return UNLINKED_CONCENTRATION / self.communities

    def prior_of_background(self, nodes: int) -> tuple[float, float]:
        """Return the Beta prior (link, non-link) of a learned background: (1, N) unless it is given.

        The background then explains about one link a node before the network is seen. Under a uniform prior a small
        network can be explained the other way round: by a background above the strengths, and communities of nodes that
        are *not* linked (docs/lab-notes.md, "a prior for the background").
        """
        return (1.0, float(nodes)) if self.background_prior is None else self.background_prior

    def concentrations(self, degrees: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the alpha of each node, given its number of links."""
        return np.where(degrees > 0, self.concentration, self.unlinked_concentration)

    def to_dict(self, learned: bool = False) -> dict[str, Any]:
        """Return plain values for a manifest; where alpha was learned, or links have no weights, it has none."""
        alpha = (None, None) if learned else (self.concentration, self.unlinked_concentration)
        values = asdict(self)
        if self.weights is None:
            del values["weights"]
        return values | {"alpha": alpha[0], "alpha_unlinked": alpha[1]}
