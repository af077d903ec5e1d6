"""The grading sandbox's program: runs a task's grader once and reports its result."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Any

from ludus.codec import decode, encode
from ludus.errors import GradingFailed, SubmissionRejected
from ludus.research.grading.protocol import VALUES, Kind, Link, borrow_kernels, claim_channel
from ludus.research.grading.submission import Submission
from ludus.research.task.outcome import Score

__all__ = ["main"]

_TEXT, _TRACE = 4000, 8000


def main() -> None:
    """Grade what the host asks for."""
    link = claim_channel()
    borrow_kernels()
    frame = link.receive()
    if frame is None:
        return
    try:
        score = _graded(decode(frame.payload, VALUES), link)
        payload = encode([float(score.value), dict(score.details)], VALUES, name="[value, details]")
    except SubmissionRejected as problem:
        told = None if problem.told is None else _plain(problem.told[:_TEXT])
        link.send(frame.token, Kind.REJECTED, encode([_plain(str(problem)[:_TEXT]), told]))
    except BaseException as problem:  # any error is reported to the host
        trace = "".join(traceback.format_exception(problem))[-_TRACE:]
        link.send(frame.token, Kind.FAILED, encode(_plain(trace)))
    else:
        link.send(frame.token, Kind.SCORE, payload)


def _graded(recipe: dict[str, Any], link: Link) -> Score:
    submission = Submission(Path(recipe["files"]), recipe["kinds"], link)
    grade = _grader(Path(recipe["grader"]))
    if recipe["probe"]:
        return Score(0.0, {"labels": len(list(Path(recipe["labels"]).iterdir()))})
    score = grade(submission, Path(recipe["labels"]), recipe["seed"], recipe["split"])
    if isinstance(score, Score):
        return score
    if isinstance(score, int | float) and not isinstance(score, bool):
        return Score(score)
    raise GradingFailed(f"The grader returned {score!r:.200}; expected a Score.")


def _grader(folder: Path) -> Any:
    """Import ``grade.py``, with its folder on the path."""
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("grade", folder / "grade.py")
    if spec is None or spec.loader is None:
        raise GradingFailed("The grader's folder has no grade.py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules["grade"] = module
    spec.loader.exec_module(module)
    if hasattr(module, "Grader"):
        return module.Grader().grade
    if hasattr(module, "grade"):
        return module.grade
    raise GradingFailed("grade.py defines neither a class Grader nor a function grade.")


def _plain(text: str) -> str:
    # Lone surrogates have no encoding.
    return text.encode("utf-8", "replace").decode()
