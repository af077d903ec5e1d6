"""Where the commands print, and how they fail.

Much of what commands print comes from folders, files and packages of others. So whatever goes
through here is shown as text: it cannot drive the terminal, and nothing in it is taken for markup.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from types import TracebackType
from typing import Any, NoReturn, TextIO

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from ludus.terminal_text import escaped

__all__ = ["FAILED", "USAGE", "add_ids", "echo", "err", "escape_tracebacks", "fail", "out", "page"]

FAILED, USAGE = 1, 2
"""Exit codes: something was found wrong; the call itself was wrong."""


class _Console(Console):
    """A console on which texts are only texts; colours and movements are the commands' own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)
        # rich would keep the COLUMNS of the moment when this module was imported.
        self._width = options.get("width")

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(escaped(segment.text), segment.style)


out = _Console()
err = _Console(stderr=True)


def page(file: TextIO, *, width: int) -> Console:
    """Return a console that writes to a file."""
    return _Console(file=file, width=width)


def add_ids(table: Table, name: str, ids: Iterable[str]) -> None:
    """Add a column of ids to a table, which are not cut off: other columns give way first."""
    whole = max(map(len, ids), default=0) <= out.width // 2
    table.add_column(name, no_wrap=whole, overflow="fold")


def echo(text: object, *, to_err: bool = False) -> None:
    """Print a line as it is, unwrapped."""
    typer.echo(escaped(str(text)), err=to_err)


def fail(message: object, code: int = USAGE) -> NoReturn:
    """Print an error and end with an exit code."""
    err.print("error:", message, style="red", highlight=False, soft_wrap=True)
    raise typer.Exit(code)


def escape_tracebacks() -> None:
    """Show exceptions that nobody catches as texts, too."""

    def show(
        kind: type[BaseException], problem: BaseException, trace: TracebackType | None
    ) -> None:
        sys.stderr.write(escaped("".join(traceback.format_exception(kind, problem, trace))))

    sys.excepthook = show
