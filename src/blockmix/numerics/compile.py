"""How kernels are compiled: lazily, cached on disk, without the GIL, and without reference counts where that pays.

numba counts a reference whenever an array is taken out of a NamedTuple, by an atomic operation, and cannot prove in
loops with several exits that the count is not needed. The compiled link-indicator move had six hundred of them.
The lean decorators leave the counting out, for kernels that pass arrays on but never allocate any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import njit

from blockmix.numerics.cache import checked

_Function = TypeVar("_Function", bound=Callable[..., Any])

# What all kernels are compiled with. No kernel is called from C, so none needs an entry point for that.
FLAGS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "fastmath": {"contract"}, "no_cfunc_wrapper": True
}  # fmt: skip


def kernel(function: _Function) -> _Function:
    """Compile a scalar function on first use: no Python objects, no exceptions, no allocation inside.

    Divisions by zero follow IEEE, and a*b+c may be fused into one rounding. No other fastmath: infinities and
    NaN keep their meaning and sums their order.
    """
    compiled = checked(njit(cache=True, **FLAGS)(function))
    return cast(_Function, compiled)


def checked_njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles with these settings of numba: for functions that allocate or raise.

    What is kept on disk has a checksum, as for every kernel.
    """
    return lambda function: checked(njit(**options)(function))


def inlined_kernel(function: _Function) -> _Function:
    """Compile like `kernel`, and always into the caller: for the few functions that every draw uses.

    A call that passes a whole stream costs 6 to 9 ns, a third of a draw. The caller is cached.
    """
    compiled = njit(forceinline=True, **FLAGS)(function)
    return cast(_Function, compiled)


def exact_kernel(function: _Function) -> _Function:
    """Compile like `inlined_kernel`, but fuse nothing: the same rounding in every caller.

    Of a*b + c*d either product may be fused with the sum, and the compiler chooses by the surrounding code. A function
    that is compiled into several kernels, and must give the same bits in all of them, cannot allow that choice.
    """
    compiled = njit(forceinline=True, **(FLAGS | {"fastmath": False}))(function)
    return cast(_Function, compiled)


# Internal flags of numba, such as `_nrt`, its runtime, which counts references, are not in its types.
_njit: Any = numba.njit
_LEAN = FLAGS | {"_nrt": False}


def lean_kernel(function: _Function) -> _Function:
    """Compile like `kernel`, without reference counts; a function that allocates an array does not compile."""
    compiled = checked(_njit(cache=True, **_LEAN)(function))
    return cast(_Function, compiled)


def inlined_lean_kernel(function: _Function) -> _Function:
    """Compile like `inlined_kernel`, for other kernels to call: a call from Python would crash (`from_python`).

    The code that unpacks NamedTuples for a call from Python takes longer to compile than most kernels: without it a
    first sweep on a new machine starts after 19 s instead of 28.
    """
    compiled = _njit(forceinline=True, no_cpython_wrapper=True, **_LEAN)(function)
    return cast(_Function, compiled)


def from_python(function: _Function) -> _Function:
    """Make an inlined lean kernel callable from Python, for tests."""

    @_njit(**_LEAN)
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return cast(_Function, call)
