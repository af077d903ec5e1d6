"""The host's side of submitted code: asks it, measures its time, and attributes failures."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from ludus.codec import DecodeLimits, decode
from ludus.errors import CodecError, GradingFailed, SubmissionRejected
from ludus.research.grading.limits import GradingLimits
from ludus.research.grading.peer import Peer, PeerFault, PeerLate
from ludus.research.grading.protocol import Kind, pack
from ludus.research.grading.refusal import raised_where
from ludus.sandbox.linux.entrance import EnteredJob
from ludus.sandbox.process_handle import LocalJob, SandboxProcess
from ludus.terminal_text import excerpt

__all__ = ["CodeSandbox", "count_threads"]

_ERRORS = DecodeLimits(total_bytes=2**17, depth=2, items=8, string_bytes=2**16)
_PATIENCE = (0.0, 0.01, 0.05, 0.2)
_RESTLESS = (
    "The submitted code left processes or threads running after it had answered. End them before "
    "the function returns."
)


class CodeSandbox:
    """Submitted code in its sandbox.

    A failure before the first question is ours; a later one is the submission's, unless the sandbox
    was closed from outside.

    Args:
        open_peer: opens a fresh sandbox.
        limits: of its time and its output.
        lines: number of lines of each submitted file.

    Attributes:
        seconds: time of all answers, including until the code was at rest.
        calls: number of answers.
        is_asked: whether it was asked anything, and may have seen hidden data.
    """

    def __init__(
        self, open_peer: Callable[[], Peer], limits: GradingLimits, lines: Mapping[str, int]
    ) -> None:
        self._open, self._limits, self._lines = open_peer, limits, lines
        self.is_asked = False
        self._alone = False
        self._threads: int | None = None
        self.seconds, self.calls = 0.0, 0
        self._greeted = False
        self._peer = open_peer()

    def ask(self, kind: Kind, payload: bytes, number: float) -> tuple[bytes, float]:
        """Return the encoded answer to a question, and the seconds it took.

        Raises:
            SubmissionRejected: there is none; the message says why.
            GradingFailed: for no fault of the submission.
        """
        self._greet()
        self.is_asked = True
        if kind is Kind.LOAD:
            self._alone = self._alone or number == 1.0
            wanted = self._limits.load
        else:
            wanted = number if number > 0 else self._limits.call
        allowed = min(wanted, self._limits.code - self.seconds)
        began = time.monotonic()
        try:
            answer = self._exchange(kind, payload, began + allowed)
        except PeerFault as problem:
            self._blame(problem, allowed, wanted)
        took = time.monotonic() - began
        self.calls += 1
        self._check_alone()
        # Including the time until the code was at rest.
        self.seconds += time.monotonic() - began
        return answer, took

    def restart(self) -> None:
        """Continue with a fresh sandbox.

        Raises:
            GradingFailed: none can be opened.
        """
        self._peer.close()
        self._greeted = False
        self._peer = self._open()

    def close(self) -> None:
        """End the code and its sandbox."""
        self._peer.close()

    def _exchange(self, kind: Kind, payload: bytes, deadline: float) -> bytes:
        if not self._peer.is_silent():
            raise PeerFault("it spoke before it was asked")
        # Drawn for each question: nothing can be answered before it is asked, or twice.
        token = secrets.randbits(64)
        self._peer.send(pack(token, kind, payload), deadline)
        frame = self._peer.receive(self._limits.message_bytes, deadline)
        if frame.token != token or frame.kind not in (Kind.ANSWER, Kind.RAISED):
            raise PeerFault("it answered something that was not asked")
        if frame.kind == Kind.RAISED:
            raise self._raised(frame.payload)
        return frame.payload

    def _greet(self) -> None:
        if self._greeted:
            return
        try:
            frame = self._peer.receive(0, time.monotonic() + self._limits.start)
        except PeerFault as problem:
            raise GradingFailed(
                f"The submission's sandbox did not start: {problem}.\n{self._peer.printed()}"
            ) from None
        if frame.kind != Kind.HELLO:
            raise GradingFailed(
                "The submission's sandbox began with something else than a greeting."
            )
        self._greeted = True
        self._threads = self._count()

    def _blame(self, problem: PeerFault, allowed: float, wanted: float) -> NoReturn:
        if self._peer.was_cut_off():
            closed = self._peer.sandbox._closed or "it was killed"
            raise GradingFailed(
                f"The submission's sandbox was ended from outside: {closed}."
            ) from None
        what = f"The submitted code gave no answer: {problem}."
        if isinstance(problem, PeerLate):
            whole = "" if allowed == wanted else f" (of {self._limits.code:g} in all)"
            what += f" It had {max(allowed, 0.0):.3g} seconds{whole}."
        printed = self._peer.printed()
        told = f"The submitted code {problem.told}. Run it on data of your own to see why."
        raise SubmissionRejected(
            f"{what}\nIt printed:\n{printed}" if printed else what, told=told
        ) from None

    def _count(self) -> int | None:
        return count_threads(self._peer.job, self._peer.sandbox.backend)

    def _check_alone(self) -> None:
        """Refuse code that computes between its answers, where time is measured."""
        if not self._alone or self._threads is None:
            return
        # A process that is ending has some time to.
        for pause in _PATIENCE:
            time.sleep(pause)
            now = self._count()
            if now is None or now <= self._threads:
                return
        raise SubmissionRejected(_RESTLESS, told=_RESTLESS)

    def _raised(self, payload: bytes) -> PeerFault:
        try:
            said = decode(payload, _ERRORS)
        except CodecError:
            said = None
        if (
            type(said) is not list
            or len(said) != 5
            or not all(type(word) is str for word in said[:4])
        ):
            return PeerFault("it raised something that cannot be shown")
        kind, text, trace, path, line = said
        shown = excerpt(trace, 3000, tail=True)
        return PeerFault(
            f"it raised {excerpt(kind, 100)}: {excerpt(text, 1000)}\n{shown}",
            raised_where(kind, path, line, self._lines),
        )


_PROC = Path("/proc")
_MOST = 100_000


def count_threads(job: SandboxProcess, backend: str) -> int | None:
    """Return how many threads the processes of a job have; ``None`` where that is unknown.

    Read from ``/proc``: control groups of version 1 report them up to a second late. With gVisor,
    the host only sees the threads of gVisor's kernel.
    """
    first = None if backend == "gvisor" else _first(job)
    if first is None:
        return None
    count, open_ends = 0, [first]
    while open_ends and count < _MOST:
        # What ends meanwhile does not count.
        with suppress(OSError):
            for thread in (_PROC / str(open_ends.pop()) / "task").iterdir():
                count += 1
                with suppress(OSError):
                    open_ends += map(int, (thread / "children").read_text().split())
    return count


def _first(job: SandboxProcess) -> int | None:
    if isinstance(job, EnteredJob):
        with suppress(OSError):
            for line in (_PROC / "self" / "fdinfo" / str(job._first)).read_text().splitlines():
                if line.startswith("Pid:") and int(line[4:]) > 0:
                    return int(line[4:])
    elif isinstance(job, LocalJob):
        return job.child.pid
    return None
