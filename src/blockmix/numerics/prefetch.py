"""Prefetch memory ahead of its use, which numba has no function for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# Arguments of LLVM's prefetch: for reading, to stay in all caches, data rather than code.
_READ, _KEEP, _DATA = 0, 3, 1


def _prefetch_row(typing: Any, array: Any, row: Any) -> Any:
    """Return the signature and the LLVM instruction of `prefetch_row`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        zero = context.get_constant(types.intp, 0)
        pointer = cgutils.get_item_pointer(  # type: ignore[no-untyped-call]
            context, builder, kind, view, [index, zero], wraparound=False
        )
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, shape, "llvm.prefetch.p0i8"
        )
        flags = [ir.Constant(word, flag) for flag in (_READ, _KEEP, _DATA)]
        builder.call(function, [builder.bitcast(pointer, byte), *flags])
        return context.get_dummy_value()

    return types.void(array, row), generate


# prefetch_row(array, row), in kernels only: load the first cache line of a row of a two-dimensional array. It changes
# no value. On a large network every neighbour's row is a cache miss; requested while the node before is drawn, the row
# is in the cache when it is needed.
prefetch_row = cast(Callable[[Any, Any], None], intrinsic(_prefetch_row))
