"""Images as PNG files."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import Error

__all__ = ["MOST_PIXELS", "as_image", "to_png"]

MOST_PIXELS = 4096 * 4096
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR = {1: 0, 3: 2, 4: 6}


def as_image(frame: Any) -> NDArray[np.uint8]:
    """Return a rendered frame as an array of height, width and 1, 3 or 4 channels.

    Raises:
        Error: It is no image, or a very large one.
    """
    if isinstance(frame, list | tuple) and frame:
        frame = frame[-1]  # the newest of a collection
    array = np.asarray(frame)
    if array.ndim == 2:
        array = array[:, :, None]
    fits = array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] in _COLOUR
    if not fits or not array.size or array.shape[0] * array.shape[1] > MOST_PIXELS:
        raise Error(
            f"render() returned an array of {array.dtype} and shape {array.shape}; an image is "
            f"expected: uint8, height, width and 1, 3 or 4 channels, at most {MOST_PIXELS} pixels."
        )
    return array


def to_png(image: NDArray[np.uint8], *, level: int = 1) -> bytes:
    """Return an image as a PNG file.

    Each line is stored as the difference to the line above, which most frames compress well with.
    """
    height, width, channels = image.shape
    lines = np.empty((height, width * channels + 1), np.uint8)
    lines[:, 0] = 2
    flat = image.reshape(height, width * channels)
    lines[0, 1:] = flat[0]
    np.subtract(flat[1:], flat[:-1], out=lines[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR[channels], 0, 0, 0)
    body = zlib.compress(lines.tobytes(), level)
    parts = ((b"IHDR", header), (b"IDAT", body), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
