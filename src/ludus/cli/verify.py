"""``ludus verify``: verify a run."""

from __future__ import annotations

import json as jsonlib
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from ludus.cli import options
from ludus.cli.console import FAILED, USAGE, echo, failing_on, out, progress_bar
from ludus.errors import Error
from ludus.record import Verification, load_public_key, verify
from ludus.record.format.limits import MAX_HASHED_BYTES, MAX_REPLAY_SECONDS

__all__ = ["run"]

_COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


def run(
    path: options.RunFolder,
    key: Annotated[
        options.Several,
        typer.Option(help="Trusted public key: a .pub file or its hex digits; repeatable."),
    ] = None,
    require_signature: Annotated[
        bool, typer.Option("--require-signature", help="Fail if the run is not signed.")
    ] = False,
    no_replay: Annotated[
        bool, typer.Option("--no-replay", help="Skip the replay of the recording.")
    ] = False,
    imports: options.Imports = None,
    max_file_bytes: Annotated[
        int,
        typer.Option(min=0, help="Limit of bytes of additional files to read and compare."),
    ] = MAX_HASHED_BYTES,
    max_seconds: Annotated[
        float, typer.Option(min=0, help="Time limit for the replay, in seconds.")
    ] = MAX_REPLAY_SECONDS,
    task: Annotated[
        str | None, typer.Option(help="Folder or file of a research episode's task.")
    ] = None,
    unlimited: options.Unlimited = False,
    json: options.AsJson = False,
) -> None:
    """Verify a run: hash chain, blocks, files, signature, spec, source, replay and results.

    The submission of a research episode is graded again.

    Exit code 0 if every check passed, 1 if one failed, 2 if one could not be made.
    """
    from ludus.research.running.verification import is_episode, verify_episode

    options.import_modules(imports)
    with failing_on(Error), progress_bar("replaying", hidden=json) as progress:
        given: dict[str, Any] = {
            "trusted_keys": None if key is None else [load_public_key(item) for item in key],
            "require_signature": require_signature,
            "progress": progress,
            "max_file_bytes": max_file_bytes,
        }
        if is_episode(path):
            given |= {"task": task, "unlimited": unlimited}
            found = verify_episode(path, regrade=not no_replay, **given)
        else:
            found = verify(path, replay=not no_replay, max_seconds=max_seconds, **given)
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
