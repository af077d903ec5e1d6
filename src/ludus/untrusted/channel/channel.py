"""The host's end of the channel to a sandbox, which is not trusted.

Answers are copied once into private memory, and only the copy is read, since the sandbox may write
to shared memory at any time.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, NoReturn

from ludus.codec import DecodeLimits, decode, encode
from ludus.errors import (
    CodecError,
    RemoteEnvError,
    SandboxClosed,
    SandboxCrashed,
    SandboxTimeout,
    SandboxViolation,
)
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.process_handle import SandboxProcess
from ludus.terminal_text import excerpt
from ludus.untrusted.channel.protocol import (
    ANSWER,
    ASKED,
    BELL,
    REQUEST,
    RUNG,
    SHARED_BYTES,
    Kind,
    MessagePlan,
    Op,
    read_exactly,
    write_all,
)
from ludus.untrusted.channel.shared_memory import spinner
from ludus.untrusted.channel.watchdog import Keeper

__all__ = ["Channel"]

_ERROR_LIMITS = DecodeLimits(total_bytes=2**17, depth=2, items=8, string_bytes=2**16)
_RESULTS = (Kind.RESULT, Kind.LOOSE)
_VALUES = (Kind.VALUE,)


def _tokens() -> Iterator[int]:
    """Return an endless iterator of unpredictable numbers, none of them 0."""

    def drawn() -> list[int]:
        return [number or 1 for number in memoryview(os.urandom(8192)).cast("Q")]

    # An iterator written in C takes a fifth of a generator's time.
    return chain.from_iterable(iter(drawn, None))


class Channel:
    """Requests to a sandbox, and its answers.

    Attributes:
        request: private memory that begins with a request, where actions are written.
        landing: a private copy of the last answer's header and block.
        exchange: asks for a step whose action is in memory; the answer is in ``landing`` then.
            Returns whether nothing else was in the pipe.
    """

    request: bytearray
    landing: bytearray
    exchange: Callable[[int], bool]

    def __init__(
        self,
        sandbox: Sandbox,
        job: SandboxProcess,
        memory: int | None,
        *,
        start_timeout: float,
        spins: bool,
    ) -> None:
        self._sandbox, self._job, self._descriptor = sandbox, job, memory
        self._source, self._target = job.pipes.stdout, job.pipes.stdin
        self._plan: MessagePlan | None = None
        self._kills = sandbox._oom_kills()
        self._why_closed = ""
        self._maker = os.getpid()
        self._ahead = b""
        self._memory: mmap.mmap | None = None
        self.spins = spins
        self.tokens = _tokens()
        self.landing = bytearray(ANSWER.size)
        # Blocking: the host's ends are its own, no sandbox can change their flags.
        os.set_blocking(self._source, True)
        os.set_blocking(self._target, True)
        self.keeper = Keeper(job, start_timeout)

    # --- from start to end -----------------------------------------------------------------

    def attach(self, plan: MessagePlan, step_timeout: float) -> None:
        """Use memory as planned from now on, shared if that is possible."""
        shared = self._descriptor is not None and plan.nbytes <= SHARED_BYTES
        self.keeper.set_timeout(step_timeout)
        token = self._send(Op.ATTACH, encode(shared))
        self._plan = plan
        self.landing = bytearray(plan.answer_bytes)
        self.request = bytearray(plan.request_extra_at)
        if shared and self._descriptor is not None:
            # No other object holds it, so that it is freed with the sandbox.
            self._memory = mmap.mmap(self._descriptor, plan.nbytes)
            self.exchange = self._shared_exchange(plan, self._memory)
        else:
            self.exchange = self._piped_exchange(plan)
        self._receive(token, limit=64, kinds=_VALUES)

    @property
    def shared(self) -> bool:
        """Whether there is memory that the sandbox shares."""
        return self._memory is not None

    @property
    def closed(self) -> bool:
        """Whether the sandbox is gone, or is another process's."""
        return bool(self._why_closed) or os.getpid() != self._maker

    def close(self, reason: str = "it was closed") -> None:
        """Close the sandbox; doing so twice is harmless."""
        if self._why_closed:
            return
        self._why_closed = reason
        self.exchange = self._refuse
        self._memory = None
        if os.getpid() != self._maker:
            return  # A forked child must not end what its parent uses.
        self.keeper.stop()
        self._job.close()
        self._sandbox.close(reason)
        if self._descriptor is not None:
            os.close(self._descriptor)

    # --- calls -----------------------------------------------------------------------------

    def call(self, op: Op, payload: bytes = b"", *, limits: DecodeLimits) -> Any:
        """Send a request, and return the plain value of the answer.

        Raises:
            RemoteEnvError: the environment raised.
            SandboxViolation: the answer is not one to this request.
            SandboxTimeout, SandboxCrashed: there is no answer.
            SandboxClosed: the sandbox was closed by an earlier call.
        """
        token = self.ask(op, payload)
        _, extra = self._receive(token, limit=limits.total_bytes, kinds=_VALUES)
        return self.decoded(extra, limits)

    def ask(self, op: Op, payload: bytes = b"") -> int:
        """Send a request and return its token."""
        if self.closed:
            self._refuse()
        return self._send(op, payload)

    def result(self, token: int, limit: int) -> tuple[Kind, bytes]:
        """Return the kind and the extra of a result; its header and block are in ``landing``."""
        return self._receive(token, limit=limit, kinds=_RESULTS)

    def examine(self, token: int, limit: int) -> tuple[Kind, bytes]:
        """Do the same for an answer that ``exchange`` has put into ``landing``."""
        return self._examine(token, limit, _RESULTS)

    def decoded(self, extra: bytes, limits: DecodeLimits) -> Any:
        """Return the value of an extra."""
        try:
            return decode(extra, limits)
        except CodecError as problem:
            self.violation(f"Something that is no plain data: {problem}")

    def violation(self, came: str) -> NoReturn:
        """Close the sandbox after a violation of the protocol.

        Raises:
            SandboxViolation: always.
        """
        text = excerpt(came, 2000)
        self.close(f"it broke the contract ({text[:200]})")
        raise SandboxViolation(f"{text} The sandbox has been closed.{self._prints()}")

    def _refuse(self, token: int = 0) -> NoReturn:
        if os.getpid() != self._maker:
            # Both would read each other's answers, and no watchdog runs here.
            raise SandboxClosed(
                f"The sandbox {self._sandbox.name} was opened by process {self._maker}, which "
                "alone may talk to it; this is a fork of it. Make the environment anew here."
            )
        raise SandboxClosed(
            f"The sandbox {self._sandbox.name} is closed: {self._why_closed}. "
            "Make the environment anew."
        )

    # --- mechanics -------------------------------------------------------------------------

    def _shared_exchange(self, plan: MessagePlan, memory: Any) -> Callable[[int], bool]:
        keeper, landing = self.keeper, self.landing
        source, target = self._source, self._target
        first, last = plan.answer_at, plan.answer_at + plan.answer_bytes
        shared, private = memoryview(memory)[first:last], memoryview(landing)
        read, write, process, maker = os.read, os.write, os.getpid, self._maker
        # Two words are the whole request: the token, and a step without extra.
        header, plain_step = plan.words(memory, 0, 2), int(Op.STEP)
        action = slice(plan.request_extra_at - plan.action_bytes, plan.request_extra_at)
        given, taken = memoryview(self.request)[action], memoryview(memory)[action]
        asked, rung = plan.words(memory, ASKED), plan.words(memory, RUNG)
        wait = spinner(rung) if self.spins else None

        def exchange(token: int) -> bool:
            if process() != maker:
                self._refuse()
            try:
                taken[:] = given
                header[0], header[1] = token, plain_step
                keeper.waiting = token
                if wait is None:
                    write(target, BELL)
                else:
                    before = rung[0]
                    write(target, BELL)
                    asked[0] = token
                    wait(before)
                heard = read(source, 2)
                keeper.waiting = 0
                private[:] = shared
                if heard == BELL:
                    return True
                self._hear_more(heard)
            except BaseException as problem:
                self._fail(problem)
            return False

        return exchange

    def _piped_exchange(self, plan: MessagePlan) -> Callable[[int], bool]:
        first, last = plan.request_extra_at - plan.action_bytes, plan.request_extra_at

        def exchange(token: int) -> bool:
            if self.closed:
                self._refuse()
            with self._timed(token):
                header = REQUEST.pack(token, Op.STEP, 0)
                write_all(self._target, header + self.request[first:last])
                self._read_answer()
            return True

        return exchange

    @contextmanager
    def _timed(self, token: int) -> Iterator[None]:
        """Let the keeper measure the block's time; close the sandbox if the block fails."""
        try:
            self.keeper.waiting = token
            yield
            self.keeper.waiting = 0
        except BaseException as problem:
            self._fail(problem)

    def _send(self, op: Op, payload: bytes) -> int:
        token = next(self.tokens)
        header = REQUEST.pack(token, op, len(payload))
        plan, memory = self._plan, self._memory
        try:
            self.keeper.waiting = token
            if memory is None or plan is None:
                # Room for an action is part of every step, used or not.
                block = bytes(plan.action_bytes) if plan is not None and op is Op.STEP else b""
                write_all(self._target, header + block + payload)
            elif plan.request_fits(len(payload)):
                memory[: REQUEST.size] = header
                at = plan.request_extra_at
                memory[at : at + len(payload)] = payload
                write_all(self._target, BELL)
            else:
                memory[: REQUEST.size] = header
                write_all(self._target, BELL + payload)
        except BaseException as problem:
            self._fail(problem)
        return token

    def _receive(self, token: int, *, limit: int, kinds: tuple[Kind, ...]) -> tuple[Kind, bytes]:
        with self._timed(token):
            if self._memory is not None and self._plan is not None:
                if (heard := os.read(self._source, 2)) != BELL:
                    self._hear_more(heard)
                first = self._plan.answer_at
                self.landing[:] = self._memory[first : first + self._plan.answer_bytes]
            else:
                self._read_answer()
        return self._examine(token, limit, kinds)

    def _read_answer(self) -> None:
        """Read a header, and the block if one follows, from the pipe into ``landing``."""
        source, plan = self._source, self._plan
        self.landing[: ANSWER.size] = read_exactly(source, ANSWER.size)
        if ANSWER.unpack_from(self.landing)[1] == Kind.RESULT and plan is not None:
            self.landing[ANSWER.size :] = read_exactly(source, plan.answer_bytes - ANSWER.size)

    def _examine(self, token: int, limit: int, kinds: tuple[Kind, ...]) -> tuple[Kind, bytes]:
        """Check the header in ``landing`` and fetch the extra."""
        answered, kind, _, _, size, _ = ANSWER.unpack_from(self.landing)
        if answered == token and kind == kinds[0] and not size and not self._ahead:
            return kinds[0], b""
        if answered != token:
            self.violation("Protocol violation: the sandbox answered another request.")
        if kind not in (*kinds, Kind.RAISED):
            self.violation(f"The sandbox sent an answer of kind {kind}, expected one of {kinds}.")
        most = limit if kind != Kind.RAISED else _ERROR_LIMITS.total_bytes
        if size > most:
            self.violation(f"The sandbox announced {size} bytes; at most {most} are allowed.")
        extra = self._fetch(token, size) if size else b""
        if self._ahead:
            self.violation("Protocol violation: the sandbox sent an unexpected message.")
        if kind == Kind.RAISED:
            self._raise_remote(extra)
        return Kind(kind), extra

    def _fetch(self, token: int, size: int) -> bytes:
        plan = self._plan
        if self._memory is not None and plan is not None and plan.answer_fits(size):
            at = plan.answer_extra_at
            return self._memory[at : at + size]
        ahead, self._ahead = self._ahead, b""
        with self._timed(token):
            return ahead + read_exactly(self._source, size - len(ahead))

    def _hear_more(self, heard: bytes) -> None:
        """Keep what follows a bell: the first byte of an extra, or a violation."""
        if not heard:
            raise EOFError
        if heard[:1] != BELL:
            self.violation(f"The sandbox wrote {heard!r} into the channel, expected was {BELL!r}.")
        self._ahead = heard[1:]

    def _raise_remote(self, extra: bytes) -> NoReturn:
        told = self.decoded(extra, _ERROR_LIMITS)
        if type(told) is not dict or not all(
            type(told.get(key)) is str for key in ("type", "text", "trace")
        ):
            self.violation("The sandbox reported an exception in no known form.")
        kind = excerpt(told["type"], 100)
        text, trace = excerpt(told["text"], 2000), excerpt(told["trace"], 8000, tail=True)
        shown = f"\nTraceback in the sandbox:\n{trace}" if trace else ""
        raise RemoteEnvError(
            f"The environment in the sandbox raised {kind}: {text}{shown}",
            kind=kind,
            remote_traceback=trace,
        )

    def _fail(self, problem: BaseException) -> NoReturn:
        """Close the sandbox and raise how the call ended."""
        if isinstance(problem, SandboxViolation):
            raise problem
        if not isinstance(problem, EOFError | BrokenPipeError):
            # An interrupt, for instance: the answer to this call may still come, so that no
            # later one could be told from it.
            self.close(f"a call was interrupted by {type(problem).__name__}")
            raise problem
        status = self._job.wait(2.0)
        oom = self._ran_out_of_memory()
        if self.keeper.late:
            self.close("it did not answer in time")
            raise SandboxTimeout(
                f"The sandbox did not answer in time and was closed.{self._prints()}"
            )
        if status is None:
            self.violation("The sandbox closed its side of the channel, but goes on running.")
        how = _ending(status, oom=oom)
        self.close(how)
        raise SandboxCrashed(
            f"The process in the sandbox ended: {how}.{self._prints()}",
            exit_code=status,
            oom_killed=oom,
        ) from None

    def _ran_out_of_memory(self) -> bool:
        try:
            return self._sandbox._oom_kills() > self._kills
        except OSError:
            return False  # the sandbox is gone, by its wall time for instance

    def _prints(self) -> str:
        said = self.keeper.said.value().decode("utf-8", "replace")
        lines = excerpt(said, 1500, tail=True).splitlines()[-12:]
        return "\nIt printed:\n  " + "\n  ".join(lines) if any(lines) else ""


def _ending(status: int, *, oom: bool) -> str:
    if oom:
        return "it ran out of memory (Policy.memory)"
    if status > 128:
        return f"it was killed by signal {status - 128}"
    return f"it left with exit code {status}"
