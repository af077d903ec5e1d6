"""Characters as a picture, for environments that render text."""

from __future__ import annotations

import re
import textwrap

from markupsafe import escape

from ludus.terminal_text import visible

__all__ = ["text_picture"]

_LINES, _COLUMNS = 24, 64
_WRAPPED_LINES, _WRAPPED_COLUMNS = 7, 46
_COLOURS = re.compile(r"\x1b\[[0-9;:]{0,40}m")
_STYLE = 'xml:space="preserve" font-family="monospace" font-size="15"'
_GROUND, _BRIGHT, _SOFT = "#161b22", "#dfe6ee", "#8b96a3"


def text_picture(text: str, *, wrapped: bool = False) -> str:
    """Return the beginning of a text as an SVG image, without the colours of terminals.

    With ``wrapped``, long lines are broken: it is a message rather than a frame.
    """
    plain = _COLOURS.sub("", text[:100_000])
    if wrapped:
        lines = textwrap.wrap(visible(plain), _WRAPPED_COLUMNS)[:_WRAPPED_LINES]
    else:
        lines = [visible(line)[:_COLUMNS] for line in plain.splitlines()[:_LINES]]
    width = round(max((len(line) for line in lines), default=1) * 9.1 + 40)
    height = len(lines) * 19 + 40
    colour = _SOFT if wrapped else _BRIGHT
    rows = "".join(
        f'<text x="20" y="{36 + 19 * i}" fill="{colour}" {_STYLE}>{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">'
        f'<rect width="100%" height="100%" fill="{_GROUND}"/>{rows}</svg>'
    )
