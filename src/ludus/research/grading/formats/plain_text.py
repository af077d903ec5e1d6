"""Texts."""

from __future__ import annotations

from ludus.errors import SubmissionRejected

__all__ = ["read_text"]


def read_text(name: str, data: bytes) -> str:
    """Return a file as text.

    Raises:
        SubmissionRejected: it is not UTF-8, or has NUL characters in it.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise SubmissionRejected(
            f"{name} is no UTF-8 text: byte {problem.start} is wrong. Write it as UTF-8."
        ) from None
    if "\0" in text:
        raise SubmissionRejected(f"{name} has a NUL character at {text.index(chr(0))}.")
    return text
