"""``ludus research report`` and ``export``: what is made of runs."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ludus.cli import options
from ludus.cli.console import echo, fail, failing_on, out, print_line
from ludus.errors import Error

__all__ = ["Format", "export", "report"]


class Format(StrEnum):
    """What ``ludus research export`` writes."""

    JSONL = "jsonl"
    ATIF = "atif"


def export(
    folder: options.BenchRunFolder,
    to: Annotated[
        Format,
        typer.Option(
            "--to", help="jsonl: one line per episode. atif: one trajectory file per episode."
        ),
    ],
    out_path: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File or folder to create.",
            show_default="episodes.jsonl or atif in the run's folder",
        ),
    ] = None,
) -> None:
    """Export finished episodes with the whole conversation, actions, rewards and outcome.

    Existing files are not overwritten. The fields are listed in the documentation of research
    tasks.

        ludus research export runs/battleOfSexes-1 --to jsonl --out episodes.jsonl
    """
    from ludus.bench.running.folder import BenchFolder
    from ludus.interop.research_episodes import export_atif, export_jsonl

    with failing_on(Error, OSError, most=2000):
        opened = BenchFolder.open(folder)
        is_jsonl = to is Format.JSONL
        target = out_path or opened.path / ("episodes.jsonl" if is_jsonl else "atif")
        done = (export_jsonl if is_jsonl else export_atif)(opened, target)
    echo(f"{done.episodes} episodes in {done.path}")
    if done.left_out:
        names = ", ".join(sorted(done.left_out))
        print_line(f"{len(done.left_out)} have no result and were left out: {names}", 2000)


def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, reported as one.")
    ],
    out_file: Annotated[
        Path | None,
        typer.Option("--out", help="File to write: .html or .md.", show_default="in the only RUN"),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    trust: options.Trusted = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a report of one or several runs, as Markdown and as one self-contained HTML file.

    Results of one agent on one task count together, whichever run they are from. Runs in which a
    task, its budget or an agent of one name differ are refused.

        ludus research report runs/tasks-1 runs/tasks-2 --out report.html

    With --json the figures are printed, and files are written only to --out.
    """
    from ludus.bench.comparing.merging import merge_runs
    from ludus.bench.report import write_report
    from ludus.bench.report.as_data import report_data
    from ludus.cli.research_results import pass_table
    from ludus.record import trusted_keys
    from ludus.record.replay.provenance import provenance

    with failing_on(Error, ValueError, OSError, most=2000):
        merged = merge_runs(folders, trusted_keys=trusted_keys(trust or ()))
        if out_file is None and len(folders) > 1 and not as_json:
            fail("Several runs have no folder in common; name the file with --out.")
        files = None
        if out_file is not None or not as_json:
            files = write_report(
                merged.results,
                out_file or folders[0] / "report.html",
                title=title or merged.title,
                references=merged.references,
                lower=merged.lower,
                floors=merged.floors,
                planned=merged.planned,
                provenance={"runs": [one.name for one in merged.folders], **provenance()},
            )
    if as_json:
        echo(json.dumps(report_data(merged), allow_nan=False))
        return
    if (solved := pass_table(merged.results, merged.references)) is not None:
        out.print(solved)
    if files is not None:
        echo(str(files.html))
        echo(str(files.markdown))
