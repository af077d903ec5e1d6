"""What an installed distribution owns: names in a folder of packages, and programs."""

from __future__ import annotations

import os
from typing import NamedTuple

__all__ = ["Owned", "owned_by", "read_of"]

# ruff: noqa: PTH123 - hundreds of files are read before the first sandbox opens
_BIN = b"../../../bin/"


class Owned(NamedTuple):
    """What one distribution owns.

    Args:
        names: in its folder of packages.
        programs: in the folder ``bin`` of its Python.
    """

    names: list[str]
    programs: list[str]


def read_of(info: str) -> tuple[str, ...]:
    """Return what ``owned_by`` depends on: files, or also the folder while one is missing."""
    record, top_level = f"{info}/RECORD", f"{info}/top_level.txt"
    return (record,) if os.path.lexists(record) else (record, top_level, info)


def owned_by(info: str) -> Owned:
    """Return what a distribution owns, by the path of its ``.dist-info`` folder.

    A distribution without a ``RECORD`` owns what its ``top_level.txt`` names.
    """
    record, top_level = (*map(_read, read_of(info)), b"")[:2]
    lines = b"\n" + record
    # Few lines differ in their first part; that of a single file has more than its name.
    firsts = {line.partition(b"/")[0] for line in lines.splitlines()}
    names = {os.fsdecode(first.partition(b",")[0].strip(b'"')) for first in firsts}
    names.update(top_level.decode(errors="replace").split())
    names -= {"", ".", ".."}
    names.update([f"{name}{end}" for name in names for end in (".py", ".libs")])
    programs = {os.fsdecode(line.partition(b",")[0]) for line in lines.split(b"\n" + _BIN)[1:]}
    return Owned(sorted(names), sorted(programs))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
