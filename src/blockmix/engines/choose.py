"""Which engine runs: every choice of a device in one place. What a device or a sampler cannot do is an error."""

from __future__ import annotations

from typing import Any

from blockmix.engines.contract import Comm, Engine, Solo
from blockmix.engines.host import CpuEngine, ReferenceEngine
from blockmix.engines.launched import launched
from blockmix.errors import InputError
from blockmix.numerics.workers import Workers

# Devices, and the samplers that run there; None means all of them.
DEVICES: dict[str, tuple[str, ...] | None] = {"cpu": None, "reference": ("scir",), "cuda": ("scir",)}
# "auto" takes the GPU from so many links on: below, a run on the CPU is over before the kernels are compiled.
WORTH_A_GPU = 200_000
# Networks of up to so many nodes are sampled node by node, which a GPU does not do: samplers/scir, MOST_EXACT.
TOO_SMALL = 2048


def join() -> Comm:
    """Take part in the MPI job that this process was started in, or alone."""
    if launched() > 1:
        from blockmix.engines.mpi import MpiComm

        try:
            return MpiComm()
        except (ImportError, RuntimeError) as error:
            raise InputError(
                f"{launched()} processes were started by an MPI launcher, and MPI cannot be used ({error}); install it "
                'with pip install "blockmix[mpi]", or start blockmix without the launcher'
            ) from None
    return Solo()


def check_device(device: str, sampler: str, model: str = "assortative", options: Any = None) -> str:
    """Return the name of a device that this sampler runs on, or raise an error that says what to do.

    `options` are those of the sampler, where they are known.
    """
    if device == "auto":
        return device
    if device not in DEVICES:
        raise InputError(f"device must be 'cpu', 'cuda' or 'auto', not {device!r}")
    known = DEVICES[device]
    if known is not None and sampler not in known:
        raise InputError(
            f"the device {device!r} runs {', '.join(known)} only, not {sampler}; use device='cpu'"
        )
    if device == "cuda":
        refused = not_on_a_gpu(model, options)
        if refused:
            raise InputError(f"device='cuda' (--device cuda): {refused}, or use device='cpu'")
        from blockmix.engines.cuda import open_device

        open_device()
    return device


def not_on_a_gpu(model: str, options: Any) -> str:
    """Return which part of a request the GPU does not do, with the remedy, or nothing."""
    if model != "assortative":
        return f"the GPU has the assortative model only, not {model!r}: leave out model"
    if getattr(options, "local_move", "indicators") != "indicators":
        return "the GPU has the link indicators only: leave out moves, form and non_links"
    if getattr(options, "exact", None):
        return "the GPU has non-links in closed form only: leave out exact"
    if getattr(options, "slots", 0) > 32:
        return f"the GPU has rows of at most 32 slots, not {options.slots}: use fewer slots"
    return ""


def choose_device(sampler: str, model: str, options: Any, nodes: int, links: int) -> tuple[str, str]:
    """Return the device that "auto" stands for, and why it was chosen."""
    if sampler != "scir":
        return "cpu", f"the sampler {sampler} runs on the CPU only"
    refused = not_on_a_gpu(model, options)
    if refused:
        return "cpu", refused
    if nodes <= TOO_SMALL or links < WORTH_A_GPU:
        return "cpu", f"{nodes:,} nodes and {links:,} links are too few for a GPU to be faster"
    from blockmix.engines.cuda import open_device, why_not

    reason = why_not()
    if reason:
        return "cpu", reason.split(":")[0]
    return "cuda", f"there is a GPU, {open_device().name}"


def make_engine(device: str, workers: Workers) -> Engine:
    """Make the engine of a device that `check_device` has let pass."""
    if device == "cuda":
        from blockmix.engines.cuda import CudaEngine

        return CudaEngine(workers)
    return {"cpu": CpuEngine, "reference": ReferenceEngine}[device](workers)
