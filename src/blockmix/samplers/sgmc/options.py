"""The settings of `sgmc`: those of Langevin dynamics as they are."""

from __future__ import annotations

from dataclasses import dataclass

from blockmix.samplers.langevin.options import LangevinOptions


@dataclass(frozen=True)
class SgmcOptions(LangevinOptions):
    """Settings of `sgmc`, for either model: see `LangevinOptions`."""
