"""Checks the answers of submitted code before a grader computes with them.

Size, type and shape are checked before any conversion, so that an answer never determines how much
memory or time a grader spends on it.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ludus.codec import decode
from ludus.errors import CodecError, GradingFailed, SubmissionRejected
from ludus.research.grading.protocol import VALUES

__all__ = ["Returns", "admitted_numbers", "checked_answers", "described"]

Returns: TypeAlias = type | Callable[[Any], Any] | None
"""What an answer must be: ``int``, ``float``, ``bool``, ``str``, any other type, or a function
that returns the value to use, and raises for one it refuses."""


def admitted_numbers(answer: Any, shape: tuple[int, ...], kinds: str) -> NDArray[Any] | None:
    """Return an array, or nested lists, of numbers of this shape as an array; else ``None``.

    Nothing is built before the whole answer has been checked.

    Args:
        answer: what came over the channel.
        shape: of the array.
        kinds: of its dtype: ``"iu"`` for whole numbers, ``"iuf"`` for others too. Bools are
            refused.
    """
    if type(answer) is np.ndarray:
        return answer if answer.shape == shape and answer.dtype.kind in kinds else None
    layer = [answer]
    for length in shape:
        if not all(type(node) in (list, tuple) and len(node) == length for node in layer):
            return None
        layer = [item for node in layer for item in node]
    if not all(_is_number(item, kinds) for item in layer):
        return None
    try:
        return np.array(layer, np.float64 if "f" in kinds else np.int64).reshape(shape)
    except OverflowError:
        return None


def described(answer: Any) -> str:
    """Return a short description of an answer, without reading its contents."""
    if type(answer) is np.ndarray:
        return f"an array of {answer.dtype} and shape {answer.shape}"
    if type(answer) in (list, tuple, dict, str, bytes):
        return f"a {type(answer).__name__} of length {len(answer):,}"
    return f"a {type(answer).__name__}"


def checked_answers(
    what: str, payload: bytes, count: int, returns: Returns, max_bytes: int | None = None
) -> list[Any]:
    """Return the answers to a batch of calls.

    Args:
        what: what was called, for messages.
        payload: encoded list of ``count`` values, from submitted code.
        count: how many there must be.
        returns: what each must be.
        max_bytes: of the payload; a larger one is not decoded.

    Raises:
        SubmissionRejected: they are not, or a number is not finite.
    """
    wrong = f"{what} answered with something else than the task asks for."
    if max_bytes is not None and len(payload) > max_bytes:
        raise SubmissionRejected(
            f"{what} answered with {len(payload):,} bytes; at most {max_bytes:,} are taken.",
            told=wrong,
        )
    try:
        answers = decode(payload, VALUES)
    except CodecError as problem:
        raise SubmissionRejected(
            f"{what} answered with no plain data: {problem}", told=wrong
        ) from None
    if type(answers) is not list or len(answers) != count:
        text = f"{what} did not answer {count:,} calls with as many values."
        raise SubmissionRejected(text, told=text)
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
                f"{problem}.",
                told=wrong,
            ) from None
    return made


def _check_finite(what: str, answers: list[Any]) -> None:
    not_finite = f"{what} answered with numbers that are not finite."
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
                raise SubmissionRejected(
                    f"{what} answered with {node}; expected finite numbers.", told=not_finite
                )
        elif kind not in (int, str, bool, bytes, type(None)) and (
            node.dtype.kind in "fc" and not np.isfinite(node).all()
        ):
            raise SubmissionRejected(not_finite, told=not_finite)


def _is_number(item: Any, kinds: str) -> bool:
    if type(item) is int:
        return True
    if isinstance(item, np.generic):
        return item.dtype.kind in kinds
    return type(item) is float and "f" in kinds


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
