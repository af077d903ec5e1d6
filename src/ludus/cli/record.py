"""``ludus record``: inspect, check, sign and export run folders."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from ludus.cli import options
from ludus.cli.console import FAILED, echo, failing_on, out
from ludus.cli.record_export import export_run, import_run
from ludus.errors import Error, RecordDamaged
from ludus.record import Event, FsckReport, RunReader, fsck, load_signing_key, read_run, sign_run
from ludus.record.format.limits import MAX_HASHED_BYTES
from ludus.terminal_text import printable

__all__ = ["app"]

app = typer.Typer(help="Inspect, check, sign and export run folders.", no_args_is_help=True)
app.command("export")(export_run)
app.command("import")(import_run)
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
    for event in listed:
        echo(f"{event.n} {event.time} {event.kind} {_short(event.data)}")


def _describe(name: str, column: NDArray[Any]) -> str:
    return f"{name} {column.dtype}{list(column.shape[1:]) or ''}"


def _short(value: Any) -> str:
    return printable(value, _LONGEST)
