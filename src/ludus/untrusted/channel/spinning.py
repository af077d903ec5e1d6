"""Looking for an answer for a moment before going to sleep for it.

Waking a sleeper on another processor takes longer than many environments take to step. What is
looked at is a hint only: whoever believes it still reads the bell, and the answer is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Wait", "spinner"]

Wait = Callable[[int], None]

_MOST, _LEAST = 3000, 200
_REST = 250


def spinner(word: Any) -> Wait:
    """Return what waits, shortly, until ``word[0]`` is another number than the given one.

    While waits are too long for this, most are left to the bell.
    """
    patience, rest = _MOST, 0

    def wait(before: int) -> None:
        nonlocal patience, rest
        if rest:
            rest -= 1
            return
        for _ in range(patience):
            if word[0] != before:
                patience = _MOST
                return
        patience //= 2
        if patience < _LEAST:
            patience, rest = _MOST, _REST

    return wait
