"""An agent that takes the actions of a trajectory again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ludus.research.agents.protocol import Action
from ludus.research.agents.scripted import ScriptedAgent
from ludus.research.running.trajectory import ResearchTrajectory

__all__ = ["Difference", "ReplayAgent"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A step whose result is another one than before."""

    step: int
    """From 0."""
    field: str
    expected: Any
    found: Any


class ReplayAgent(ScriptedAgent):
    """Repeats recorded actions and notes where results differ.

    Only exit codes and completely recorded outputs are compared.
    """

    def __init__(self, trajectory: ResearchTrajectory) -> None:
        """Make the agent; a run folder's trajectory is what ``trajectory_of_run`` returns."""
        super().__init__(step.action for step in trajectory.steps)
        self.trajectory = trajectory
        self.differences: list[Difference] = []

    def reset(self, seed: int | None = None, env: Any = None) -> None:
        """Begin again with the first action."""
        super().reset(seed, env)
        self.differences = []

    def act(self, observation: Any) -> Action:
        """Compare the result of the previous action, and return the next one.

        Raises:
            AgentStopped: There are no more.
        """
        done = self.get_state()["next"] - 1
        if done >= 0 and isinstance(observation, Mapping):
            self._compare(done, observation)
        return super().act(observation)

    def _compare(self, step: int, observation: Mapping[str, Any]) -> None:
        before = self.trajectory.steps[step]
        expected: dict[str, Any] = {"exit_code": before.exit_code}
        if before.is_whole:
            expected["output"] = before.output
        for name, value in expected.items():
            found = observation.get(name)
            if value is not None and found is not None and found != value:
                self.differences.append(Difference(step, name, value, found))
