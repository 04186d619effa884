"""Which engine runs: every choice of a device in one place. What a device or a sampler cannot do is an error."""

from __future__ import annotations

from blockmix.engines.contract import Engine
from blockmix.engines.host import CpuEngine, ReferenceEngine
from blockmix.errors import InputError
from blockmix.numerics.workers import Workers

# Devices, and the samplers that run there; None means all of them.
DEVICES: dict[str, tuple[str, ...] | None] = {"cpu": None, "reference": ("scir",)}


def check_device(device: str, sampler: str) -> str:
    """Return the name of a device that this sampler runs on, or raise an error that says what to do."""
    if device not in DEVICES:
        raise InputError(f"device must be 'cpu', not {device!r}")
    known = DEVICES[device]
    if known is not None and sampler not in known:
        raise InputError(
            f"the device {device!r} runs {', '.join(known)} only, not {sampler}; use device='cpu'"
        )
    return device


def make_engine(device: str, workers: Workers) -> Engine:
    """Make the engine of a device that `check_device` has let pass."""
    return {"cpu": CpuEngine, "reference": ReferenceEngine}[device](workers)
