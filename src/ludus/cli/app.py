"""The ``ludus`` command and its subcommands."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

from ludus.cli import (
    audit,
    bench,
    demo,
    envs,
    leaderboard,
    record,
    research,
    sandbox,
    serve,
    task,
    view,
)
from ludus.cli.console import echo
from ludus.version import __version__

__all__ = ["app"]

app = typer.Typer(
    name="ludus",
    help="Find, check, run and benchmark reinforcement learning environments.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

app.command("envs")(envs.list_envs)
app.command("show")(envs.show_env)
app.command("check")(envs.check_env)
app.command(
    "as-gymnasium",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(envs.run_as_gymnasium)
app.command(
    "as-mlgym",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(envs.run_as_mlgym)
app.command("demo")(demo.run)
app.command("audit")(audit.run)
app.add_typer(bench.app, name="bench")
app.command("keygen")(record.make_key)
app.command("leaderboard")(leaderboard.run)
app.add_typer(record.app, name="record")
app.command("replay")(record.replay_run)
app.add_typer(research.app, name="research")
app.add_typer(sandbox.app, name="sandbox")
app.add_typer(task.app, name="task")
app.command("serve")(serve.run)
app.command("verify")(record.verify_record)
app.command("view")(view.run)


def _reflow(commands: typer.Typer) -> None:
    """Set the help texts without the line breaks of the docstrings, which typer would keep."""
    for command in commands.registered_commands:
        text = command.help or inspect.getdoc(command.callback) or ""
        parts = inspect.cleandoc(text).split("\n\n")
        command.help = "\n\n".join(
            part if part.startswith(" ") else " ".join(part.split()) for part in parts
        )
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _reflow(group.typer_instance)


_reflow(app)


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
    """Find, check, run and benchmark reinforcement learning environments."""
