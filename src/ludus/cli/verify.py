"""``ludus verify``: check everything that can be checked about a run."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from ludus.cli.console import FAILED, USAGE, echo, fail, out
from ludus.cli.replay import import_modules, shown_progress
from ludus.errors import Error
from ludus.record import Verification, load_public_key, verify
from ludus.record.format.limits import MAX_HASHED_BYTES, MAX_REPLAY_SECONDS

__all__ = ["run"]

_COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


def run(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    key: Annotated[
        list[str] | None,
        typer.Option(help="A public key that is trusted: a .pub file or its digits; repeatable."),
    ] = None,
    require_signature: Annotated[
        bool, typer.Option("--require-signature", help="Fail a run that is not signed.")
    ] = False,
    no_replay: Annotated[
        bool, typer.Option("--no-replay", help="Do not execute the recording again.")
    ] = False,
    imports: Annotated[
        list[str] | None,
        typer.Option("--import", help="A module that registers environments; repeatable."),
    ] = None,
    max_file_bytes: Annotated[
        int,
        typer.Option(min=0, help="Most bytes of a run's free files that are read and compared."),
    ] = MAX_HASHED_BYTES,
    max_seconds: Annotated[
        float, typer.Option(min=0, help="Most that executing the recording again may take.")
    ] = MAX_REPLAY_SECONDS,
    task: Annotated[
        str | None, typer.Option(help="Where the task of a research episode lies.")
    ] = None,
    unlimited: Annotated[
        bool,
        typer.Option(
            "--unlimited", help="Grade in sandboxes without limits of memory and processors."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check a run's chain, blocks, files, signature, spec, source, replay and results.

    Of the record of a research episode, what was handed in is graded again.

    Exit code 0 if all of it passed, 1 if something failed, 2 if something could not be checked.
    """
    from ludus.research.running.verification import is_episode, verify_episode

    import_modules(imports)
    try:
        keys = None if key is None else [load_public_key(item) for item in key]
        with shown_progress(hidden=json) as progress:
            options: dict[str, Any] = {
                "trusted_keys": keys,
                "require_signature": require_signature,
                "progress": progress,
                "max_file_bytes": max_file_bytes,
            }
            if is_episode(path):
                options |= {"task": task, "unlimited": unlimited}
                found = verify_episode(path, regrade=not no_replay, **options)
            else:
                found = verify(path, replay=not no_replay, max_seconds=max_seconds, **options)
    except Error as problem:
        fail(problem)
    if json:
        echo(jsonlib.dumps(found.to_dict()))
    else:
        _show(found)
    raise typer.Exit({"passed": 0, "failed": FAILED, "unchecked": USAGE}[found.verdict])


def _show(found: Verification) -> None:
    table = Table("check", "status", "detail", title=Text(str(found.path)), title_justify="left")
    for check in found.checks:
        status = Text(check.status, style=_COLOURS[check.status])
        table.add_row(check.name, status, Text(check.detail))
    out.print(table)
    out.print(Text(f"verdict: {found.verdict}"))
