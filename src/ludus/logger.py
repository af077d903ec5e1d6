"""Messages to the user, issued by :mod:`warnings` so that they can be filtered and tested."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from ludus.terminal_text import escaped

__all__ = ["ERROR", "WARN", "deprecation", "error", "min_level", "warn"]

WARN = 30
ERROR = 40

min_level: int = WARN
"""Messages below this level are dropped; assign to change it."""

as_gymnasium: bool = False
"""Whether warnings have exactly Gymnasium's text: always coloured, without additional advice.

It is true while the import alias is installed, because test suites compare the texts.
"""

_YELLOW, _RED, _RESET = "\x1b[33m", "\x1b[31m", "\x1b[0m"


def _colored(text: str, color: str) -> str:
    # No escape codes in log files.
    shown = as_gymnasium or (sys.stderr is not None and sys.stderr.isatty())
    return f"{color}{text}{_RESET}" if shown else text


def _formatted(message: str, args: tuple[object, ...]) -> str:
    # Messages may contain untrusted names of plugins, files and environments.
    return escaped(message % args if args else message)


def warn(
    msg: str, *args: object, category: type[Warning] | None = None, stacklevel: int = 1
) -> None:
    """Issue a warning; ``args`` are inserted by ``%`` formatting.

    The warning is attributed to the caller (``stacklevel`` 1) or further out, but never to Ludus
    itself: Python shows deprecation warnings only for the user's code.
    """
    if min_level <= WARN:
        text = _colored(f"WARN: {_formatted(msg, args)}", _YELLOW)
        warnings.warn(text, category=category, stacklevel=_outside(stacklevel + 1))


def _outside(level: int) -> int:
    """Return the first stack level from ``level`` outwards whose code is not part of Ludus."""
    frame: FrameType | None = sys._getframe(1)
    depth = 0
    while frame is not None:
        depth += 1
        if depth >= level and not _is_ours(frame):
            return depth
        frame = frame.f_back
    return level


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "ludus"


def deprecation(msg: str, *args: object) -> None:
    """Issue a deprecation warning."""
    warn(msg, *args, category=DeprecationWarning, stacklevel=2)


def error(msg: str, *args: object) -> None:
    """Report an error without raising an exception."""
    if min_level <= ERROR:
        text = _colored(f"ERROR: {_formatted(msg, args)}", _RED)
        warnings.warn(text, stacklevel=_outside(2))
