"""Ludus in Inspect: its sandboxes as a provider, its environments and research tasks as tasks.

* ``sandbox="ludus"`` gives each sample of any Inspect task a sandbox of :mod:`ludus.sandbox`.
* ``inspect eval ludus/play -T env=mlgym/battleOfSexes-v0`` has a model work on a research task,
  which Ludus grades out of the model's reach.

Inspect finds both by the entry point ``inspect_ai``. The names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.interop.inspect.config import LudusSandboxConfig
    from ludus.interop.inspect.playing import (
        close_play,
        episode_tools,
        ludus_score,
        open_play,
        play,
    )
    from ludus.interop.inspect.sandbox import LudusSandbox

__all__ = [
    "LudusSandbox",
    "LudusSandboxConfig",
    "close_play",
    "episode_tools",
    "ludus_score",
    "open_play",
    "play",
]

_MODULES = {
    "LudusSandbox": "sandbox",
    "LudusSandboxConfig": "config",
    **dict.fromkeys(("close_play", "episode_tools", "ludus_score", "open_play", "play"), "playing"),
}

__getattr__ = lazy_names(__name__, _MODULES)
