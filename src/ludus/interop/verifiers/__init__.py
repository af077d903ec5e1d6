"""Environments and research tasks as a taskset of verifiers, and so for prime-rl.

::

    vf-eval ludus-verifiers --env.taskset.env FrozenLake-v1 --model NAME --client.base-url URL

``ludus-verifiers`` is the id of the plugin. The model answers with text, one action at a time; the
episode runs in this process, and its rewards are the episode's reward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.interop.verifiers.env import LudusEnv, LudusEnvConfig
    from ludus.interop.verifiers.taskset import LudusConfig, LudusData, LudusTask, LudusTaskset

__all__ = ["LudusConfig", "LudusData", "LudusEnv", "LudusEnvConfig", "LudusTask", "LudusTaskset"]

_MODULES = {
    **dict.fromkeys(("LudusEnv", "LudusEnvConfig"), "env"),
    **dict.fromkeys(("LudusConfig", "LudusData", "LudusTask", "LudusTaskset"), "taskset"),
}

__getattr__ = lazy_names(__name__, _MODULES)
