"""The terminal of an episode as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ludus.terminal_text import escaped

__all__ = ["Transcript"]

_LONGEST = 1 << 18


class Transcript:
    """The last part of what was typed and printed, starting with ``text`` in the folder ``cwd``."""

    def __init__(self, text: str = "", cwd: str = "/workspace") -> None:
        self._text, self._cwd = text, cwd

    def add(self, action: object, observation: Any) -> None:
        """Take one step; an observation of another form than ours is left out."""
        typed = action if isinstance(action, str) else json.dumps(action, default=str)
        seen = observation if isinstance(observation, Mapping) else {}
        output = str(seen.get("output", ""))
        end = "" if not output or output.endswith("\n") else "\n"
        prompt = f"{self._cwd} $ {typed}\n" if typed else ""
        self._cwd = str(seen.get("cwd", self._cwd))
        self._text = (self._text + escaped(f"{prompt}{output}{end}"))[-_LONGEST:]

    def text(self) -> str:
        """Return all of it."""
        return self._text
