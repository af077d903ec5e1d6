"""``ludus record``, ``replay``, ``verify`` and ``keygen``: run folders and keys."""

from __future__ import annotations

import json
import json as jsonlib
import shlex
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from ludus.cli import options
from ludus.cli.console import FAILED, USAGE, echo, fail, failing_on, out, progress_bar
from ludus.errors import Error, RecordDamaged
from ludus.interop import minari, parquet
from ludus.record import (
    Event,
    FsckReport,
    RunReader,
    Verification,
    fsck,
    load_public_key,
    load_signing_key,
    read_run,
    replay,
    sign_run,
    verify,
)
from ludus.record.format.keys import default_key_path, generate_key
from ludus.record.format.limits import MAX_HASHED_BYTES, MAX_REPLAY_SECONDS
from ludus.registration import make
from ludus.terminal_text import printable

__all__ = ["app", "export_run", "import_run", "make_key", "replay_run", "verify_record"]

app = typer.Typer(help="Inspect, check, sign and export run folders.", no_args_is_help=True)
_LONGEST = 200


@app.command("fsck")
def check(
    path: options.RunFolder,
    repair: Annotated[
        bool, typer.Option("--repair", help="Truncate incomplete data left by a crash.")
    ] = False,
    max_file_bytes: Annotated[
        int, typer.Option(min=0, help="Limit of bytes of additional files to read and compare.")
    ] = MAX_HASHED_BYTES,
    as_json: options.AsJson = False,
) -> None:
    """Check the consistency of a run's hash chain, blocks and files.

    Exit code 0 if the run is intact or was repaired, 1 if it is damaged, 2 if there is no run.
    """
    with failing_on(Error, most=1000):
        report = fsck(path, repair=repair, max_file_bytes=max_file_bytes)
    if as_json:
        echo(json.dumps(asdict(report) | {"ok": report.ok}, default=str))
    else:
        _print_report(report)
    raise typer.Exit(0 if report.ok else FAILED)


@app.command("show")
def show(
    path: options.RunFolder,
    events: Annotated[int, typer.Option(min=0, help="Number of last events to list.")] = 0,
) -> None:
    """Show a run's manifest, contents and signature, and check its hash chain.

    Exit code 1 if the chain is broken, 2 if there is no run.
    """
    with failing_on(Error, most=1000), failing_on(RecordDamaged, code=FAILED, most=1000):
        _print_run(read_run(path), events)


@app.command("sign")
def sign(
    path: options.RunFolder,
    key: Annotated[
        Path | None, typer.Option(help="File of the private key.", show_default="your own")
    ] = None,
) -> None:
    """Sign a run that was closed without a key."""
    with failing_on(Error, most=1000):
        signature = sign_run(path, load_signing_key(key))
    echo(f"signed by {signature.key.fingerprint}")


def _print_report(report: FsckReport) -> None:
    state = report.outcome or ("being written" if report.being_written else "not closed")
    echo(f"{report.events} events, {report.rows} rows, {state}")
    for problem in report.problems:
        cure = " (--repair cuts it)" if problem.repairable else ""
        echo(f"problem: {printable(problem.message, 1000)}{cure}")
    if report.unread:
        echo(f"not checked: {report.unread}; see --max-file-bytes")
    if report.unlisted:
        names = ", ".join(printable(name, 60) for name in report.unlisted[:20])
        echo(f"not part of the run: {names}")
    if report.repaired:
        echo(f"cut {report.torn_events} bytes of events, {report.torn_blocks} of blocks")


def _print_run(reader: RunReader, last: int) -> None:
    kinds: Counter[str] = Counter()
    listed: deque[Event] = deque(maxlen=last)
    first: Mapping[str, NDArray[Any]] | None = None
    for event in reader.events:
        kinds[event.kind] += 1
        listed.append(event)
        if first is None and event.kind == "block":
            first = reader.block(event)
    table = Table(show_header=False)
    signature = reader.signature()
    rows = {
        **reader.manifest,
        "events": ", ".join(f"{count} {kind}" for kind, count in kinds.items()),
        "rows": reader.rows,
        "columns": ", ".join(_describe(name, column) for name, column in (first or {}).items()),
        "outcome": reader.outcome or "not closed",
        "head": reader.head,
        "signature": f"by {signature.key.fingerprint}, not checked" if signature else "none",
    }
    for name, value in rows.items():
        table.add_row(Text(printable(name, 60)), Text(_short(value)))
    out.print(table)
    echo(f"In a browser: ludus view {shlex.quote(str(reader.path))}")
    for event in listed:
        echo(f"{event.n} {event.time} {event.kind} {_short(event.data)}")


