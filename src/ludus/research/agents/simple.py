"""Agents without a model: a list of actions, a trajectory again, harmless commands at random."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludus.errors import InvalidAction, ResearchError
from ludus.foreign_files import read_regular
from ludus.plain_yaml import YamlError, YamlLimits, read_yaml
from ludus.research.agents.protocol import AgentStopped, StopReason
from ludus.research.episode.actions import Action, read_action

if TYPE_CHECKING:
    from ludus.research.running.trajectory import ResearchTrajectory

__all__ = ["Difference", "RandomAgent", "ReplayAgent", "ScriptedAgent"]

MAX_SCRIPT_BYTES = 2**22
_LIMITS = YamlLimits(characters=MAX_SCRIPT_BYTES, scalar=MAX_SCRIPT_BYTES)


class ScriptedAgent:
    """Takes the actions of a list, one after the other, then stops."""

    def __init__(self, actions: Iterable[Action]) -> None:
        """Make the agent.

        Raises:
            ResearchError: One of them is neither a text nor a tool call.
        """
        self.actions = tuple(actions)
        self._next = 0
        for n, action in enumerate(self.actions):
            try:
                read_action(action)
            except InvalidAction as problem:
                raise ResearchError(f"Action {n} of the script is invalid: {problem}") from problem

    @classmethod
    def from_file(cls, path: str | Path) -> ScriptedAgent:
        """Return the agent for a YAML or JSON file: a list of texts and of tool calls.

        Raises:
            ResearchError: The file cannot be read, or is no such list.
        """
        path = Path(path)
        try:
            text = read_regular(path, MAX_SCRIPT_BYTES)
            actions = read_yaml(text, _LIMITS).data
        except (OSError, YamlError) as problem:
            raise ResearchError(f"The script {path} cannot be read: {problem}") from problem
        if not isinstance(actions, list):
            raise ResearchError(
                f"The script {path} must be a list of actions in at most {MAX_SCRIPT_BYTES} bytes, "
                "such as `- python solve.py` and `- submit`, a line each."
            )
        return cls(actions)

    def reset(self, seed: int | None = None, env: Any = None) -> None:
        """Begin again with the first action."""
        self._next = 0

    def act(self, observation: Any) -> Action:
        """Return the next action.

        Raises:
            AgentStopped: There are no more.
        """
        if self._next >= len(self.actions):
            raise AgentStopped(
                f"All {len(self.actions)} actions of the script were taken.", reason=StopReason.OVER
            )
        self._next += 1
        return self.actions[self._next - 1]

    def get_state(self) -> dict[str, Any]:
        """Return which action comes next."""
        return {"next": self._next}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a state of :meth:`get_state`."""
        self._next = int(state["next"])


_COMMANDS = (
    "ls -la",
    "pwd",
    "ls -R | head -n {n}",
    "head -n {n} *.md",
    "head -n {n} *.py",
    "wc -l *",
    "df -h .",
    "echo {n}",
    "find . -type f | sort | head -n {n}",
    "python -c 'print({n} ** 2)'",
    "cd . && ls | wc -l",
    "nl -ba *.py | tail -n {n}",
    "date -u +%Y",
    "mkdir -p notes && echo {n} >> notes/numbers.txt",
    "cat notes/numbers.txt",
    "false",
)


class RandomAgent:
    """Runs harmless commands at random, the same ones for the same seed.

    Args:
        seed: Used if the episode has none.
        submit_after: Actions before it submits; ``None`` for never.
    """

    def __init__(self, seed: int = 0, *, submit_after: int | None = None) -> None:
        self._seed = seed
        self._submit_after = submit_after
        self.reset()

    def reset(self, seed: int | None = None, env: Any = None) -> None:
        """Begin again."""
        self._base = self._seed if seed is None else seed
        self._taken = 0

    def act(self, observation: Any) -> Action:
        """Return a command."""
        if self._submit_after is not None and self._taken >= self._submit_after:
            return "submit"
        # One generator for each action, so that a count is all the state there is.
        draw = random.Random(f"{self._base}/{self._taken}")  # noqa: S311 - chance, not secrecy
        self._taken += 1
        return draw.choice(_COMMANDS).format(n=draw.randint(1, 40))

    def get_state(self) -> dict[str, Any]:
        """Return seed and number of actions taken."""
        return {"seed": self._base, "taken": self._taken}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a state of :meth:`get_state`."""
        self._base, self._taken = int(state["seed"]), int(state["taken"])


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
