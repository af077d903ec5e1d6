"""Importing this module registers Ludus's environments in Gymnasium.

Gymnasium imports the module named before the colon of an id, so this works anywhere::

    gymnasium.make("ludus.interop.gymnasium.envs:ludus/CartPole-v1")
"""

from __future__ import annotations

from ludus.interop.gymnasium.plugin import register_in_gymnasium

__all__: list[str] = []

register_in_gymnasium()
