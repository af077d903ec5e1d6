"""An agent that executes a fixed list of actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ludus.errors import InvalidAction, ResearchError
from ludus.foreign_files import read_regular
from ludus.plain_yaml import YamlError, YamlLimits, read_yaml
from ludus.research.agents.protocol import AgentStopped, StopReason
from ludus.research.episode.actions import Action, read_action

__all__ = ["ScriptedAgent"]

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
