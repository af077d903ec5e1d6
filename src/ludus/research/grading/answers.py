"""What submitted code answered, checked before a grader computes with it."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ludus.codec import decode
from ludus.errors import CodecError, GradingFailed, SubmissionRejected
from ludus.research.grading.protocol import VALUES

__all__ = ["Returns", "checked_answers"]

Returns: TypeAlias = type | Callable[[Any], Any] | None
"""What an answer must be: ``int``, ``float``, ``bool``, ``str``, any other type, or a function
that returns the value to use, and raises for one it refuses."""


def checked_answers(what: str, payload: bytes, count: int, returns: Returns) -> list[Any]:
    """Return the answers to a batch of calls.

    Args:
        what: was called, for messages.
        payload: a list of ``count`` values, by the word of submitted code.
        count: how many there must be.
        returns: what each must be.

    Raises:
        SubmissionRejected: they are not; a number that is not finite never is.
    """
    try:
        answers = decode(payload, VALUES)
    except CodecError as problem:
        raise SubmissionRejected(f"{what} answered with no plain data: {problem}") from None
    if type(answers) is not list or len(answers) != count:
        raise SubmissionRejected(f"{what} did not answer {count:,} calls with as many values.")
    _check_finite(what, answers)
    if returns is None:
        return answers
    check = _CHECKS.get(returns) if isinstance(returns, type) else returns
    if check is None:
        check = _instance_check(returns)
    made = []
    for place, answer in enumerate(answers):
        try:
            made.append(check(answer))
        except (GradingFailed, SubmissionRejected):
            raise
        except Exception as problem:  # whatever a hostile value makes the check raise
            raise SubmissionRejected(
                f"{what} answered {reprlib.repr(answer)} to call {place + 1} of {count:,}: "
                f"{problem}."
            ) from None
    return made


def _check_finite(what: str, answers: list[Any]) -> None:
    stack: list[Any] = [answers]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is list or kind is tuple:
            stack.extend(node)
        elif kind is dict:
            stack.extend(node.values())
        elif kind is float:
            if not math.isfinite(node):
                raise SubmissionRejected(f"{what} answered with {node}; expected finite numbers.")
        elif kind not in (int, str, bool, bytes, type(None)) and (
            node.dtype.kind in "fc" and not np.isfinite(node).all()
        ):
            raise SubmissionRejected(f"{what} answered with numbers that are not finite.")


def _int(value: Any) -> int:
    if type(value) is int or isinstance(value, np.integer):
        return int(value)
    raise TypeError("expected an int")


def _float(value: Any) -> float:
    if type(value) in (int, float) or isinstance(value, np.integer | np.floating):
        return float(value)
    raise TypeError("expected a number")


def _bool(value: Any) -> bool:
    if type(value) is bool or isinstance(value, np.bool_):
        return bool(value)
    raise TypeError("expected a bool")


def _instance_check(kind: Any) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
        return value

    return check


_CHECKS: dict[type, Callable[[Any], Any]] = {int: _int, float: _float, bool: _bool}
