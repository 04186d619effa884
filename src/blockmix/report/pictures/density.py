"""The map as an image: how many nodes lie at every point, in the colours of their communities.

This is the still picture of a large network, for browsers without WebGL. Colours are means over the nodes of a
pixel; opacity grows with the logarithm of their number, so that both a crowd and a single node can be seen.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Opacity of a pixel with one node, where nodes are single pixels and where they are discs; what is left is for many.
_LEAST, _LEAST_OF_DISC = 0.35, 0.75


def density_image(
    x: Floats, y: Floats, colour: Floats, width: int, height: int, radius: float = 0.0
) -> NDArray[np.uint8]:
    """Draw nodes at pixels x, y (from the top left) with colours from 0 to 1 as an RGBA image.

    A node covers the pixels within `radius` of its own: single nodes must be seen where they are few.
    """
    count, total = np.zeros(width * height, dtype=np.int64), np.zeros((3, width * height))
    for right, down in _within(radius):
        column, row = np.floor(x).astype(np.int64) + right, np.floor(y).astype(np.int64) + down
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        pixel = (row * width + column)[inside]
        count += np.bincount(pixel, minlength=width * height)
        for i in range(3):
            total[i] += np.bincount(pixel, colour[inside, i], minlength=width * height)
    image = np.zeros((height * width, 4), dtype=np.uint8)
    seen = count > 0
    image[seen, :3] = np.rint(255 * total[:, seen] / count[seen]).T
    most = max(float(np.quantile(count[seen], 0.995)), 2.0) if seen.any() else 2.0
    strength = np.clip(np.log(np.maximum(count[seen], 1)) / np.log(most), 0.0, 1.0)
    least = _LEAST_OF_DISC if radius >= 1.0 else _LEAST
    image[seen, 3] = np.rint(255 * (least + (1 - least) * strength))
    return image.reshape(height, width, 4)


def _within(radius: float) -> list[tuple[int, int]]:
    """Return the steps to the pixels within a radius, none but the pixel itself for 0."""
    steps = range(-int(radius), int(radius) + 1)
    return [(right, down) for right in steps for down in steps if right**2 + down**2 <= radius**2]


def png(image: NDArray[np.uint8]) -> bytes:
    """Encode an RGBA image as PNG.

    >>> png(np.zeros((1, 1, 4), dtype=np.uint8))[:4]
    b'\\x89PNG'
    """
    height, width = image.shape[:2]
    # Every line starts with the number of its filter; 0 is none.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], axis=1)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
