"""What non-links tell about a community in closed form, (S3) and (S5); both local moves use it."""

from __future__ import annotations

from blockmix.numerics.compile import inlined_lean_kernel

# A community can hold links only, so that its exposure to non-links is a difference of nearly equal sums.
TINY = 1e-12
# The denominator below is at least a third of 1 - beta; this keeps a strength next to one from dividing by zero.
LEAST_DENOMINATOR = 1e-6


@inlined_lean_kernel
def two_points(share: float) -> tuple[float, float]:
    """(S5) Return the sum and the product of the two weights t that stand for all members; `share` is R2/R."""
    twice = 1.0 + 2.0 * share
    return 4.0 * share / twice, 2.0 * share * share / ((1.0 + share) * twice)


@inlined_lean_kernel
def resummed_exposure(rest: float, squares: float, d: float, free: float) -> float:
    """(S5) Sum pi_bk/Z_ab over non-neighbours from R_k, R2_k, d = d_k pi_ak and 1 - delta."""
    if rest <= TINY:
        return 0.0
    share = squares / rest
    both, product = two_points(share)
    # The sum over both points of weight/(free - d t), on one denominator: no root is needed.
    numerator = free - d * (both - share)
    return rest * numerator / max(free * free - d * (both * free - d * product), LEAST_DENOMINATOR)
