"""A GPU's twin on the CPU: the kernels' own source compiled by g++, and arrays that NumPy must not touch by itself.

With it everything around and in the kernels is tested where there is no GPU. `tests/twin.h` has the lanes.
"""

import ctypes
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

HEAD = Path(__file__).with_name("twin.h")
KERNEL = re.compile(r"^KERNEL (?:LIGHT_BOUNDS )?(\w+)\(([^)]*)\) \{", re.MULTILINE)


def compiler():
    """The path of g++, or None."""
    return shutil.which("g++")


class TwinArray(np.ndarray):
    """An array of the device: NumPy's functions refuse it, as they refuse those of CuPy."""

    def __array_function__(self, function, types, arguments, keywords):
        raise TypeError(f"{function.__name__} of NumPy was called with an array of the device")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        for value in (*inputs, *(out or ())):
            if type(value) is np.ndarray and value.ndim:
                raise TypeError(f"{ufunc.__name__} of an array of the host and one of the device")
        plain = [np.asarray(value) if isinstance(value, TwinArray) else value for value in inputs]
        if out is not None:
            keywords["out"] = tuple(np.asarray(value) for value in out)
        found = getattr(ufunc, method)(*plain, **keywords)
        return np.asarray(found).view(TwinArray)


class TwinDevice:
    """What `engines.cuda.Device` asks for; `free` is the memory that it says is free."""

    name = "twin of a GPU"

    def __init__(self, folder: Path, free: int = 2**34) -> None:
        self.head, self.folder, self.free = HEAD.read_text(), folder, free
        self.modules = {}

    def free_bytes(self):
        return self.free

    def zeros(self, shape, dtype):
        return np.zeros(shape, dtype).view(TwinArray)

    def put(self, array):
        return np.array(array).view(TwinArray)

    def get(self, array):
        assert isinstance(array, TwinArray)
        return np.array(array.view(np.ndarray))

    def copy(self, source, target):
        assert type(source) is np.ndarray
        assert source.shape == target.shape
        assert source.dtype == target.dtype
        target.view(np.ndarray)[...] = source

    def ends(self, counts):
        return np.cumsum(counts.view(np.ndarray), dtype=np.int64).view(TwinArray)

    def by_falling(self, keys):
        return np.argsort(-keys.view(np.ndarray), kind="stable").astype(np.int32).view(TwinArray)

    def compile(self, source, options):
        key = source, *options
        if key not in self.modules:
            self.modules[key] = TwinModule(source, options, self.folder)
        return self.modules[key]


class TwinModule:
    """Kernels that g++ has compiled; each runs block after block."""

    def __init__(self, source, options, folder):
        self.signatures = {name: arguments.split(",") for name, arguments in KERNEL.findall(source)}
        for name, arguments in self.signatures.items():
            names = ", ".join(argument.split()[-1].lstrip("*") for argument in arguments)
            source += (
                f'\nextern "C" void run_{name}(int blocks, int threads, i64 shared, {", ".join(arguments)}) '
                f"{{ twin::run(blocks, threads, shared, [=] {{ {name}({names}); }}); }}"
            )
        mark = hashlib.sha256((source + " ".join(options)).encode()).hexdigest()[:16]
        path = folder / f"twin-{mark}.so"
        if not path.exists():
            text = path.with_suffix(".cpp")
            text.write_text(source)
            command = [compiler(), "-std=c++17", "-O2", "-w", "-shared", "-fPIC", *options, str(text), "-o"]
            subprocess.run([*command, str(path) + ".part"], check=True)
            Path(str(path) + ".part").rename(path)
        self.library = ctypes.CDLL(str(path))

    def blocks(self, name, threads, shared=0):
        return 1

    def launch(self, name, blocks, threads, *arguments, shared=0):
        # fewer threads than on a GPU: all kernels go on until nothing is left
        blocks, threads = min(blocks, 2), min(threads, 32)
        given = []
        for argument, declared in zip(arguments, self.signatures[name], strict=True):
            if isinstance(argument, np.ndarray):
                assert isinstance(argument, TwinArray), f"{name}: {declared} is an array of the host"
                given.append(ctypes.c_void_p(argument.ctypes.data))
            else:
                kind = ctypes.c_double if declared.split()[0] == "double" else ctypes.c_longlong
                assert isinstance(argument, float if kind is ctypes.c_double else int), (name, declared)
                given.append(kind(argument))
        function = getattr(self.library, f"run_{name}")
        function(blocks, threads, ctypes.c_longlong(shared), *given)
