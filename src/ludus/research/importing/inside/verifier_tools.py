"""Programs that tests call to set themselves up, for a sandbox without network.

Installers succeed without doing anything. ``uvx``, ``uv run`` and ``pytest`` run this Python's
pytest; options of plugins that are not here are dropped.
"""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["install"]

_INSTALLERS = ("apt", "apt-get", "curl", "pip", "pip3", "wget")
_RUNNERS = ("pytest", "uv", "uvx")
_WITH_VALUE = frozenset({"--ctrf", "--from", "--python", "--with", "-p", "-w"})


def install(folder: Path) -> None:
    """Write the programs into a new folder."""
    folder.mkdir()
    for name in (*_INSTALLERS, *_RUNNERS):
        program = folder / name
        body = (
            "exit 0" if name in _INSTALLERS else f'exec {sys.executable} -I {__file__} {name} "$@"'
        )
        program.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
        program.chmod(0o755)


def pytest_arguments(name: str, arguments: list[str]) -> list[str] | None:
    """Return the arguments for pytest; ``None`` if it is not pytest that is to be run."""
    rest = list(arguments)
    if name != "pytest":
        if "pytest" not in rest:
            return None
        rest = rest[rest.index("pytest") + 1 :]
    kept: list[str] = []
    while rest:
        word = rest.pop(0)
        if word in _WITH_VALUE:
            rest[:1] = []
        elif not word.startswith("--ctrf="):
            kept.append(word)
    return kept


def _main(name: str, arguments: list[str]) -> None:
    import os

    found = pytest_arguments(name, arguments)
    if found is not None:
        options = ["-P", "-m", "pytest", "-p", "no:cacheprovider", *found]
        os.execv(sys.executable, [sys.executable, *options])  # noqa: S606 - in the sandbox


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
