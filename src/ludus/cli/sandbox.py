"""``ludus sandbox``: run programs in a sandbox, list the backends, remove leftovers."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ludus.cli import options
from ludus.cli.console import FAILED, echo, fail, failing_on, make_table, out
from ludus.errors import SandboxError
from ludus.sandbox import Policy, Sandbox, doctor, open_sandbox, sweep
from ludus.sandbox.policy import parse_size
from ludus.terminal_text import escaped

__all__ = ["app"]

app = typer.Typer(
    help="Run programs in a sandbox; show which backends work on this machine.",
    no_args_is_help=True,
)
_LIMITS = ("memory", "cpus", "pids", "disk", "network")
_ENFORCED = "enforced"


@app.command("doctor")
def show_backends() -> None:
    """Show which backends work, which limits they enforce, and what to install.

    Exit code 1 if no isolating backend works.
    """
    columns = ("backend", "works", *_LIMITS)
    table = make_table("Sandbox backends", *columns, whole=columns)
    found = doctor()
    remarks = []
    for diagnosis in found:
        held = [diagnosis.enforcement[name] for name in _LIMITS] if diagnosis.works else []
        cells = ["yes" if word == _ENFORCED else "no" for word in held]
        table.add_row(diagnosis.backend, "yes" if diagnosis.works else "no", *cells)
        missing = sorted({word for word in held if word != _ENFORCED})
        reasons = missing if diagnosis.works else [str(diagnosis.reason)]
        remarks += [f"{diagnosis.backend}: {why}" for why in reasons]
    out.print(table)
    for remark in remarks:
        out.print(remark, markup=False, highlight=False)
    if not any(diagnosis.works for diagnosis in found if diagnosis.backend != "process"):
        fail("No isolating backend works on this machine.", FAILED)


@app.command("sweep")
def remove_leftovers() -> None:
    """Kill and remove sandboxes whose owner process has ended."""
    names = sweep()
    for name in names:
        echo(name)
    echo(f"{len(names)} sandboxes removed.", to_err=True)


# What follows the program is the program's own, also where it has the name of an option.
@app.command("run", context_settings={"allow_interspersed_args": False})
def run_command(
    command: Annotated[list[str], typer.Argument(help="Program and arguments.")],
    backend: Annotated[str | None, typer.Option(help="bubblewrap, podman or docker.")] = None,
    memory: Annotated[
        str, typer.Option(help="Memory limit of all processes together, such as 512M.")
    ] = "512M",
    egress: options.Egress = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which the program is killed.")
    ] = None,
) -> None:
    """Run a program in a new sandbox; print its output and return its exit code.

    Options come before the program. On a terminal, control characters are shown as escapes. Exit
    code 137 if the program was killed because of the time or memory limit. With --egress, what was
    passed to each host or refused is listed on standard error.
    """
    with (
        failing_on(SandboxError, ValueError),
        open_sandbox(
            Policy(memory=parse_size(memory), egress=tuple(egress or ())), backend=backend
        ) as sandbox,
    ):
        done = sandbox.run(command, timeout=timeout)
    for line in told_egress(sandbox):
        echo(line, to_err=True)
    for stream, data in ((sys.stdout, done.stdout), (sys.stderr, done.stderr)):
        if stream.isatty():
            data = escaped(data.decode("utf-8", "replace")).encode()
        stream.buffer.write(data)
    raise typer.Exit(done.returncode)


def told_egress(sandbox: Sandbox) -> list[str]:
    """Return one line for each host that a sandbox has reached or was refused."""
    if sandbox.egress is None:
        return []
    from ludus.sandbox.egress.journal import summary

    return [
        f"egress: {row['host'] or '(no host)'}:{row['port']} {row['connections']} connections, "
        f"{row['up']} bytes up, {row['down']} down{row['reason'] and ', ' + row['reason']}"
        for row in summary(sandbox.egress.entries())
    ]
