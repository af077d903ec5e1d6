"""``mlgym.environment.env``: the environment class."""

from __future__ import annotations

from ludus.research import MLGymEnv

__all__ = ["MLGymEnv"]
