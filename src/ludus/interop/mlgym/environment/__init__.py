"""The modules of ``mlgym.environment`` that MLGym's document names."""

from __future__ import annotations

from ludus.interop.mlgym.environment.env import MLGymEnv
from ludus.interop.mlgym.environment.registration import register_task
from ludus.interop.mlgym.environment.tasks import BaseTask

__all__ = ["BaseTask", "MLGymEnv", "register_task"]
