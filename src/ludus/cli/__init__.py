"""The ``ludus`` command."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the ``ludus`` command."""
    from ludus.cli.app import app
    from ludus.cli.console import escape_tracebacks

    escape_tracebacks()
    app()
