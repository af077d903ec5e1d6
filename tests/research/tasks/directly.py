"""Graders without boxes: quick, for what only the grader decides.

``grader_of(task_id)`` imports a task's ``grade.py``; ``graded(grader, **functions)`` has it grade
functions of the test as if they were submitted. Arguments and answers take the way through the
codec, and are checked as in a real grading.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from ludus.codec import decode, encode
from ludus.research import load_task
from ludus.research.grading import Score
from ludus.research.grading.answers import checked_answers
from ludus.research.grading.protocol import VALUES


def grader_of(task_id: str) -> Any:
    """Import a task's grader, and what lies beside it, afresh."""
    folder = load_task(task_id).grader
    beside = [path.stem for path in folder.glob("*.py")]
    spec = importlib.util.spec_from_file_location(f"grade_{task_id}", folder / "grade.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
        for name in beside:
            sys.modules.pop(name, None)
    return module


def graded(grader: Any, *, seed: int = 0, split: str = "test", **functions: Any) -> Score:
    """Return the score of functions that stand for submitted code."""
    return grader.grade(_Submission(functions), Path(), seed, split)


class _Submission:
    def __init__(self, functions: dict[str, Any]) -> None:
        self._functions = functions

    def code(self, name: str, *, alone: bool = False) -> _Code:
        return _Code(name, self._functions)


class _Code:
    seconds = 0.0

    def __init__(self, name: str, functions: dict[str, Any]) -> None:
        self._name, self._functions = name, functions

    def call_many(
        self, function: str, calls: Any, *, timeout: float, returns: Any, max_bytes: int
    ) -> list[Any]:
        asked = decode(encode([list(args) for args in calls], VALUES), VALUES)
        answers = [self._functions[function](*args) for args in asked]
        payload = encode(answers, VALUES)
        what = f"{self._name}: {function}"
        return checked_answers(what, payload, len(asked), returns, max_bytes)
