"""The scalar kernels compiled for a GPU draw what they draw on the CPU. Skipped where there is no GPU."""

import numpy as np
import pytest

from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.special import expint_e1
from blockmix.numerics.variates import gamma, levy_jump, normal, poisson

SHAPES = (1e-3, 0.3, 1.0, 3.0, 300.0)
MEANS = (0.3, 5.0, 30.0, 1e4)


@pytest.fixture(scope="module")
def cuda():
    if not hasattr(np, "row_stack"):
        # removed in NumPy 2.5, and numba-cuda 0.30 still names it when it is imported
        setattr(np, "row_" + "stack", np.vstack)  # in two words: a linter would rewrite the old name
    module = pytest.importorskip("numba.cuda", reason="numba-cuda is not installed")
    if not module.is_available():
        pytest.skip("there is no GPU here")
    return module


def draw_all(i, words, values):
    """Everything that one counter gives: four words, then normals, gammas, Poissons, jumps and E1."""
    node, k0, k1 = np.uint32(i), np.uint32(7), np.uint32(11)
    sweep, start = np.uint32(3), np.uint32(0)
    w = philox4x32(node, sweep, stream_word(1, 0), start, k0, k1)
    for j in range(4):
        words[i, j] = w[j]
    values[i, 0] = normal(k0, k1, node, sweep, stream_word(2, 0), start)
    for j in range(len(SHAPES)):
        values[i, 1 + j] = gamma(SHAPES[j], k0, k1, node, sweep, stream_word(3, j), start)
    for j in range(len(MEANS)):
        values[i, 6 + j] = poisson(MEANS[j], k0, k1, node, sweep, stream_word(4, j), start)
    values[i, 10] = levy_jump(0.01, k0, k1, node, sweep, stream_word(5, 0), start)
    values[i, 11] = expint_e1(0.001 * (i + 1))


def test_cpu_and_gpu_draw_the_same_numbers(cuda):
    from numba import njit

    draw = njit(draw_all)
    # two blocks a processor: numba-cuda warns of a grid that leaves some idle
    blocks, threads = 2 * cuda.get_current_device().MULTIPROCESSOR_COUNT, 32
    draws = blocks * threads
    words, values = np.zeros((draws, 4), dtype=np.uint32), np.zeros((draws, 12))
    for i in range(draws):
        draw(i, words, values)

    @cuda.jit
    def on_the_device(words, values):
        i = cuda.grid(1)
        if i < len(words):
            draw(i, words, values)

    device_words, device_values = cuda.to_device(np.zeros_like(words)), cuda.to_device(np.zeros_like(values))
    on_the_device[blocks, threads](device_words, device_values)
    np.testing.assert_array_equal(device_words.copy_to_host(), words)
    # The last bits of log and exp differ between libraries; a draw that lands on the other side of a rejection or
    # of a Poisson step because of that is one in many millions.
    np.testing.assert_allclose(device_values.copy_to_host(), values, rtol=1e-9, atol=1e-300)
