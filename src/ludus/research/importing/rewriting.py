"""Rewriting of the paths in imported files, which lie elsewhere in Ludus's sandboxes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping

__all__ = ["move_paths", "packed", "rewritten"]


def rewritten(files: Mapping[str, bytes], moved: Mapping[str, str]) -> dict[str, bytes]:
    """Return files with the paths in their texts rewritten."""
    made = {}
    for path, data in files.items():
        try:
            made[path] = move_paths(data.decode(), moved)[0].encode() if b"\0" not in data else data
        except UnicodeDecodeError:
            made[path] = data
    return made


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return files as an archive, the same bytes each time."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(path), data)
    return made.getvalue()


def move_paths(text: str, moved: Mapping[str, str]) -> tuple[str, int]:
    """Rewrite whole paths in one pass, so that no result is rewritten again."""
    names = "|".join(re.escape(name) for name in sorted(moved, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w./-])({names})(?![\w-])")
    return pattern.subn(lambda match: moved[match[1]], text)
