"""``ludus as-gymnasium``: run a program with Ludus in place of Gymnasium."""

from __future__ import annotations

import typer

from ludus.cli.console import fail
from ludus.interop.gymnasium.launch import run as launch

__all__ = ["run"]


def run(context: typer.Context) -> None:
    """Run a command with Ludus in place of Gymnasium, child processes included.

    Example: [bold]ludus as-gymnasium -- python train.py --steps 1000[/bold]

    The exit code is that of the command.
    """
    if not context.args:
        fail("No command given. Example: ludus as-gymnasium -- python train.py")
    try:
        code = launch(context.args)
    except OSError as problem:
        fail(f"Cannot run {context.args[0]!r}: {problem.strerror}", 127)
    raise typer.Exit(code)
