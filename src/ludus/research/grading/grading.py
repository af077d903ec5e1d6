"""From a submission to an outcome."""

from __future__ import annotations

import importlib.util
import math
import secrets
import time
from contextlib import ExitStack
from typing import Any, NoReturn

from ludus.codec import Limits, decode, encode
from ludus.errors import CodecError, Error, GradingFailed, SubmissionRejected
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.boxes import Boxes
from ludus.research.grading.code_box import CodeBox
from ludus.research.grading.contract import CODE_KINDS, Gradable, Split
from ludus.research.grading.limits import GradingLimits
from ludus.research.grading.outcome import (
    AgentFault,
    InfrastructureFault,
    Outcome,
    Score,
    Scored,
)
from ludus.research.grading.peer import Peer, PeerFault
from ludus.research.grading.protocol import VALUES, Frame, Kind, pack
from ludus.research.secret import grader_seed
from ludus.untrusted.printable import printable

__all__ = ["grade"]

_SCORES = Limits(total_bytes=2**20, depth=8, items=20_000, string_bytes=2**16)
_QUESTIONS = (Kind.LOAD, Kind.CALL, Kind.RUN)


def grade(
    task: Gradable,
    artefacts: Artefacts,
    split: Split,
    seed: int,
    *,
    draw: int | None = None,
    backend: str | None = None,
    limits: GradingLimits | None = None,
) -> Outcome:
    """Grade a submission in fresh boxes.

    Args:
        task: whose grader decides.
        artefacts: what the agent handed in, see :func:`collect`.
        split: which labels to grade by.
        seed: of the labels.
        draw: what the grader draws from; by default made of the seed and this machine's secret.
        backend: of the boxes; ``None`` takes the first isolating one that works.
        limits: of time and sizes.

    Returns:
        ``Scored`` with a finite score; ``AgentFault`` if the submission is malformed, raises, is
        late or otherwise misbehaves; ``InfrastructureFault`` if anything else fails.

    Raises:
        ValueError: there is no such split.
    """
    if split not in ("validation", "test"):
        raise ValueError(f"split is {split!r}; expected 'validation' or 'test'.")
    try:
        with ExitStack() as stack:
            artefacts.check(task.submission)
            boxes = Boxes(task, artefacts, limits or GradingLimits(), backend, stack)
            drawn = grader_seed(task.id, seed, split) if draw is None else draw
            return _Grading(boxes, stack).run(split, seed, drawn)
    except SubmissionRejected as problem:
        return AgentFault(printable(str(problem), 6000))
    except (Error, OSError, MemoryError) as problem:
        text = printable(str(problem), 12_000, tail=True)
        return InfrastructureFault(f"{type(problem).__name__}: {text}")


class _Grading:
    """One grading in progress: the host between the grader and the submitted code."""

    def __init__(self, boxes: Boxes, stack: ExitStack) -> None:
        self._boxes, self._stack = boxes, stack
        self._limits = boxes.limits
        self._code: CodeBox | None = None
        self._left = boxes.limits.grader
        self._grader: Peer

    def run(self, split: Split, seed: int, draw: int) -> Scored:
        """Return the score."""
        # First: both programs start at the same time.
        if any(item.kind in CODE_KINDS for item in self._boxes.task.submission):
            self._code = CodeBox(self._boxes.open_code, self._limits)
            self._stack.callback(self._code.close)
        self._grader, told = self._boxes.open_grader(split, seed, draw)
        self._stack.callback(self._grader.close)
        # No submitted code ever sees this number.
        nonce = secrets.randbits(64)
        self._say(pack(nonce, Kind.START, encode(told, VALUES, name="recipe")))
        while (frame := self._hear()).kind not in (Kind.SCORE, Kind.REJECTED, Kind.FAILED):
            self._say(pack(frame.token, Kind.ANSWER, *self._answer(frame)))
        if frame.token != nonce:
            raise GradingFailed("The grading box sent a result that is not its own.")
        score = _score(frame)
        code = self._code
        return Scored(score) if code is None else Scored(score, code.seconds, code.calls)

    def _answer(self, frame: Frame) -> tuple[bytes, float]:
        code = self._code
        if code is None or frame.kind not in (*_QUESTIONS, Kind.RESTART):
            raise GradingFailed("The grading box asked for something that there is not.")
        if frame.kind == Kind.RESTART:
            code.restart()
            return b"", 0.0
        if frame.kind == Kind.RUN:
            _require_onnxruntime()
        if not math.isfinite(frame.number):
            raise GradingFailed(f"The grader gave a call {frame.number} seconds.")
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
        raise GradingFailed(
            f"The grading box failed: {problem}.\n{self._grader.printed()}"
        ) from None


def _score(frame: Frame) -> Score:
    try:
        told = decode(frame.payload, _SCORES)
    except CodecError as problem:
        raise GradingFailed(f"The grading box sent no result: {problem}") from None
    if frame.kind == Kind.FAILED:
        raise GradingFailed(f"The grader raised:\n{told}")
    if frame.kind == Kind.REJECTED:
        raise SubmissionRejected(str(told))
    if type(told) is not list or len(told) != 2 or type(told[0]) is not float:
        raise GradingFailed("The grading box sent a result of another form.")
    value, details = told
    if not math.isfinite(value):
        raise SubmissionRejected(f"The submission's score is {value}, which is no number.")
    return Score(value, _plain(details))


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
    raise GradingFailed(f"The score's details hold a {type(value).__name__}; expected plain JSON.")


def _require_onnxruntime() -> None:
    if importlib.util.find_spec("onnxruntime") is None:
        raise GradingFailed("ONNX models need onnxruntime: pip install onnxruntime.")
