"""``ludus keygen``: make a key to sign runs with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ludus.cli.console import echo, fail
from ludus.errors import Error
from ludus.record.format.keys import default_key_path, generate_key

__all__ = ["run"]


def run(
    path: Annotated[
        Path | None,
        typer.Argument(
            help="Where to put the private key; the public one goes beside it.",
            show_default="ludus/keys/default in your configuration folder",
        ),
    ] = None,
) -> None:
    """Make an Ed25519 key pair to sign runs with.

    Keep the private key to yourself; nobody else can read its file. Pass on the public key, or the
    file that ends in .pub, to whoever shall check your runs. An existing key is never replaced.
    """
    target = default_key_path() if path is None else path
    try:
        key = generate_key(target)
    except Error as problem:
        fail(problem)
    echo(f"private key  {target}")
    echo(f"public key   {key.public.hex}")
    echo(f"fingerprint  {key.fingerprint}")
