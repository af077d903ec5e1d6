"""Texts about faults, short enough for every record and database."""

from __future__ import annotations

import re

__all__ = ["FAILED_CALL", "UNSTORABLE", "one_line", "plain", "shown"]

FAILED_CALL = "failed_call"
"""The field of a record's note that holds the call in which the environment failed."""
_LONGEST = 500
_LOOKED_AT = 20 * _LONGEST
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that no database holds."""


def shown(value: object, most: int = 80) -> str:
    """Return a value as Python writes it, cut to ``most`` characters."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def plain(text: str) -> str:
    """Return a text in one line of bounded length that every record and database can hold."""
    # Cut first, because it may be very long. The methods are those of str, because the text may be
    # of a subclass that has others.
    words = str.split(str.__getitem__(text, slice(_LOOKED_AT)))
    line = UNSTORABLE.sub("\ufffd", " ".join(words))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def one_line(problem: BaseException | str) -> str:
    """Return a text, or an exception's type and message, in one line of bounded length.

    A message that cannot be read, because asking for it raises, is left out.
    """
    if isinstance(problem, str):
        return plain(problem).rstrip(": ")
    # The class itself is asked: a metaclass may answer otherwise, or raise.
    name = type.__dict__["__name__"].__get__(type(problem))
    try:
        message = str(problem)
    except Exception:  # the exception's own code
        message = ""
    return plain(f"{name}: {str.__getitem__(message, slice(_LOOKED_AT))}").rstrip(": ")
