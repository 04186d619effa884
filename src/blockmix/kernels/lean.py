"""The decorators of `philox` without reference counts, for kernels that hand arrays on but never make any.

numba counts a reference whenever an array is taken out of a NamedTuple, by an atomic operation, and cannot tell in
loops with several exits that the count does not matter. The compiled link-indicator move held six hundred of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])
# `_nrt`, numba's own runtime, is what counts references.
_FLAGS: dict[str, Any] = {
    "cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}, "_nrt": False
}  # fmt: skip


def lean_kernel(function: _Function) -> _Function:
    """Like `philox.kernel`; a function that allocates an array does not compile."""
    compiled = njit(**_FLAGS)(function)
    return cast(_Function, compiled)


def inlined_lean_kernel(function: _Function) -> _Function:
    """Like `philox.inlined_kernel`; a function that allocates an array does not compile."""
    compiled = njit(**_FLAGS, forceinline=True)(function)
    return cast(_Function, compiled)
