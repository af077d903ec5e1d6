"""What a research episode asks of an agent.

Only ``act`` is needed. An agent may also have

* ``reset(seed, env)``, called before every episode; in a run, ``env`` tells of the task and its
  spaces, and cannot be stepped;
* ``close()``, called when it is needed no longer;
* ``cost``, the money spent up to now;
* ``get_state()`` and ``set_state(state)``, plain data with which an interrupted episode goes on.

In a run an agent is given observations and nothing else: no rewards, no ``info``, and not the last
observation, after which it is not asked any more.

An agent that has nothing more to do raises :class:`AgentStopped`: the episode is then over, and
what lies in the workspace is graded. An agent whose model cannot be reached raises
:class:`~ludus.errors.ModelServerError`, which says nothing about the agent and is no score.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from ludus.errors import ResearchError
from ludus.research.episode.actions import Action

__all__ = ["Action", "Agent", "AgentStopped", "StopReason"]


class StopReason(StrEnum):
    """Why an agent acts no longer."""

    CALLS = "call_limit"
    CONTEXT = "context_limit"
    COST = "cost_limit"
    INTERRUPTED = "interrupted"
    MALFORMED = "malformed_replies"
    OVER = "nothing_left"
    REFUSED = "request_refused"
    TIME = "time_limit"
    TOKENS = "token_limit"


class AgentStopped(ResearchError):
    """The agent ends the episode without submitting; what is there is graded.

    Attributes:
        reason: Why, as one of a few words.
    """

    def __init__(self, message: str, *, reason: StopReason) -> None:
        super().__init__(message)
        self.reason = reason


@runtime_checkable
class Agent(Protocol):
    """Chooses one action at a time."""

    def act(self, observation: Any) -> Action:
        """Return the next action.

        Raises:
            AgentStopped: There is none.
            ModelServerError: The model that it needs failed.
        """
