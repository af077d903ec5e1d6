"""``ludus mcp``: an environment or research task over the Model Context Protocol."""

from __future__ import annotations

import asyncio
import secrets
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ludus.cli.console import echo, failing_on
from ludus.cli.options import Several
from ludus.cli.serve import parse_kwargs
from ludus.errors import Error
from ludus.terminal_text import printable

__all__ = ["run"]

_TOKEN_BYTES = 24


def run(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="An environment's id, or research/TASK.")
    ],
    transport: Annotated[
        Literal["stdio", "http"],
        typer.Option(
            help="stdio: the client starts this program, for one episode. http: a server."
        ),
    ] = "stdio",
    host: Annotated[str, typer.Option(help="Address of the agent's server.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8770,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="LUDUS_MCP_TOKEN",
            help="Secret that agents send; needed to listen on other addresses.",
        ),
    ] = None,
    operator_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Of the operator's server, always on 127.0.0.1.",
            show_default="8771 with http, none with stdio",
        ),
    ] = None,
    operator_token: Annotated[
        str | None,
        typer.Option(
            envvar="LUDUS_MCP_OPERATOR_TOKEN",
            help="Secret that the operator sends.",
            show_default="a random one, which is printed",
        ),
    ] = None,
    allow_host: Annotated[
        Several, typer.Option(help="Host name under which it is reached; repeatable.")
    ] = None,
    rewards: Annotated[
        bool, typer.Option("--rewards", help="Tell the agent rewards, flags and steps left.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="With stdio: of the episode.")] = None,
    kwargs: Annotated[
        Several, typer.Option("--kwarg", help="NAME=JSON: argument of the environment; repeatable.")
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Most episodes at a time.")] = 64,
    idle_seconds: Annotated[
        float, typer.Option(min=0, help="Close episodes without calls for so long; 0: never.")
    ] = 3600.0,
    rate: Annotated[
        float, typer.Option(min=0, help="Most requests per second of one address; 0: no limit.")
    ] = 0.0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the records of research episodes.")
    ] = None,
    states: Annotated[Path, typer.Option(help="Folder of saved states.")] = Path("mcp-states"),
) -> None:
    """Serve an environment or research task to agents over the Model Context Protocol.

    The agent's tools are its actions. Episodes are begun, watched, saved and closed on the
    operator's server.

        ludus mcp research/battleOfSexes

        ludus mcp CartPole-v1 --transport http

    Exit code 2 for wrong usage.
    """
    from ludus.optional import require

    with failing_on(Error, OSError, most=2000):
        require("mcp", extra="mcp", purpose="'ludus mcp'")
        from ludus.serve.limits import Limits
        from ludus.serve.logs import set_up_logging
        from ludus.serve.mcp.http import serve_http
        from ludus.serve.mcp.settings import McpSettings
        from ludus.serve.mcp.stdio import serve_stdio
        from ludus.serve.settings import ServeSettings

        is_http = transport == "http"
        set_up_logging("text", "INFO" if is_http else "WARNING")
        if operator_port is None and is_http:
            operator_port = 8771
        secret = operator_token or secrets.token_urlsafe(_TOKEN_BYTES)
        operator = None
        if operator_port is not None:
            operator = ServeSettings(port=operator_port, token=secret, grace_seconds=1.0)
        settings = McpSettings(
            name=name,
            kwargs=parse_kwargs(kwargs or []),
            rewards=rewards,
            seed=seed,
            states=states,
            agent=ServeSettings(
                host=host,
                port=port,
                token=token,
                names=tuple(given.lower() for given in allow_host or ()),
                limits=Limits(sessions=episodes, idle_seconds=idle_seconds or None),
                rate=rate or None,
                out=out,
                # Clients of the older revisions keep a request open all the time.
                grace_seconds=1.0,
            ),
            operator=operator,
        )

        def started(agent: str | None, beside: str | None) -> None:
            # Standard output belongs to the protocol.
            say = partial(echo, to_err=not is_http)
            if agent is not None:
                say(f"The agent's server is at {agent} (Ctrl-C ends it)")
            if beside is not None:
                say(f"The operator's server is at {beside}")
                if operator_token is None:
                    say(f"The operator's token is {secret}")

        if is_http:
            asyncio.run(serve_http(settings, on_start=started))
        else:
            asyncio.run(serve_stdio(settings, on_start=partial(started, None), on_end=_ended))


def _ended(result: dict[str, Any]) -> None:
    from ludus.serve.schemas import dumps

    echo(f"The episode ended: {printable(dumps(result), 4000)}", to_err=True)
