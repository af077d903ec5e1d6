"""The protocol between host and sandbox, the same bytes through memory or through pipes.

A request is a header, room for the actions of fixed size, and an extra of any size. An answer is
a header, a block (rewards and flags of a batch, observations of fixed size) and an extra. With
shared memory, header, block and small extras lie there and one byte through the pipe rings the
bell; large extras follow the bell through the pipe. Without it, everything goes through the pipe.

The sandbox is not trusted: the host draws a token for each request, which the answer must repeat,
so that nothing can be answered in advance or twice.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from struct import Struct
from typing import Any

import numpy as np

from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple
from ludus.spaces.layout import MemoryLayout

__all__ = [
    "ANSWER",
    "ASKED",
    "BELL",
    "REQUEST",
    "RUNG",
    "SHARED_BYTES",
    "Kind",
    "MessagePlan",
    "Op",
    "fixed_layout",
    "plain_answers",
    "read_exactly",
    "write_all",
]

BELL = b"\x01"
REQUEST = Struct("<QB3xI")
"""Token, operation, bytes of the extra."""
ANSWER = Struct("<QBBBxId")
"""Token, kind, terminated, truncated, bytes of the extra, reward."""
SHARED_BYTES = 64 << 20
"""Size of the shared memory, of which only what is used takes room."""

ASKED, RUNG = 4, 5
"""Words of the first line in which each side leaves the token after it rang the bell."""

_LINE, _CHUNK = 64, 1 << 20
_REQUEST_EXTRA = 64 << 10
_ANSWER_EXTRA = 256 << 10


def plain_answers() -> dict[tuple[bool, bool], int]:
    """Return the second word of a result without extra, by its flags."""
    flags = [(False, False), (True, False), (False, True), (True, True)]
    return {
        (ended, cut): int.from_bytes(
            ANSWER.pack(0, Kind.RESULT, ended, cut, 0, 0.0)[8:16], sys.byteorder
        )
        for ended, cut in flags
    }


class Op(IntEnum):
    """Operations that the host requests."""

    START = 1
    ATTACH = 2
    RESET = 3
    STEP = 4
    RENDER = 5
    GET_STATE = 6
    SET_STATE = 7
    CLOSE = 8


class Kind(IntEnum):
    """Kinds of answers."""

    VALUE = 1
    """The extra is the value."""
    RESULT = 2
    """Reward and flags in the header or block, observation in the block, the info as extra."""
    LOOSE = 3
    """Everything in the extra, because it does not fit the block."""
    RAISED = 4
    """The environment raised; the extra describes it."""


def fixed_layout(space: Space[Any], n: int) -> MemoryLayout | None:
    """Return the memory layout of ``n`` members; ``None`` if their size is not fixed."""
    return MemoryLayout.of(space, n) if _is_fixed(space) else None


def _is_fixed(space: Space[Any]) -> bool:
    if type(space) is Dict:
        return all(map(_is_fixed, space.spaces.values()))
    if type(space) is Tuple:
        return all(map(_is_fixed, space.spaces))
    return type(space) in (Box, Discrete, MultiBinary, MultiDiscrete)


@dataclass(frozen=True)
class MessagePlan:
    """Memory layout of messages; both sides make it from the single environment's spaces.

    Args:
        num_envs: environments of a batch; ``None`` for a single environment.
        action: layout of the actions, ``None`` if they are extras.
        observation: layout of the observations, likewise.
    """

    num_envs: int | None
    action: MemoryLayout | None
    observation: MemoryLayout | None

    @classmethod
    def of(
        cls, observation_space: Space[Any], action_space: Space[Any], num_envs: int | None
    ) -> MessagePlan:
        """Make the plan for an environment's spaces."""
        n = num_envs or 1
        return cls(num_envs, fixed_layout(action_space, n), fixed_layout(observation_space, n))

    @cached_property
    def action_bytes(self) -> int:
        """Size of the actions' block, which begins after a line for the header."""
        return 0 if self.action is None else self.action.nbytes

    @cached_property
    def flags_at(self) -> int:
        """Place of a batch's flags in the answer, after the rewards."""
        return _LINE + 8 * (self.num_envs or 0)

    @cached_property
    def observation_at(self) -> int:
        """Place of the observations in the answer."""
        return _aligned(self.flags_at + 2 * (self.num_envs or 0))

    @cached_property
    def answer_bytes(self) -> int:
        """Size of the answer's header and block."""
        return self.observation_at + (0 if self.observation is None else self.observation.nbytes)

    @cached_property
    def request_extra_at(self) -> int:
        """Place of the request's extra."""
        return _LINE + self.action_bytes

    @cached_property
    def answer_at(self) -> int:
        """Place of the answer."""
        return _aligned(self.request_extra_at + _REQUEST_EXTRA)

    @cached_property
    def answer_extra_at(self) -> int:
        """Place of the answer's extra."""
        return _aligned(self.answer_at + self.answer_bytes)

    @cached_property
    def nbytes(self) -> int:
        """Size of everything."""
        return self.answer_extra_at + _ANSWER_EXTRA

    @staticmethod
    def words(memory: Any, place: int, count: int = 1) -> Any:
        """Return words of the first line of memory, as integers."""
        return memoryview(memory)[8 * place : 8 * (place + count)].cast("Q")

    def request_fits(self, size: int) -> bool:
        """Whether a request's extra fits into memory."""
        return size <= _REQUEST_EXTRA

    def answer_fits(self, size: int) -> bool:
        """Whether an answer's extra fits into memory."""
        return size <= _ANSWER_EXTRA

    def actions(self, memory: Any) -> Any:
        """Return the arrays of the actions over the memory that begins with a request."""
        if self.action is None:
            return None
        return self.action.views(memoryview(memory)[_LINE : _LINE + self.action_bytes])

    def observations(self, answer: Any) -> Any:
        """Return the arrays of the observations over memory that begins with an answer."""
        if self.observation is None:
            return None
        return self.observation.views(memoryview(answer)[self.observation_at : self.answer_bytes])

    def rewards(self, answer: Any) -> Any:
        """Return a batch's rewards."""
        return np.frombuffer(answer, np.float64, self.num_envs or 0, _LINE)

    def flags(self, answer: Any) -> Any:
        """Return a batch's flags as bytes: two rows, terminations and truncations."""
        n = self.num_envs or 0
        return np.frombuffer(answer, np.uint8, 2 * n, self.flags_at).reshape(2, n)


def _aligned(size: int) -> int:
    return -(-size // _LINE) * _LINE


def read_exactly(source: int, size: int) -> bytes:
    """Return the next bytes of a pipe.

    Raises:
        EOFError: there are fewer.
    """
    parts = []
    while size:
        part = os.read(source, min(size, _CHUNK))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write_all(target: int, data: bytes) -> None:
    """Write bytes to a pipe."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest[:_CHUNK]) :]
