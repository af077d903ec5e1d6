"""The ``ludus`` command."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from ludus.cli.app import app

    app()
