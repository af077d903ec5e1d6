"""``ludus replay``: execute a recording again."""

from __future__ import annotations

import importlib
import json as jsonlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ludus.cli.console import FAILED, echo, fail, out
from ludus.errors import Error
from ludus.record import replay

__all__ = ["import_modules", "run", "shown_progress"]


def run(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    imports: Annotated[
        list[str] | None,
        typer.Option("--import", help="A module that registers environments; repeatable."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Execute a recording again and compare it bit for bit; name the first difference.

    The environment is built by the code that is registered for its id here.

    Exit code 0 if everything came out the same, 1 if something differs, 2 if it cannot be executed.
    """
    import_modules(imports)
    try:
        with shown_progress(hidden=json) as progress:
            found = replay(path, progress=progress)
    except Error as problem:
        fail(problem)
    if json:
        echo(jsonlib.dumps(asdict(found), default=str))
    elif found.difference is None:
        text = f"{found.rows} rows, {found.episodes} episodes: all the same, bit for bit"
        out.print(f"{text} ({found.seconds:.2f} s)", highlight=False)
    else:
        out.print(f"different at {found.difference}", style="red", markup=False, highlight=False)
    if found.difference is not None:
        raise typer.Exit(FAILED)


def import_modules(names: list[str] | None) -> None:
    """Import what the user names, so that it can register environments; end if that fails."""
    for name in names or ():
        try:
            importlib.import_module(name)
        except ImportError as problem:
            fail(f"The module {name!r} cannot be imported: {problem}")


@contextmanager
def shown_progress(*, hidden: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal while the block runs; what is yielded takes rows done and in all."""
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = hidden or not out.is_terminal
    with Progress(*columns, console=out, transient=True, disable=hidden) as bar:
        task = bar.add_task("replaying", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
