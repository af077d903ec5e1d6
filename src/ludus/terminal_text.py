"""Escaping of untrusted text for terminals and logs."""

from __future__ import annotations

import re

__all__ = ["escaped", "excerpt", "printable", "visible", "without_controls"]

_SEQUENCES = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?"
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MARKS_PER_CHARACTER = 3


def escaped(text: str) -> str:
    """Escape control and format characters, except for line ends and tabs."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def excerpt(text: str, limit: int, *, tail: bool = False) -> str:
    """Return the first ``limit`` characters of a text, :func:`escaped` and stripped.

    Args:
        text: One or more lines.
        limit: Characters to keep; an ellipsis replaces the rest.
        tail: Keep the last characters instead of the first.
    """
    if len(text) > limit:
        text = f"…{text[-limit:]}" if tail else f"{text[:limit]}…"
    return escaped(text).strip()


def printable(text: object, most: int = 300) -> str:
    """Return ``str(text)`` as one line of at most ``most`` characters before escaping.

    Control and format characters, line ends included, are escaped.
    """
    cut = str(text)[: most + 1]
    if len(cut) > most:
        cut = cut[: most - 1] + "…"
    # Surrogates and bidirectional marks are not printable either, by Unicode's categories.
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut
    )


def visible(text: str) -> str:
    r"""Escape characters that hide or reorder other text, like ``\u202e``.

    These are control and format characters, lone surrogates, and combining marks beyond three on
    one character.
    """
    if text.isascii() and text.isprintable():
        return text
    # Imported here: most processes print no such text.
    import unicodedata

    shown = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category in _INVISIBLE or marks > _MARKS_PER_CHARACTER:
            shown.append(_code_point(character))
        else:
            shown.append(character)
    return "".join(shown)


def without_controls(text: str) -> str:
    """Remove terminal sequences; other control characters become U+FFFD."""
    return re.sub(_CONTROLS, "\ufffd", re.sub(_SEQUENCES, "", text.replace("\r\n", "\n")))


def _code_point(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
