from __future__ import annotations

import pytest

from ludus.utils.colorize import colorize


def test_codes() -> None:
    assert colorize("x", "green") == "\x1b[32mx\x1b[0m"
    assert colorize("x", "green", bold=True, highlight=True) == "\x1b[42;1mx\x1b[0m"


def test_unknown_colors() -> None:
    with pytest.raises(KeyError, match="'pink'; choose one of gray, red"):
        colorize("text", "pink")
