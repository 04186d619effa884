"""The engine of one NVIDIA GPU. CuPy compiles the kernels when they are first needed, and allocates memory.

What a kernel does is the business of its sampler (`samplers/scir/cuda`). Here is what all share: whether there is a
GPU, how much of its memory is free, arrays there, and what CuPy's errors mean to a user.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Comm, Solo
from blockmix.engines.host import CpuEngine
from blockmix.errors import InputError
from blockmix.numerics.workers import Workers

INSTALL = "pip install 'blockmix[cuda]'"


class Module(Protocol):
    """Compiled kernels."""

    def launch(self, name: str, blocks: int, threads: int, *arguments: Any, shared: int = 0) -> None:
        """Start a kernel; `shared` is the memory of a block, in bytes."""

    def blocks(self, name: str, threads: int, shared: int = 0) -> int:
        """Return how many blocks of a kernel the whole GPU can run at once."""


class Device(Protocol):
    """What kernels need of a GPU; tests have a twin of it on the CPU.

    `head` takes the place of what the source needs of CUDA, where it is not for a GPU.
    """

    name: str
    head: str | None

    def free_bytes(self) -> int:
        """Return the memory that is free."""

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """Return a new array of zeros on the device."""

    def put(self, array: NDArray[Any]) -> Any:
        """Copy an array to the device."""

    def get(self, array: Any) -> NDArray[Any]:
        """Copy an array from the device."""

    def copy(self, source: NDArray[Any], target: Any) -> None:
        """Copy an array of the host into an existing one of the device."""

    def compile(self, source: str, options: Sequence[str]) -> Module:
        """Compile kernels."""

    def ends(self, counts: Any) -> Any:
        """Return the running sums of counts, as int64."""

    def by_falling(self, keys: Any) -> Any:
        """Return the places of keys from the largest to the smallest, as int32; equal ones in order."""


class CudaEngine(CpuEngine):
    """Kernels on one GPU, and the threads of this process for what is left to the host."""

    name = "cuda"
    # Sums over communities have another order than on the CPU, and log and exp another last bit: a draw that falls
    # within rounding of a boundary may go to either side of it.
    tolerance, other_draws = 1e-5, 0.01

    def __init__(self, workers: Workers, comm: Comm | None = None, device: Device | None = None) -> None:
        super().__init__(workers, Solo() if comm is None else comm)
        self.device: Device = open_device() if device is None else device

    def put(self, array: NDArray[Any]) -> Any:
        """Copy an array to the GPU."""
        return self.device.put(array)

    def get(self, array: Any) -> NDArray[Any]:
        """Copy an array to the host; one that is there already is returned as it is."""
        return array if type(array) is np.ndarray else self.device.get(array)


def why_not() -> str:
    """Return why no GPU can be used, with the remedy, or nothing where one can."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no NVIDIA driver (libcuda.so.1): install the driver of your GPU, or use device='cpu'"
    try:
        cupy = import_module("cupy")
    except ImportError:
        return f"CuPy is not installed: {INSTALL}, or use device='cpu'"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"the driver finds no GPU ({error}): see what nvidia-smi says, or use device='cpu'"
    return "" if count else "there is no GPU: see what nvidia-smi says, or use device='cpu'"


@cache
def open_device() -> Device:
    """Return the GPU, or raise an error that says what is missing; the same one for all chains of a process."""
    return CupyDevice()


class CupyDevice:
    """The GPU that is current for CuPy: CUDA_VISIBLE_DEVICES chooses it."""

    head: str | None = None

    def __init__(self) -> None:
        reason = why_not()
        if reason:
            raise InputError(f"device='cuda' (--device cuda): {reason}")
        self._cupy: Any = import_module("cupy")
        facts = self._cupy.cuda.runtime.getDeviceProperties(self._cupy.cuda.Device().id)
        self.name, self.processors = facts["name"].decode(), int(facts["multiProcessorCount"])
        self._modules: dict[tuple[str, ...], CupyModule] = {}

    def free_bytes(self) -> int:
        """Return the memory that is free, with what CuPy keeps for later."""
        pool = self._cupy.get_default_memory_pool()
        return int(self._cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """Return a new array of zeros on the GPU."""
        with self.explained():
            return self._cupy.zeros(shape, dtype)

    def put(self, array: NDArray[Any]) -> Any:
        """Copy an array to the GPU."""
        with self.explained():
            return self._cupy.asarray(array)

    def get(self, array: Any) -> NDArray[Any]:
        """Copy an array from the GPU."""
        with self.explained():
            return np.asarray(self._cupy.asnumpy(array))

    def copy(self, source: NDArray[Any], target: Any) -> None:
        """Copy an array of the host into an existing one of the GPU."""
        with self.explained():
            target.set(source)

    def compile(self, source: str, options: Sequence[str]) -> Module:
        """Compile kernels for this GPU; CuPy keeps the result on disk."""
        key = source, *options
        if key not in self._modules:
            with self.explained():
                module = self._cupy.RawModule(code=source, options=("--std=c++17", *options))
                self._modules[key] = CupyModule(self, module)
        return self._modules[key]

    def ends(self, counts: Any) -> Any:
        """Return the running sums of counts, as int64."""
        with self.explained():
            return self._cupy.cumsum(counts, dtype=np.int64)

    def by_falling(self, keys: Any) -> Any:
        """Return the places of keys from the largest to the smallest, as int32; equal ones in order."""
        with self.explained():
            return self._cupy.argsort(-keys, kind="stable").astype(np.int32)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn an error of CuPy into one that says what it means for the run."""
        cuda = self._cupy.cuda
        try:
            yield
        except cuda.memory.OutOfMemoryError as error:
            raise InputError(
                f"the GPU {self.name} is out of memory ({error}): use device='cpu', fewer slots or fewer chains, or "
                "end what else runs on it; a run with a folder goes on from its last checkpoint with resume"
            ) from None
        except (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError) as error:
            raise InputError(
                f"the GPU {self.name} failed ({error}): see what nvidia-smi says; a run with a folder goes on from its "
                "last checkpoint with resume, on this GPU or with device='cpu'"
            ) from None


class CupyModule:
    """Kernels that CuPy has compiled."""

    def __init__(self, device: CupyDevice, module: Any) -> None:
        self._device, self._module, self._functions = device, module, {}  # type: ignore[var-annotated]
        module.compile()

    def _function(self, name: str, shared: int) -> Any:
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = self._module.get_function(name)
        if shared > function.max_dynamic_shared_size_bytes:
            function.max_dynamic_shared_size_bytes = shared
        return function

    def launch(self, name: str, blocks: int, threads: int, *arguments: Any, shared: int = 0) -> None:
        """Start a kernel; whole numbers are passed as int64, others as float64."""
        with self._device.explained():
            function = self._function(name, shared)
            words = tuple(
                np.int64(a) if isinstance(a, int) else np.float64(a) if isinstance(a, float) else a
                for a in arguments
            )
            function((blocks,), (threads,), words, shared_mem=shared)

    def blocks(self, name: str, threads: int, shared: int = 0) -> int:
        """Return how many blocks of a kernel the whole GPU can run at once."""
        with self._device.explained():
            function = self._function(name, shared)
            driver = import_module("cupy_backends.cuda.api.driver")
            each = driver.occupancyMaxActiveBlocksPerMultiprocessor(function.kernel.ptr, threads, shared)
        return max(1, int(each)) * self._device.processors
