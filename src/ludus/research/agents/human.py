"""A person at the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from ludus.research.agents.prompts import observation_prompt
from ludus.research.agents.protocol import Action, AgentStopped, StopReason
from ludus.terminal_text import without_controls

__all__ = ["HumanAgent"]

FENCE = "```"


class HumanAgent:
    """Shows observations and asks for commands.

    A command is one line, or several between two lines of three back-ticks. Ctrl-C discards the
    input; Ctrl-C without input, or Ctrl-D, asks whether to stop.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()
        self._greeted = False

    def reset(self, seed: int | None = None, env: Any = None) -> None:
        """Show the task again with the next observation."""
        self._greeted = False

    def get_state(self) -> dict[str, Any]:
        """Return nothing; there is no state."""
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Show the task again with the next observation."""
        self._greeted = False

    def act(self, observation: Mapping[str, Any]) -> Action:
        """Show the observation and return the person's command.

        Raises:
            AgentStopped: The person wants to stop, or the terminal is gone.
        """
        self._show(observation)
        interrupted = False
        while True:
            try:
                command = self._read()
            except KeyboardInterrupt:
                self._console.print()
                if interrupted and self._wants_to_stop():
                    raise _left() from None
                interrupted = True
            except EOFError:
                raise _left() from None
            else:
                if command.strip():
                    return command
                interrupted = False

    def _show(self, observation: Mapping[str, Any]) -> None:
        if not self._greeted:
            task = without_controls(str(observation.get("task", "")))
            self._console.print(Panel(Text(task), title="Task"))
            self._greeted = True
        self._console.print(Text(without_controls(observation_prompt(observation))))

    def _read(self) -> str:
        line = self._console.input(Text("$ ", style="bold"))
        if line.strip() != FENCE:
            return line
        lines: list[str] = []
        while (line := self._console.input(Text("> ", style="dim"))).strip() != FENCE:
            lines.append(line)
        return "\n".join(lines)

    def _wants_to_stop(self) -> bool:
        try:
            answer = self._console.input(Text("Stop here and grade what is there? [y/N] "))
        except (KeyboardInterrupt, EOFError):
            return True
        return answer.strip().lower() in ("y", "yes")


def _left() -> AgentStopped:
    return AgentStopped("The person at the terminal stopped.", reason=StopReason.INTERRUPTED)
