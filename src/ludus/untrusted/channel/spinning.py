"""Spins briefly for an answer before sleeping.

Waking a process on another processor takes longer than many environments take to step. The word is
only a hint: the bell is still read, and the answer checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Wait", "spinner"]

Wait = Callable[[int], None]

_MOST, _LEAST = 3000, 200
_REST = 250


def spinner(word: Any) -> Wait:
    """Return a function that spins until ``word[0]`` differs from the given number.

    If spinning was in vain, most of the next waits are left to the bell.
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
