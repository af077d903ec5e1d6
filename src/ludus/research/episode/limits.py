"""Limits of an episode."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from ludus.research.task.settings import MlgymSettings
from ludus.research.task.task import Task

__all__ = ["DONE", "TERMINAL", "End", "EpisodeLimits"]

End: TypeAlias = str
"""Why an episode is over; empty while it continues.

``"submitted"``; ``"done"`` if the task's own class says so; a limit: ``"steps"``, ``"time"``,
``"working_time"``, ``"cost"``; ``"box"`` if the sandbox is unusable; or the caller's argument of
``ResearchEnv.finish``, such as ``"agent"``.
"""

DONE: End = "done"
TERMINAL: tuple[End, ...] = ("submitted", DONE)
"""Ends that belong to the task; all others cut the episode off."""


@dataclass(frozen=True, slots=True)
class EpisodeLimits:
    """How much an episode may use.

    Attributes:
        steps: Actions.
        seconds: From reset on.
        working: Likewise, without the time spent waiting for the agent's model.
        cost: What the agent may spend.
        long: Seconds of one command.
        short: Seconds of one tool call.
        validations: How many are allowed; ``None``: any number.
    """

    steps: int
    seconds: float
    cost: float
    long: float
    short: float
    validations: int | None
    working: float = math.inf

    @classmethod
    def of(
        cls,
        task: Task,
        *,
        steps: int | None,
        seconds: float | None,
        cost: float | None,
        working: float | None = None,
    ) -> EpisodeLimits:
        """Return the limits of a task, changed by ``MLGYM_*`` variables and arguments.

        Raises:
            ResearchError: A variable has an invalid value.
            ValueError: An argument is not a limit.
        """
        settings = MlgymSettings.read()
        given = {"max_steps": steps, "time_limit": seconds, "cost_limit": cost}
        for name, value in {**given, "working_time": working}.items():
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value!r}; expected more than 0.")
        return cls(
            steps=task.config.max_steps if steps is None else steps,
            seconds=settings.env_timeout if seconds is None else float(seconds),
            cost=math.inf if cost is None else float(cost),
            long=settings.long_timeout(task.config.timeout),
            short=settings.action_short_timeout,
            validations=task.config.validations,
            working=math.inf if working is None else float(working),
        )

    def reached(self, steps: int, seconds: float, cost: float, working: float = 0.0) -> End:
        """Return which limit is reached."""
        if steps >= self.steps:
            return "steps"
        if seconds >= self.seconds:
            return "time"
        if working >= self.working:
            return "working_time"
        return "cost" if cost >= self.cost else ""
