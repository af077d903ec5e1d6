"""``mlgym.environment.registration``: registration of tasks."""

from __future__ import annotations

from ludus.registration import make
from ludus.research import register_task

__all__ = ["make", "register_task"]
