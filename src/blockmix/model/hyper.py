"""The model and its hyperparameters: the prior before the network is observed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError

# K alpha where the user gives no alpha. Chosen by held-out scores on several networks (docs/lab-notes.md): with 1
# memberships are too spread out, with 0.1 chains move too slowly.
DEFAULT_CONCENTRATION = 0.3
# K alpha of an isolated node. No link shows which communities it is in, and 0.3 would put all of it into one that is
# nearly empty, because its non-links make every other unlikely.
UNLINKED_CONCENTRATION = 3.0
KINDS = ("assortative", "popularity", "mmsb")


@dataclass(frozen=True)
class Model:
    """The mixed-membership model with K communities, section 1 of docs/method.md.

    `alpha` is the Dirichlet concentration of the memberships (unless given, 0.3/K, and 3/K for isolated nodes),
    `eta` the Beta prior of a strength (link, non-link), `background` the probability of a link between
    nodes that do not meet in a community: a number fixes it, None learns it. `kind` "assortative" has one strength
    for each community, "mmsb" one for every pair of communities, and no background. "popularity" is "assortative" with
    a popularity for every node (DC1): strengths are rates there, with the prior Gamma(eta[0], eta[1]), which for
    eta = (1, c) is the same prior of a strength, and isolated nodes have the alpha of all others.

    >>> Model(communities=50).concentration
    0.006
    """

    communities: int
    alpha: float | None = None
    eta: tuple[float, float] = (1.0, 1.0)
    background: float | None = None
    kind: str = "assortative"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"model must be one of {', '.join(KINDS)}, not {self.kind!r}")
        if (
            isinstance(self.communities, bool)
            or int(self.communities) != self.communities
            or self.communities < 1
        ):
            raise InputError(f"communities must be a whole number of at least 1, not {self.communities!r}")
        if self.alpha is not None and not (math.isfinite(self.alpha) and self.alpha > 0):
            raise InputError(
                f"alpha must be a positive number, not {self.alpha!r}; leave it out for the default"
            )
        if len(self.eta) != 2 or not all(math.isfinite(e) and e > 0 for e in self.eta):
            raise InputError(f"eta must be two positive numbers, not {self.eta!r}")
        if self.background is not None and not 0 < self.background < 1:
            raise InputError(
                f"background must lie strictly between 0 and 1, not {self.background!r}; "
                "leave it out to learn it"
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

    def concentrations(self, degrees: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the alpha of each node, given its number of links."""
        return np.where(degrees > 0, self.concentration, self.unlinked_concentration)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a manifest."""
        return asdict(self) | {"alpha": self.concentration, "alpha_unlinked": self.unlinked_concentration}
