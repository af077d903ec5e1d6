"""``ludus serve``: environments and research tasks over the network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ludus.cli.console import echo, fail, failing_on
from ludus.cli.options import Several
from ludus.errors import Error

__all__ = ["parse_kwargs", "run"]


def run(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="ID...",
            help="Environment ids, research/NAME, or research/PATH of a task's folder.",
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free port.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="LUDUS_SERVE_TOKEN",
            help="Secret that clients have to send; needed to listen on other addresses.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="LUDUS_SERVE_TOKEN_FILE",
            # Told later, with the user who cannot read it.
            readable=False,
            help="File with the token, instead of the token.",
        ),
    ] = None,
    allow_host: Annotated[
        Several, typer.Option(help="Host name under which the server is reached; repeatable.")
    ] = None,
    allow_origin: Annotated[
        Several, typer.Option(help="Site whose pages may use the server; repeatable.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="TLS certificate, as a PEM file.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its private key, as a PEM file.")] = None,
    sessions: Annotated[int, typer.Option(min=1, help="Most sessions at a time.")] = 256,
    sessions_per_client: Annotated[
        int | None, typer.Option(min=1, help="Most sessions of one address.")
    ] = None,
    idle_seconds: Annotated[
        float, typer.Option(min=0, help="Close sessions without calls for so long; 0: never.")
    ] = 900.0,
    life_seconds: Annotated[
        float, typer.Option(min=0, help="Close sessions this old; 0: never.")
    ] = 86_400.0,
    message_bytes: Annotated[int, typer.Option(min=1024, help="Largest message.")] = 4 << 20,
    rate: Annotated[
        float, typer.Option(min=0, help="Most requests per second of one address; 0: no limit.")
    ] = 0.0,
    kwargs: Annotated[
        Several,
        typer.Option("--kwarg", help="NAME=JSON: argument of every environment; repeatable."),
    ] = None,
    client_kwargs: Annotated[
        Several,
        typer.Option("--client-kwarg", help="Argument that clients may set; repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the records of research episodes.")
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help="openenv (which ludus.connect uses too), open-reward or nemo-gym.",
        ),
    ] = "openenv",
    manifest: Annotated[
        Path | None,
        typer.Option(help="Write openenv.yaml for the first ID into this folder, and serve none."),
    ] = None,
    log: Annotated[str, typer.Option(help="Form of the log: json or text.")] = "text",
) -> None:
    """Serve environments and research tasks over the network.

    OpenEnv's clients can use them, as can ludus.connect. Only this machine can reach the server,
    unless a token is set.

        ludus serve CartPole-v1

        ludus serve FrozenLake-v1 research/battleOfSexes --port 9000 --out runs/served

    Exit code 2 for wrong usage.
    """
    from ludus.serve import Limits, Served
    from ludus.serve.bridge import PROTOCOLS
    from ludus.serve.logs import set_up_logging
    from ludus.serve.openenv.manifest import write_manifest
    from ludus.serve.serving import serve
    from ludus.serve.settings import ServeSettings
    from ludus.serve.token_file import read_token

    if token is not None and token_file is not None:
        fail("There are both a token and a token file. Give one of --token and --token-file.")
    if protocol not in ("openenv", *PROTOCOLS):
        fail(f"--protocol is {protocol!r}; expected one of {('openenv', *PROTOCOLS)}.")
    if log not in ("json", "text"):
        fail(f"--log is {log!r}; expected json or text.")
    with failing_on(Error, OSError, most=2000):
        limits = Limits(
            sessions=sessions,
            per_owner=sessions_per_client,
            idle_seconds=idle_seconds or None,
            life_seconds=life_seconds or None,
        )
        settings = ServeSettings(
            host=host,
            port=port,
            token=token if token_file is None else read_token(token_file),
            names=tuple(name.lower() for name in allow_host or ()),
            origins=tuple(allow_origin or ()),
            certificate=tls_cert,
            key=tls_key,
            limits=limits,
            message_bytes=message_bytes,
            rate=rate or None,
            out=out,
        )
        given = parse_kwargs(kwargs or [])
        served = [
            Served.of(name, kwargs=given, client_kwargs=client_kwargs or (), records=out)
            for name in names
        ]
        if manifest is not None:
            echo(f"{write_manifest(served[0], manifest, port=port or 8000)} was written")
            return
        set_up_logging("json" if log == "json" else "text")

        def started(found: ServeSettings) -> None:
            echo(f"Serving {', '.join(one.name for one in served)} at {found.url}")

        other = None if protocol == "openenv" else protocol
        serve(served, settings, on_start=started, protocol=other)


def parse_kwargs(given: list[str]) -> dict[str, Any]:
    """Return arguments of the form ``NAME=JSON``."""
    found: dict[str, Any] = {}
    for one in given:
        name, mark, text = one.partition("=")
        try:
            found[name] = json.loads(text)
        except ValueError:
            mark = ""
        if not mark or not name.isidentifier():
            fail(f"--kwarg {one!r}: expected NAME=JSON, such as --kwarg is_slippery=false.")
    return found
