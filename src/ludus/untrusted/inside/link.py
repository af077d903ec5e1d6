"""The sandbox's end of the channel."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from ludus.untrusted.channel.protocol import (
    ANSWER,
    ASKED,
    BELL,
    REQUEST,
    RUNG,
    Kind,
    MessagePlan,
    Op,
    read_exactly,
    write_all,
)
from ludus.untrusted.channel.shared_memory import spinner

__all__ = ["Link", "Request"]

Request = tuple[int, int, bytes]


class Link:
    """Requests in, answers out.

    Attributes:
        source: where requests come from.
        target: where answers go.
        memory: what begins with the request; shared with the host, or the sandbox's own.
        answer: the part of it that holds the answer.
        listen: waits for the bell; returns nothing when the host is gone.
        ring: rings the bell for the answer with this token, which is in memory.
    """

    memory: Any
    answer: memoryview
    listen: Callable[[], bytes]
    ring: Callable[[int], None]

    def __init__(self, source: int, target: int) -> None:
        self.source, self.target = source, target
        self._plan: MessagePlan | None = None
        self.shared = False

    def attach(self, descriptor: int | None, plan: MessagePlan, *, spins: bool = False) -> None:
        """Use memory as planned from now on; ``None``: everything goes through the pipes."""
        self.shared = descriptor is not None
        if descriptor is None:
            self.memory = bytearray(plan.nbytes)
        else:
            self.memory = mmap.mmap(descriptor, plan.nbytes)
        self.answer = memoryview(self.memory)[plan.answer_at : plan.answer_at + plan.answer_bytes]
        self._plan = plan
        self.listen, self.ring = _bells(self.source, self.target, self.memory, plan, spins=spins)

    def hear(self) -> Request | None:
        """Return the next request's token, operation and extra; ``None`` when the host is gone."""
        if not self.shared:
            return self._hear_through_pipe()
        if not self.listen():
            return None
        token, op, size = REQUEST.unpack_from(self.memory, 0)
        return token, op, self.extra_of(size)

    def say(
        self,
        token: int,
        kind: Kind,
        extra: bytes = b"",
        terminated: bool = False,
        truncated: bool = False,
        reward: float = 0.0,
    ) -> None:
        """Answer; with ``Kind.RESULT`` the block has been written before."""
        fields = (token, kind, terminated, truncated, len(extra), reward)
        if not self.shared:
            self._say_through_pipe(fields, kind, extra)
            return
        ANSWER.pack_into(self.answer, 0, *fields)
        if not extra:
            self.ring(token)
        elif self._plan is not None and self._plan.answer_fits(len(extra)):
            at = self._plan.answer_extra_at
            self.memory[at : at + len(extra)] = extra
            self.ring(token)
        else:
            write_all(self.target, BELL + extra)

    def extra_of(self, size: int) -> bytes:
        """Return the extra of the request in memory."""
        if self._plan is not None and self._plan.request_fits(size):
            at = self._plan.request_extra_at
            return bytes(self.memory[at : at + size])
        return read_exactly(self.source, size)

    def _hear_through_pipe(self) -> Request | None:
        plan, source = self._plan, self.source
        try:
            token, op, size = REQUEST.unpack(read_exactly(source, REQUEST.size))
            if plan is not None and op == Op.STEP and plan.action is not None:
                at = plan.request_extra_at
                self.memory[at - plan.action_bytes : at] = read_exactly(source, plan.action_bytes)
            return token, op, read_exactly(source, size)
        except EOFError:
            return None

    def _say_through_pipe(self, fields: tuple[Any, ...], kind: Kind, extra: bytes) -> None:
        if kind is Kind.RESULT:
            ANSWER.pack_into(self.answer, 0, *fields)
            write_all(self.target, bytes(self.answer) + extra)
        else:
            write_all(self.target, ANSWER.pack(*fields) + extra)


def _bells(
    source: int, target: int, memory: Any, plan: MessagePlan, *, spins: bool
) -> tuple[Callable[[], bytes], Callable[[int], None]]:
    read, write = os.read, os.write
    if not spins:

        def ring_only(_token: int) -> None:
            write(target, BELL)

        return partial(read, source, 1), ring_only
    asked, rung = plan.words(memory, ASKED), plan.words(memory, RUNG)
    wait, heard = spinner(asked), 0

    def listen() -> bytes:
        nonlocal heard
        wait(heard)
        bell = read(source, 1)
        heard = asked[0]
        return bell

    def ring(token: int) -> None:
        write(target, BELL)
        rung[0] = token

    return listen, ring
