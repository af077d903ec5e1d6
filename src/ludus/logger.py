"""Messages to the user, sent through :mod:`warnings` so that filters and tests can act on them."""

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
"""Whether warnings read exactly as Gymnasium's: coloured everywhere, and without advice of our own.

True where Ludus is served under Gymnasium's name: test-suites compare the texts of warnings.
"""

_YELLOW, _RED, _RESET = "\x1b[33m", "\x1b[31m", "\x1b[0m"


def _colored(text: str, color: str) -> str:
    # Escape codes belong on a terminal; in a log file or a CI page they are noise.
    shown = as_gymnasium or (sys.stderr is not None and sys.stderr.isatty())
    return f"{color}{text}{_RESET}" if shown else text


def _formatted(message: str, args: tuple[object, ...]) -> str:
    # A message may name what others have named: plugins, files, environments.
    return escaped(message % args if args else message)


def warn(
    msg: str, *args: object, category: type[Warning] | None = None, stacklevel: int = 1
) -> None:
    """Warn; ``args`` fill ``msg`` by ``%`` formatting.

    The warning points at the caller (``stacklevel`` 1) or further out, but never into Ludus: what
    the user can change is the line that called it, and Python shows deprecations only there.
    """
    if min_level <= WARN:
        text = _colored(f"WARN: {_formatted(msg, args)}", _YELLOW)
        warnings.warn(text, category=category, stacklevel=_outside(stacklevel + 1))


def _outside(level: int) -> int:
    """Return the first level from ``level`` outwards whose code is not part of Ludus."""
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
    """Warn that something will go away."""
    warn(msg, *args, category=DeprecationWarning, stacklevel=2)


def error(msg: str, *args: object) -> None:
    """Report something that went wrong without stopping the program."""
    if min_level <= ERROR:
        text = _colored(f"ERROR: {_formatted(msg, args)}", _RED)
        warnings.warn(text, stacklevel=_outside(2))
