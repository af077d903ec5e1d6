"""Memory shared with an untrusted process: a sealed descriptor, and a short spin on a word in it.

Waking a process on another processor takes longer than many environments take to step. The word is
only a hint: the bell is still read, and the answer checked.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from typing import Any

from ludus.untrusted.channel.protocol import SHARED_BYTES

__all__ = ["Wait", "sealed_memory", "spinner"]


_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def sealed_memory() -> int:
    """Return a sealed descriptor of memory: shrinking it would kill its readers."""
    descriptor = os.memfd_create("ludus-sandbox", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, SHARED_BYTES)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor


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
