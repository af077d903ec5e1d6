"""``ludus view``: pages about runs, episodes and environments in a browser, or as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ludus.cli.console import FAILED, echo, fail, failing_on
from ludus.cli.options import Several
from ludus.errors import Error
from ludus.terminal_text import printable

__all__ = ["run"]


def run(
    source: Annotated[
        Several,
        typer.Argument(
            help="Folder with runs, a run, a store (path or URL), or a .traj or ATIF file.",
            show_default="./runs, else the current folder",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free port.")] = 8760,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="LUDUS_VIEW_TOKEN",
            help="Secret that a browser has to show; needed to listen on other addresses.",
        ),
    ] = None,
    allow_host: Annotated[
        Several, typer.Option(help="Host name under which the viewer is reached; repeatable.")
    ] = None,
    export_to: Annotated[
        Path | None,
        typer.Option("--export", help="Write the pages of a run into this folder, and serve none."),
    ] = None,
    single: Annotated[
        bool, typer.Option("--single", help="With --export: one HTML file for the whole run.")
    ] = False,
    frames: Annotated[
        bool,
        typer.Option(
            "--frames",
            help="With --export: execute recordings of environments again, for their frames.",
        ),
    ] = False,
    page: Annotated[str, typer.Option(help="Page to begin with, such as /envs/CartPole-v1.")] = "/",
    browser: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open", help="Open a browser.", show_default="if there is a screen"
        ),
    ] = None,
) -> None:
    """Show runs, episodes and environments in a browser.

    Only this machine can reach the pages, unless a token is set.

        ludus view runs

        ludus view runs/first --export pages

    Exit code 1 if a run or a file could not be exported, 2 for wrong usage.
    """
    from ludus.view import ViewSettings, export, serve
    from ludus.view.opening import default_sources, open_browser

    if export_to is None and (single or frames):
        fail(f"{'--single' if single else '--frames'} needs --export FOLDER.")
    with failing_on(Error, OSError, most=2000):
        settings = ViewSettings.of(
            *(source or default_sources()),
            host=host,
            port=port,
            token=token,
            names=tuple(allow_host or ()),
        )
        if export_to is not None:
            written = export(settings, export_to, single=single, frames=frames)
            echo(f"{written.pages} pages in {export_to}; open {written.first}")
            if written.refused:
                fail(printable("; ".join(written.refused), 2000), FAILED)
            return

        def started(address: str) -> None:
            echo(f"The viewer is at {address} (Ctrl-C ends it)")
            if open_browser(address, wanted=browser):
                echo("A browser was opened.")

        serve(settings, on_start=started, page=f"/{page.lstrip('/')}")
