"""Where the commands print, and how they fail."""

from __future__ import annotations

from typing import NoReturn

import typer
from rich.console import Console

__all__ = ["FAILED", "USAGE", "fail", "out"]

FAILED, USAGE = 1, 2
"""Exit codes: something was found wrong; the call itself was wrong."""

out = Console()
_err = Console(stderr=True)


def fail(message: object, code: int = USAGE) -> NoReturn:
    """Print an error and end with an exit code."""
    _err.print("error:", message, style="red", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(code)
