"""Console output and exit codes of the commands.

Much of what commands print comes from untrusted folders, files and packages. Everything printed
through this module is shown as plain text: control characters are escaped, markup is not parsed.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn, TextIO

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table

from ludus.terminal_text import escaped, printable

__all__ = [
    "FAILED",
    "INFRASTRUCTURE",
    "NOTHING",
    "USAGE",
    "add_ids",
    "echo",
    "err",
    "escape_tracebacks",
    "fail",
    "failing_on",
    "make_table",
    "out",
    "page",
    "print_line",
    "progress_bar",
]

FAILED, USAGE, INFRASTRUCTURE = 1, 2, 3
"""Exit codes: a check failed; wrong usage; the infrastructure failed."""
NOTHING = "–"
"""Shown in a table where there is no value."""


class _Console(Console):
    """A console that prints text literally; only the commands themselves set colours."""

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


def make_table(
    title: str,
    *columns: str,
    right: Collection[str] = (),
    whole: Collection[str] = (),
    simple: bool = False,
) -> Table:
    """Return an empty table.

    Args:
        title: Printed above it.
        *columns: Their headings.
        right: Columns that are aligned to the right.
        whole: Columns whose cells are not wrapped.
        simple: Draw a line below the heading instead of a frame.
    """
    style: dict[str, Any] = {"box": SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0)}
    table = Table(title=title, title_justify="left", **(style if simple else {}))
    for column in columns:
        side: Any = "right" if column in right else "left"
        table.add_column(column, justify=side, no_wrap=column in whole, overflow="fold")
    return table


def add_ids(table: Table, name: str, ids: Iterable[str]) -> None:
    """Add a column of ids that are not wrapped unless they would fill half of the width."""
    whole = max(map(len, ids), default=0) <= out.width // 2
    table.add_column(name, no_wrap=whole, overflow="fold")


def echo(text: object, *, to_err: bool = False) -> None:
    """Print text as it is, without wrapping."""
    typer.echo(escaped(str(text)), err=to_err)


def print_line(text: object, most: int = 2000) -> None:
    """Print one line of at most ``most`` characters; line ends in it are escaped."""
    out.print(printable(text, most), highlight=False, soft_wrap=True)


def fail(message: object, code: int = USAGE) -> NoReturn:
    """Print an error and exit with a code."""
    err.print("error:", message, style="red", highlight=False, soft_wrap=True)
    raise typer.Exit(code)


@contextmanager
def failing_on(
    *errors: type[Exception], code: int = USAGE, most: int | None = None
) -> Iterator[None]:
    """Turn exceptions of these classes into an error message and an exit code.

    Args:
        *errors: The classes.
        code: The exit code.
        most: Print the message as one line of at most this many characters; ``None`` prints it as
            it is.
    """
    try:
        yield
    except errors as problem:
        fail(problem if most is None else printable(problem, most), code)


@contextmanager
def progress_bar(text: str, *, hidden: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal; yield a function that takes the done and total counts."""
    columns = (TextColumn(text), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = hidden or not out.is_terminal
    with Progress(*columns, console=out, transient=True, disable=hidden) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def escape_tracebacks() -> None:
    """Escape control characters in tracebacks of uncaught exceptions."""

    def show(
        kind: type[BaseException], problem: BaseException, trace: TracebackType | None
    ) -> None:
        sys.stderr.write(escaped("".join(traceback.format_exception(kind, problem, trace))))

    sys.excepthook = show
