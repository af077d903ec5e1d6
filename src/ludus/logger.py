"""Messages to the user, issued through :mod:`warnings`."""

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

True where Ludus is imported as Gymnasium, because test suites compare the texts of warnings.
"""

_YELLOW, _RED, _RESET = "\x1b[33m", "\x1b[31m", "\x1b[0m"


def _colored(text: str, color: str) -> str:
    # Escape codes are for terminals, not for log files.
    shown = as_gymnasium or (sys.stderr is not None and sys.stderr.isatty())
    return f"{color}{text}{_RESET}" if shown else text


def _formatted(message: str, args: tuple[object, ...]) -> str:
    # A message may contain names from untrusted sources: plugins, files, environments.
    return escaped(message % args if args else message)


def warn(
    msg: str, *args: object, category: type[Warning] | None = None, stacklevel: int = 1
) -> None:
    """Issue a warning; ``args`` are inserted by ``%`` formatting.

    The warning is attributed to the caller (``stacklevel`` 1) or, further out, to the first frame
    outside of Ludus: the line that the user can change, where Python also shows deprecations.
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
    """Warn that something will be removed."""
    warn(msg, *args, category=DeprecationWarning, stacklevel=2)


def error(msg: str, *args: object) -> None:
    """Report an error as a warning, without raising."""
    if min_level <= ERROR:
        text = _colored(f"ERROR: {_formatted(msg, args)}", _RED)
        warnings.warn(text, stacklevel=_outside(2))
