from __future__ import annotations

import io

import pytest
from rich.console import Console

from ludus.research.agents import AgentStopped, HumanAgent, StopReason
from ludus.terminal_text import without_controls
from tests.research.agents.support import seen


class Terminal(Console):
    """A console at which keys are pressed beforehand."""

    def __init__(self, *keys):
        super().__init__(file=io.StringIO(), width=80)
        self.keys = list(keys)

    def input(self, prompt="", **options):
        self.print(prompt, end="")
        key = self.keys.pop(0)
        if isinstance(key, type):
            raise key
        return key

    @property
    def shown(self):
        return self.file.getvalue()


def test_it_shows_the_task_once_and_returns_what_is_typed():
    terminal = Terminal("ls", "", "  ", "pwd")
    agent = HumanAgent(terminal)
    assert agent.act(seen("[bold]not markup[/bold]")) == "ls"
    assert agent.act(seen("two")) == "pwd"
    assert terminal.shown.count("Predict the weather.") == 1
    assert "[bold]not markup[/bold]" in terminal.shown
    assert "steps left: 9" in terminal.shown


def test_several_lines_between_fences():
    assert HumanAgent(Terminal("```", "a", "", "b", "```")).act(seen()) == "a\n\nb"


def test_ctrl_c_throws_away_what_was_typed():
    assert HumanAgent(Terminal("```", "rm x", KeyboardInterrupt, "ls")).act(seen()) == "ls"


@pytest.mark.parametrize(
    "keys",
    [
        (EOFError,),
        (KeyboardInterrupt, KeyboardInterrupt, "y"),
        (KeyboardInterrupt, KeyboardInterrupt, KeyboardInterrupt),
        (KeyboardInterrupt, EOFError),
    ],
)
def test_one_can_leave(keys):
    with pytest.raises(AgentStopped) as stopped:
        HumanAgent(Terminal(*keys)).act(seen())
    assert stopped.value.reason is StopReason.INTERRUPTED


def test_one_can_stay():
    keys = (KeyboardInterrupt, KeyboardInterrupt, "n", "ls")
    assert HumanAgent(Terminal(*keys)).act(seen()) == "ls"


def test_nothing_that_a_terminal_would_obey_is_shown():
    nasty = "a\x1b[2J\x1b]0;title\x07b\x1b]52;c;ZXZpbA==\x1b\\c\rd\x9b31m\x08e\x1bPx\n\ttab"
    assert (
        without_controls(nasty)
        == "abc\N{REPLACEMENT CHARACTER}d"
        + without_controls("\x9b")
        + "31m"
        + without_controls("\x08")
        + "ex\n\ttab"
    )
    terminal = Terminal("ls")
    HumanAgent(terminal).act(seen(nasty, task=nasty))
    assert not set("\x1b\x07\x08\x9b\r") & set(terminal.shown)
