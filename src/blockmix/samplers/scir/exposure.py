"""What non-links tell about a community in closed form, (S3) and (S5); both local moves use it."""

from __future__ import annotations

from blockmix.numerics.compile import inlined_lean_kernel

# A community can hold links only, so that its exposure to non-links is a difference of nearly equal sums.
TINY = 1e-12
# 1 - delta - d pi R2/R is at least 1 - beta; this keeps a strength next to one from dividing by zero.
LEAST_DENOMINATOR = 1e-6


@inlined_lean_kernel
def resummed_exposure(rest: float, squares: float, d: float, free: float) -> float:
    """(S5) Sum pi_bk/Z_ab over non-neighbours from R_k, R2_k, d = d_k pi_ak and 1 - delta: the mean of two cases."""
    if rest <= TINY:
        return 0.0
    equal_weights = rest / max(free - d * squares / rest, LEAST_DENOMINATOR)
    all_or_nothing = squares / max(free - d, LEAST_DENOMINATOR) + (rest - squares) / free
    return 0.5 * (equal_weights + all_or_nothing)
