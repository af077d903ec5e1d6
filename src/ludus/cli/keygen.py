"""``ludus keygen``: create a key pair for signing runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ludus.cli.console import echo, failing_on
from ludus.errors import Error
from ludus.record.format.keys import default_key_path, generate_key

__all__ = ["run"]


def run(
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
