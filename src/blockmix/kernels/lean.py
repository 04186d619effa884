"""The decorators of `philox` without reference counts, for kernels that hand arrays on but never make any.

numba counts a reference whenever an array is taken out of a NamedTuple, by an atomic operation, and cannot tell in
loops with several exits that the count does not matter. The compiled link-indicator move held six hundred of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from blockmix.kernels.philox import FLAGS

_Function = TypeVar("_Function", bound=Callable[..., Any])
# Flags that are numba's own affair, such as `_nrt`, its runtime, which counts references, are not in its types.
_njit: Any = numba.njit
_LEAN = FLAGS | {"_nrt": False}


def lean_kernel(function: _Function) -> _Function:
    """Like `philox.kernel`; a function that allocates an array does not compile."""
    compiled = _njit(cache=True, **_LEAN)(function)
    return cast(_Function, compiled)


def inlined_lean_kernel(function: _Function) -> _Function:
    """Like `philox.inlined_kernel`, and for other kernels to call: called from Python it would crash (`from_python`).

    The code that unpacks NamedTuples for a call from Python takes longer to compile than most kernels: without it a
    first sweep on a new machine starts after 19 s instead of 28.
    """
    compiled = _njit(forceinline=True, no_cpython_wrapper=True, **_LEAN)(function)
    return cast(_Function, compiled)


def from_python(function: _Function) -> _Function:
    """An inlined lean kernel made fit for a call from Python, for tests."""

    @_njit(**_LEAN)
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return cast(_Function, call)
