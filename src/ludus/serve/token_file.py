"""A token that comes from a file, as container engines and clusters hand out secrets."""

from __future__ import annotations

import os
from pathlib import Path

from ludus.errors import ServeError
from ludus.foreign_files import read_regular

__all__ = ["read_token"]

_LARGEST = 4096


def read_token(file: Path) -> str:
    """Return the token in a file, without the line end.

    Raises:
        ServeError: The file cannot be read, is empty, or has something other than one line of text.
    """
    try:
        text = read_regular(file, _LARGEST).decode("utf-8").strip()
    except OSError as problem:
        raise ServeError(
            f"The token file {file} cannot be read: {problem.strerror or problem}. Expected a file "
            f"of one line that the server's user (uid {os.geteuid()}) can read."
        ) from problem
    except UnicodeDecodeError as problem:
        raise ServeError(f"The token file {file} is not text. Expected one line.") from problem
    if not text or len(text.splitlines()) != 1:
        raise ServeError(
            f"The token file {file} has {len(text.splitlines())} lines; expected one, the token. "
            f"Make one: openssl rand -hex 32 > {file}"
        )
    return text