def _describe(name: str, column: NDArray[Any]) -> str:
    return f"{name} {column.dtype}{list(column.shape[1:]) or ''}"


def _short(value: Any) -> str:
    return printable(value, _LONGEST)


class Format(Enum):
    """Export formats."""

    MINARI = "minari"
    PARQUET = "parquet"


@app.command("export")
def export_run(
    path: options.RunFolder,
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="Folder of the dataset (ROOT/NAME-v0), or the file."),
    ],
    to: Annotated[Format, typer.Option("--to", help="Format to write.")],
    dataset_id: Annotated[
        str | None,
        typer.Option("--id", help="Minari: dataset id with a namespace; OUT must end in it."),
    ] = None,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Minari: include unfinished episodes.")
    ] = False,
    observations: Annotated[
        bool | None,
        typer.Option(
            "--observations/--no-observations",
            help="Parquet: include observations, recomputed if not stored.",
            show_default="if stored",
        ),
    ] = None,
    imports: options.Imports = None,
) -> None:
    """Export a recording as a Minari dataset or a Parquet file.

    Existing files are not overwritten. Observations that were not stored are recomputed by a
    replay: always for Minari, on request for Parquet.

    Exit code 0 on success, 2 on failure.
    """
    options.import_modules(imports)
    with failing_on(Error, most=1000), progress_bar("exporting") as progress:
        if to is Format.PARQUET:
            if dataset_id is not None or unfinished:
                fail("--id and --unfinished are for Minari datasets.")
            written = parquet.export_parquet(
                path, target, observations=observations, progress=progress
            )
            text = f"{written.steps} steps"
        else:
            if observations is not None:
                fail("A Minari dataset always has observations.")
            found = minari.export_minari(
                path, target, dataset_id=dataset_id, unfinished=unfinished, progress=progress
            )
            text = f"{found.dataset_id}: {found.episodes} episodes, {found.steps} steps"
            if found.left_out:
                text += f"; left out: {found.left_out} unfinished episodes"
    echo(printable(text, 1000))


@app.command("import")
def import_run(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="Folder of a Minari dataset, or Parquet file.")
    ],
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder to create.")],
    env_id: Annotated[
        str | None,
        typer.Option("--env", help="Minari: id of the environment the dataset was made with."),
    ] = None,
    imports: options.Imports = None,
) -> None:
    """Import a Minari dataset, or a Parquet file exported by Ludus, as a run folder.

    Exit code 0 on success, 2 on failure.
    """
    options.import_modules(imports)
    with failing_on(Error, most=1000), progress_bar("importing") as progress:
        if source.is_dir():
            with nullcontext() if env_id is None else make(env_id) as env:
                found = minari.import_minari(source, path, env=env, progress=progress)
            text = f"{found.episodes} episodes, {found.steps} steps"
            if found.unreplayable is not None:
                text += f"; cannot be replayed: {found.unreplayable}"
        else:
            if env_id is not None:
                fail("--env is for Minari datasets; a Parquet file names its environment.")
            text = f"{parquet.import_parquet(source, path, progress=progress).rows} rows"
    echo(printable(text, 1000))


def replay_run(
    path: options.RunFolder, imports: options.Imports = None, json: options.AsJson = False
) -> None:
    """Replay a recording, compare it bit for bit, and show the first difference.

    The environment is created by its id, from the code that is installed here.

    Exit code 0 if the replay is identical, 1 if it differs, 2 if a replay is not possible.
    """
    options.import_modules(imports)
    with failing_on(Error), progress_bar("replaying", hidden=json) as progress:
        found = replay(path, progress=progress)
    if json:
        echo(jsonlib.dumps(asdict(found), default=str))
    elif found.difference is None:
        text = f"{found.rows} rows, {found.episodes} episodes: identical, bit for bit"
        out.print(f"{text} ({found.seconds:.2f} s)", highlight=False)
    else:
        out.print(f"different at {found.difference}", style="red", markup=False, highlight=False)
    if found.difference is not None:
        raise typer.Exit(FAILED)


_COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


def verify_record(
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


def make_key(
    path: Annotated[
        Path | None,
        typer.Argument(
            help="File for the private key; the public key is written beside it.",
            show_default="ludus/keys/default in your configuration folder",
        ),
    ] = None,
) -> None:
    """Create an Ed25519 key pair for signing runs.

    Keep the private key secret; its file is readable by you only. Give the public key, or the .pub
    file, to those who verify your runs. An existing key is never overwritten.
    """
    target = default_key_path() if path is None else path
    with failing_on(Error):
        key = generate_key(target)
    echo(f"private key  {target}")
    echo(f"public key   {key.public.hex}")
    echo(f"fingerprint  {key.fingerprint}")
