"""Shared memory of the parent and the workers."""

from __future__ import annotations

import mmap
import os
import tempfile
from dataclasses import dataclass
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple
from ludus.spaces.layout import Layout

__all__ = ["Arrays", "Plan", "SharedBuffer", "plain_layout"]

INFO_BYTES_PER_ENV = 4096


def _aligned(nbytes: int) -> int:
    return -(-nbytes // 64) * 64


class SharedBuffer:
    """Anonymous shared memory, which is freed even if its processes are killed."""

    def __init__(self, fd: int, nbytes: int) -> None:
        self.fd = fd
        self.nbytes = nbytes
        self.memory = mmap.mmap(fd, nbytes)

    @classmethod
    def create(cls, nbytes: int) -> SharedBuffer:
        """Allocate zeroed memory."""
        nbytes = max(nbytes, mmap.PAGESIZE)
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("ludus-vector")
        else:
            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
        os.ftruncate(fd, nbytes)
        return cls(fd, nbytes)

    def send(self, connection: Connection, pid: int) -> None:
        """Send the memory to the process at the other end of a pipe."""
        reduction.send_handle(connection, self.fd, pid)

    @classmethod
    def receive(cls, connection: Connection, nbytes: int) -> SharedBuffer:
        """Receive the memory that :meth:`send` sent."""
        return cls(reduction.recv_handle(connection), nbytes)

    def close(self) -> None:
        """Close the file descriptor; the memory is freed with the last array that views it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def plain_layout(space: Space[Any], n: int) -> Layout | None:
    """Return the layout of a batch of arrays, ``None`` if it contains other objects."""
    return Layout.of(space, n) if _is_plain(space) else None


def _is_plain(space: Space[Any]) -> bool:
    if isinstance(space, Dict):
        return all(map(_is_plain, space.spaces.values()))
    if isinstance(space, Tuple):
        return all(map(_is_plain, space.spaces))
    return type(space) in (Box, Discrete, MultiBinary, MultiDiscrete)


@dataclass(frozen=True, slots=True)
class Arrays:
    """Views of the shared buffer, each with one row per environment."""

    actions: Any
    observations: Any
    final_observations: Any
    rewards: np.ndarray[Any, np.dtype[np.float64]]
    terminations: np.ndarray[Any, np.dtype[np.bool_]]
    truncations: np.ndarray[Any, np.dtype[np.bool_]]
    info_bytes: np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True, slots=True)
class Plan:
    """The layout of the shared buffer, equal in the parent and in every worker.

    A layout of ``None`` means that these values are sent through the pipe.
    """

    num_envs: int
    actions: Layout | None
    observations: Layout | None

    @property
    def nbytes(self) -> int:
        """Size of the whole buffer."""
        return self._offsets()[-1]

    def _sizes(self) -> list[int]:
        layouts = [self.actions, self.observations, self.observations]
        sizes = [0 if layout is None else layout.nbytes for layout in layouts]
        n = self.num_envs
        return [*sizes, 8 * n, n, n, INFO_BYTES_PER_ENV * n]

    def _offsets(self) -> list[int]:
        offsets = [0]
        for size in self._sizes():
            offsets.append(offsets[-1] + _aligned(size))
        return offsets

    def arrays(self, memory: mmap.mmap) -> Arrays:
        """Return the views."""
        offsets = self._offsets()
        whole = np.frombuffer(memory, dtype=np.uint8)
        parts = [
            whole[start : start + size] for start, size in zip(offsets, self._sizes(), strict=False)
        ]

        def nested(layout: Layout | None, part: np.ndarray[Any, Any]) -> Any:
            return None if layout is None else layout.views(part.data)

        return Arrays(
            actions=nested(self.actions, parts[0]),
            observations=nested(self.observations, parts[1]),
            final_observations=nested(self.observations, parts[2]),
            rewards=parts[3].view(np.float64),
            terminations=parts[4].view(np.bool_),
            truncations=parts[5].view(np.bool_),
            info_bytes=parts[6].reshape(self.num_envs, INFO_BYTES_PER_ENV),
        )
