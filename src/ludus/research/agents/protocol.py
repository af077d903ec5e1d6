"""The protocol of agents in research episodes.

Only ``act`` is required. An agent may also have

* ``reset(seed, env)``, called before every episode; in a run, ``env`` describes the task and its
  spaces, and cannot be stepped;
* ``close()``, called at the end;
* ``cost``, the money spent so far;
* ``get_state()`` and ``set_state(state)``, plain data to continue an interrupted episode.

In a run an agent is given observations and nothing else: no rewards, no ``info``, and not the last
observation.

An agent that has finished raises :class:`AgentStopped`; the workspace is then graded. An agent
whose model cannot be reached raises :class:`~ludus.errors.ModelServerError`, which is an
infrastructure fault and no score.
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
    """The agent ends the episode without submitting; its work is graded.

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
