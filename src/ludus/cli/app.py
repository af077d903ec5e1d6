"""The commands, gathered; each lives in a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from ludus.cli import (
    as_gymnasium,
    audit,
    bench,
    check,
    demo,
    envs,
    keygen,
    leaderboard,
    record,
    replay,
    research,
    sandbox,
    show,
    task,
    verify,
)
from ludus.cli.console import echo
from ludus.version import __version__

__all__ = ["app"]

app = typer.Typer(
    name="ludus",
    help="One gym for agents that learn: find, check and run environments.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

app.command("envs")(envs.run)
app.command("show")(show.run)
app.command("check")(check.run)
app.command(
    "as-gymnasium",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(as_gymnasium.run)
app.command("demo")(demo.run)
app.command("audit")(audit.run)
app.add_typer(bench.app, name="bench")
app.command("keygen")(keygen.run)
app.command("leaderboard")(leaderboard.run)
app.add_typer(record.app, name="record")
app.command("replay")(replay.run)
app.add_typer(research.app, name="research")
app.add_typer(sandbox.app, name="sandbox")
app.add_typer(task.app, name="task")
app.command("verify")(verify.run)


def _version(value: bool) -> None:
    if value:
        echo(f"ludus {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find, check and run environments."""
