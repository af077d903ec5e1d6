"""The protocol between the grading program, the host and the code program.

A frame is a header and a payload in ``ludus.codec``'s encoding. The host forwards the questions of
the grading program to the code program, under its own token, and the answers back::

    grading program  --LOAD, CALL, RUN, RESTART-->  host  --LOAD, CALL, RUN-->  code program
                     <--ANSWER--------------------        <--ANSWER, RAISED--
                     --SCORE, REJECTED, FAILED---->

The host decodes no question or answer: it counts bytes and seconds. The grading program decodes
answers with limits. Any violation by the code program ends the grading.
"""

from __future__ import annotations

import os
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from ludus.codec import DecodeLimits

__all__ = [
    "HEADER",
    "KERNELS",
    "VALUES",
    "Frame",
    "Kind",
    "Link",
    "borrow_kernels",
    "claim_channel",
    "pack",
]

HEADER = Struct("<QB3xId")
"""Token, kind, bytes of the payload, and a number whose meaning depends on the kind."""

VALUES = DecodeLimits(
    total_bytes=2**30,
    depth=16,
    items=4_000_000,
    string_bytes=2**24,
    array_bytes=2**30,
    integer_bytes=8,
)
"""What arguments and answers may be; no integer is beyond 64 bits."""


class Kind(IntEnum):
    """What a frame is; in brackets what its number means."""

    START = 1
    """To the grading program: what to grade. The token must come back with the score."""
    HELLO = 2
    """From the code program, before it has looked at anything submitted."""
    LOAD = 3
    """Import a submitted file. [1: nothing may keep running after an answer]"""
    CALL = 4
    """Call a function, once per list of arguments. [seconds, 0: the usual]"""
    RUN = 5
    """Run a submitted ONNX model. [seconds, 0: the usual]"""
    RESTART = 6
    """Continue with a new sandbox, without any state."""
    ANSWER = 7
    """To the last question. [to the grading program: seconds it took]"""
    RAISED = 8
    """The submitted code raised."""
    SCORE = 9
    """The grading program is done."""
    REJECTED = 10
    """The submission is malformed."""
    FAILED = 11
    """The grader raised."""


class Frame(NamedTuple):
    """A frame as it came."""

    token: int
    kind: int
    number: float
    payload: bytes


def pack(token: int, kind: Kind, payload: bytes = b"", number: float = 0.0) -> bytes:
    """Return a frame's bytes."""
    return HEADER.pack(token, kind, len(payload), number) + payload


class Link:
    """A program's end of its channel to the host."""

    def __init__(self, source: int, target: int) -> None:
        self._source, self._target = source, target

    def receive(self) -> Frame | None:
        """Return the next frame; ``None`` when the host is gone."""
        header = self._read(HEADER.size)
        if header is None:
            return None
        token, kind, size, number = HEADER.unpack(header)
        payload = self._read(size)
        return None if payload is None else Frame(token, kind, number, payload)

    def send(self, token: int, kind: Kind, payload: bytes = b"", number: float = 0.0) -> None:
        """Send a frame."""
        rest = memoryview(pack(token, kind, payload, number))
        while rest:
            rest = rest[os.write(self._target, rest) :]

    def _read(self, size: int) -> bytes | None:
        parts = []
        while size:
            part = os.read(self._source, min(size, 1 << 20))
            if not part:
                return None
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def claim_channel() -> Link:
    """Take standard input and output for the protocol; what is printed goes to standard error."""
    link = Link(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return link


KERNELS = "LUDUS_KERNELS"
"""Names the folder with what the host has compiled, where a task says that it needs Ludus."""


def borrow_kernels() -> None:
    """Begin the sandbox's cache with what the host has compiled, if this sandbox is shown it."""
    source = os.environ.get(KERNELS)
    if source is not None:
        from ludus.untrusted.inside.runner import _borrow_kernels

        _borrow_kernels(source)
