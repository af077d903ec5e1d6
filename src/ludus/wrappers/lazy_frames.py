"""Stacks of frames that share their frames."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["LazyFrames"]

Array = npt.NDArray[Any]


class LazyFrames:
    """Frames that are stacked when somebody looks: several stacks share the same frames.

    With ``lz4_compress`` they are compressed meanwhile (by zlib, which needs no further package).
    """

    __slots__ = ("_frames", "dtype", "frame_shape", "lz4_compress", "shape")

    def __init__(self, frames: Sequence[Any], lz4_compress: bool = False) -> None:
        self.frame_shape = tuple(frames[0].shape)
        self.shape: tuple[int, ...] = (len(frames), *self.frame_shape)
        self.dtype = frames[0].dtype
        self.lz4_compress = lz4_compress
        self._frames = [zlib.compress(f.tobytes(), 1) for f in frames] if lz4_compress else frames

    def _frame(self, frame: Any) -> Array:
        if not self.lz4_compress:
            return np.asarray(frame)
        return np.frombuffer(zlib.decompress(frame), self.dtype).reshape(self.frame_shape)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        stacked = self[:]
        return stacked if dtype is None else stacked.astype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: int | slice) -> Array:
        if isinstance(index, int):
            return self._frame(self._frames[index])
        return np.stack([self._frame(frame) for frame in self._frames[index]])

    def __eq__(self, other: object) -> Any:
        return self[:] == other

    __hash__ = None  # type: ignore[assignment]
