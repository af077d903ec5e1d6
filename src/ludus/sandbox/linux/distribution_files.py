"""What belongs to installed distributions: the names in a folder of packages, and programs.

Distributions say so in lists, some with tens of thousands of lines. What a list says is kept in
the state folder, so that it is read once and not by the first sandbox of every process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from ludus.atomic import write_whole
from ludus.errors import SandboxError
from ludus.sandbox.leases import state_folder

__all__ = ["Owned", "owned_by"]

# ruff: noqa: PTH116, PTH123 - asked of hundreds of files before the first sandbox opens
_KEPT = "distributions.json"
_BIN = b"../../../bin/"
_Stamp = list[int]


class Owned(NamedTuple):
    """What one distribution has.

    Args:
        names: in its folder of packages.
        programs: in the folder ``bin`` of its Python.
    """

    names: list[str]
    programs: list[str]


def owned_by(infos: Sequence[str]) -> list[Owned]:
    """Return what each distribution has, by the paths of their ``.dist-info`` folders."""
    kept, is_new = _read_kept(), False
    for info in infos:
        stamp = _stamp(f"{info}/RECORD") + _stamp(f"{info}/top_level.txt")
        if info not in kept or kept[info][0] != stamp:
            kept[info], is_new = (stamp, _said_by(info)), True
    if is_new:
        _keep(kept)
    return [kept[info][1] for info in infos]


def _said_by(info: str) -> Owned:
    record = b"\n" + _read(f"{info}/RECORD")
    # Few lines differ in their first part; that of a single file has more than its name.
    firsts = {line.partition(b"/")[0] for line in record.splitlines()}
    names = {os.fsdecode(first.partition(b",")[0].strip(b'"')) for first in firsts}
    names.update(_read(f"{info}/top_level.txt").decode(errors="replace").split())
    names.update([f"{name}{end}" for name in names for end in (".py", ".libs")])
    programs = {os.fsdecode(line.partition(b",")[0]) for line in record.split(b"\n" + _BIN)[1:]}
    return Owned(sorted(names - {"", ".", ".."}), sorted(programs))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _stamp(path: str) -> _Stamp:
    """Return what changes whenever a file does."""
    try:
        found = os.stat(path)
    except OSError:
        return []
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _read_kept() -> dict[str, tuple[_Stamp, Owned]]:
    """Return what is kept, by folder; what cannot be read is no loss."""
    try:
        found = json.loads(_read(str(state_folder() / _KEPT)))
        return {info: (stamp, Owned(*owned)) for info, (stamp, owned) in found.items()}
    except (SandboxError, ValueError, TypeError, AttributeError):
        return {}


def _keep(known: dict[str, tuple[_Stamp, Owned]]) -> None:
    there = {info: value for info, value in known.items() if os.path.isdir(info)}  # noqa: PTH112
    with suppress(OSError, SandboxError):
        content = json.dumps(there).encode()
        write_whole(state_folder() / _KEPT, content, durable=False, mode=0o600)
