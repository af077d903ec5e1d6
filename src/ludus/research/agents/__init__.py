"""Agents for research tasks: what chooses the next action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names
from ludus.research.agents.protocol import Action, Agent, AgentStopped, StopReason

if TYPE_CHECKING:
    from ludus.research.agents.accounting import Caps, ModelUsage, Price, price_table
    from ludus.research.agents.human import HumanAgent
    from ludus.research.agents.react import ReactAgent, ReactConfig
    from ludus.research.agents.simple import RandomAgent, ReplayAgent, ScriptedAgent

__all__ = [
    "Action",
    "Agent",
    "AgentStopped",
    "Caps",
    "HumanAgent",
    "ModelUsage",
    "Price",
    "RandomAgent",
    "ReactAgent",
    "ReactConfig",
    "ReplayAgent",
    "ScriptedAgent",
    "StopReason",
    "price_table",
]

_HOMES = {
    "Caps": "accounting",
    "HumanAgent": "human",
    "Price": "accounting",
    "RandomAgent": "simple",
    "ReactAgent": "react",
    "ReactConfig": "react",
    "ReplayAgent": "simple",
    "ScriptedAgent": "simple",
    "ModelUsage": "accounting",
    "price_table": "accounting",
}

__getattr__ = lazy_names(__name__, _HOMES)
