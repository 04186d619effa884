"""Networks whose communities are known: drawn from the model, or planted.

The functions are `blockmix.simulate`, `blockmix.planted` and `blockmix.abcd`; what they return is here.
"""

from __future__ import annotations

from blockmix.generators.planted import Planted
from blockmix.generators.simulate import Simulated

__all__ = ["Planted", "Simulated"]
