"""Text and JSON files: UTF-8 without NUL; no NaN, no key twice, bounded in depth."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any, NoReturn

from ludus.errors import SubmissionRejected

__all__ = ["read_json", "read_text"]


def read_text(name: str, data: bytes) -> str:
    """Return a file as text.

    Raises:
        SubmissionRejected: it is not UTF-8, or has NUL characters in it.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise SubmissionRejected(
            f"{name} is no UTF-8 text: byte {problem.start} is wrong. Write it as UTF-8."
        ) from None
    if "\0" in text:
        raise SubmissionRejected(f"{name} has a NUL character at {text.index(chr(0))}.")
    return text


_DEPTH = 64
_DIGITS = 400


def read_json(name: str, data: bytes, *, depth: int = _DEPTH) -> Any:
    """Return the value in a JSON file.

    Raises:
        SubmissionRejected: it is not JSON, holds a number that is not finite or has hundreds of
            digits, a key twice in an object, or is nested too deep.
    """
    text = read_text(name, data)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_short,
        )
    except RecursionError:
        raise SubmissionRejected(
            f"{name} is nested too deep; {depth} levels are allowed."
        ) from None
    except ValueError as problem:
        raise SubmissionRejected(f"{name} is no valid JSON: {problem}.") from None
    _check_depth(name, value, depth)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice!r:.60} occurs twice in an object")
    return made


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"it holds {word}; numbers must be finite")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits:.40} is beyond any float")
    return number


def _short(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"an integer has {len(digits)} digits; {_DIGITS} are allowed")
    return int(digits)


def _check_depth(name: str, value: Any, depth: int) -> None:
    layer = [value]
    for _ in range(depth + 1):
        layer = [
            item
            for node in layer
            if isinstance(node, dict | list)
            for item in (node.values() if isinstance(node, dict) else node)
        ]
        if not layer:
            return
    raise SubmissionRejected(f"{name} is nested too deep; {depth} levels are allowed.")
