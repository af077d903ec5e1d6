"""One grading in progress: the host relays between the grader and the submitted code."""

from __future__ import annotations

import importlib.util
import math
import secrets
import time
from contextlib import ExitStack
from functools import partial
from typing import Any, NoReturn

from ludus.codec import DecodeLimits, decode, encode
from ludus.errors import CodecError, GradingFailed, SubmissionRejected
from ludus.research.grading.code_sandbox import CodeSandbox
from ludus.research.grading.peer import Peer, PeerFault
from ludus.research.grading.protocol import VALUES, Frame, Kind, pack
from ludus.research.grading.sandboxes import Sandboxes
from ludus.research.task.contract import CODE_KINDS, Split
from ludus.research.task.outcome import Outcome

__all__ = ["GraderFailed", "Session"]

_SCORES = DecodeLimits(total_bytes=2**20, depth=8, items=20_000, string_bytes=2**16)
_QUESTIONS = (Kind.LOAD, Kind.CALL, Kind.RUN)


class GraderFailed(Exception):
    """The grading program failed after it was given the submission, which may be the cause."""


class Session:
    """Runs the grader once.

    A failure before the grader has the submission, or of a sandbox that was ended from outside,
    raises ``GradingFailed``: an infrastructure fault. A later one raises :class:`GraderFailed`.
    """

    def __init__(self, sandboxes: Sandboxes, stack: ExitStack) -> None:
        self._sandboxes, self._stack = sandboxes, stack
        self._limits = sandboxes.limits
        self._code: CodeSandbox | None = None
        self._left = sandboxes.limits.grader
        self._grader: Peer

    @property
    def is_code_asked(self) -> bool:
        """Whether submitted code may have seen hidden data."""
        return self._code is not None and self._code.is_asked

    def run(self, split: Split, seed: int, draw: int, *, is_probe: bool = False) -> Outcome:
        """Return the score; a probe only starts both programs and imports the grader.

        Raises:
            SubmissionRejected: The submission is malformed, or its code misbehaves.
            GraderFailed: The grader failed; the submission may have caused it.
            Error: Anything else failed, for no fault of the submission.
        """
        # First: both programs start at the same time.
        if any(item.kind in CODE_KINDS for item in self._sandboxes.task.submission):
            opened = partial(self._sandboxes.open_code, forget=split == "test")
            self._code = CodeSandbox(opened, self._limits, self._sandboxes.artefacts.lines)
            self._stack.callback(self._code.close)
        self._grader, told = self._sandboxes.open_grader(split, seed, draw)
        self._stack.callback(self._grader.close)
        # No submitted code ever sees this number.
        nonce = secrets.randbits(64)
        recipe = {**told, "probe": is_probe}
        self._say(pack(nonce, Kind.START, encode(recipe, VALUES, name="recipe")))
        while (frame := self._hear()).kind not in (Kind.SCORE, Kind.REJECTED, Kind.FAILED):
            self._say(pack(frame.token, Kind.ANSWER, *self._answer(frame)))
        if frame.token != nonce:
            raise GraderFailed("The grading sandbox sent a result that is not its own.")
        value, details = _score(frame)
        code = self._code
        spent = (0.0, 0) if code is None else (code.seconds, code.calls)
        return Outcome("scored", value, "", details, "", *spent)

    def _answer(self, frame: Frame) -> tuple[bytes, float]:
        code = self._code
        if code is None or frame.kind not in (*_QUESTIONS, Kind.RESTART):
            raise GraderFailed("The grading sandbox asked for something that there is not.")
        if frame.kind == Kind.RESTART:
            code.restart()
            return b"", 0.0
        if frame.kind == Kind.RUN:
            _require_onnxruntime()
        if not math.isfinite(frame.number):
            raise GraderFailed(f"The grader gave a call {frame.number} seconds.")
        return code.ask(Kind(frame.kind), frame.payload, frame.number)

    def _say(self, data: bytes) -> None:
        try:
            self._grader.send(data, time.monotonic() + self._left)
        except PeerFault as problem:
            self._fail(problem)

    def _hear(self) -> Frame:
        began = time.monotonic()
        try:
            frame = self._grader.receive(self._limits.message_bytes, began + self._left)
        except PeerFault as problem:
            self._fail(problem)
        self._left -= time.monotonic() - began
        return frame

    def _fail(self, problem: PeerFault) -> NoReturn:
        if self._grader.was_cut_off():
            closed = self._grader.sandbox._closed or "it was killed"
            raise GradingFailed(f"The grading sandbox was ended from outside: {closed}.") from None
        raise GraderFailed(
            f"The grading sandbox failed: {problem}.\n{self._grader.printed()}"
        ) from None


def _score(frame: Frame) -> tuple[float, Any]:
    try:
        told = decode(frame.payload, _SCORES)
    except CodecError as problem:
        raise GraderFailed(f"The grading sandbox sent no result: {problem}") from None
    if frame.kind == Kind.FAILED:
        raise GraderFailed(f"The grader raised:\n{told}")
    if type(told) is not list or len(told) != 2:
        raise GraderFailed("The grading sandbox sent a result of another form.")
    if frame.kind == Kind.REJECTED:
        raise SubmissionRejected(str(told[0]), told=None if told[1] is None else str(told[1]))
    value, details = told
    if type(value) is not float:
        raise GraderFailed("The grading sandbox sent a score of another form.")
    if not math.isfinite(value):
        text = "The submission's score is no finite number."
        raise SubmissionRejected(f"{text} It is {value}.", told=text)
    return value, _plain(details)


def _plain(value: Any) -> Any:
    """Return details as JSON can hold them; what is not finite becomes ``None``."""
    if type(value) is dict:
        return {str(key): _plain(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return [_plain(item) for item in value]
    if type(value) is float:
        return value if math.isfinite(value) else None
    if value is None or type(value) in (int, bool, str):
        return value
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    raise GraderFailed(f"The score's details hold a {type(value).__name__}; expected plain JSON.")


def _require_onnxruntime() -> None:
    if importlib.util.find_spec("onnxruntime") is None:
        raise GradingFailed("ONNX models need onnxruntime: pip install onnxruntime.")
