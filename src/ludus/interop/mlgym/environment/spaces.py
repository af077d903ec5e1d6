"""``mlgym.environment.spaces``: the spaces of observations and actions."""

from __future__ import annotations

from ludus.research.episode.actions import ActionSpace
from ludus.research.episode.observation import FreeText, observation_space
from ludus.research.episode.own_observation import OpenDict

__all__ = ["ActionSpace", "FreeText", "OpenDict", "observation_space"]
