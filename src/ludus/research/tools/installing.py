"""The folder with the tools that is mounted, read-only, in agents' sandboxes."""

from __future__ import annotations

import hashlib
import py_compile
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from ludus.research.data.cache import cache_folder
from ludus.research.tools.inside.table import TOOLS
from ludus.sandbox import Mount

__all__ = ["BIN", "installed", "tool_mount"]

_PLACE = "/ludus/tools"
BIN = f"{_PLACE}/bin"
"""The folder of the commands, as a sandbox sees it."""

_SOURCE = Path(__file__).parent / "inside"
# -I and -S: nothing from the workspace is imported, and Python starts faster.
_COMMAND = """\
#!/bin/sh
exec "${LUDUS_TOOL_PYTHON:-python3}" -I -S "${0%/*}/../program" NAME "$@"
"""
_MAIN = """\
import sys
from inside.main import main
sys.exit(main(sys.argv[1:]))
"""


def tool_mount() -> Mount:
    """Return the mount that shows the tools in a sandbox."""
    return Mount(str(installed()), _PLACE)


def installed() -> Path:
    """Return the folder with the tools as a sandbox needs them, made once per version."""
    place = cache_folder("tools") / _version()
    if not place.is_dir():
        made = Path(tempfile.mkdtemp(dir=place.parent))
        try:
            _fill(made)
            # Another process may have made the same folder first.
            with suppress(OSError):
                made.rename(place)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return place


@cache
def _version() -> str:
    digest = hashlib.sha256(f"{sys.version}{_COMMAND}{_MAIN}".encode())
    for source in sorted(_SOURCE.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:24]


def _fill(folder: Path) -> None:
    program, commands = folder / "program", folder / "bin"
    for path in (program / "inside", commands):
        path.mkdir(parents=True)
    (program / "__main__.py").write_text(_MAIN)
    for source in sorted(_SOURCE.glob("*.py")):
        target = program / "inside" / source.name
        target.write_bytes(source.read_bytes())
        # Not by time: the folder is read-only where it is used.
        py_compile.compile(
            str(target), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )
    for name in TOOLS:
        (commands / name).write_text(_COMMAND.replace("NAME", name))
        (commands / name).chmod(0o755)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.parent == commands else 0o644)
