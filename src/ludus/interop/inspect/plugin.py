"""What the entry point ``inspect_ai`` names: importing it registers everything with Inspect."""

from __future__ import annotations

from ludus.interop.inspect.playing import ludus_score, open_play, play
from ludus.interop.inspect.sandbox import LudusSandbox

__all__ = ["LudusSandbox", "ludus_score", "open_play", "play"]
