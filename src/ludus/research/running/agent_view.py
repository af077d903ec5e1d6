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
    """What an agent knows of its environment, which the runner steps.

    With the environment itself an agent could validate and submit without a record, read the result
    of the test, and make the episode look like an infrastructure fault.
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
