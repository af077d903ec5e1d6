from __future__ import annotations

import pytest

from ludus.cli import console


@pytest.fixture(autouse=True)
def wide_consoles(monkeypatch):
    """Nothing is wrapped, whoever imported the consoles first and on whatever terminal."""
    for one in (console.out, console.err):
        monkeypatch.setattr(one, "_width", 200)
