"""An agent that runs harmless commands at random, as a lower bound and for smoke tests."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from ludus.research.agents.protocol import Action

__all__ = ["RandomAgent"]

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
