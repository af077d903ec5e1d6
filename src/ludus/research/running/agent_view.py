"""What an agent of a run is given instead of its environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ludus.research.episode.actions import ActionSpace
from ludus.research.episode.observation import observation_space
from ludus.spaces import Dict

if TYPE_CHECKING:
    from ludus.research.episode.env import ResearchEnv

__all__ = ["AgentView"]


@dataclass(frozen=True, slots=True)
class AgentView:
    """What there is to know of an environment that somebody else steps.

    With the environment itself an agent could validate and submit past the record, read what came
    of the test, and have the episode taken for one that the infrastructure broke.

    Attributes:
        task: The task's id.
        description: What the task asks for.
        max_steps: Actions of the episode.
        action_space: Of actions.
        observation_space: Of observations.
    """

    task: str
    description: str
    max_steps: int
    action_space: ActionSpace
    observation_space: Dict

    @classmethod
    def of(cls, env: ResearchEnv) -> Self:
        """Return the view of an environment; its spaces are its own."""
        config, steps = env.task.config, env.limits.steps
        return cls(config.id, config.description, steps, ActionSpace(), observation_space(steps))
