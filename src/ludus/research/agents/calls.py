"""What an agent reports of each call of its model, so that the record holds the conversation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ludus.research.agents.replies import Answer

__all__ = ["CallLog", "ModelCall", "NoCallLog"]

MOST_MESSAGES = 100_000
Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request that a model has answered.

    Attributes:
        messages: The whole prompt, in the form of chat completions.
        tools: Schemas of the tools that the model could call.
        answer: The reply, and what it took.
        cost: Money.
        usage: ``prompt_tokens`` and ``completion_tokens`` that were counted for it, estimated where
            the server does not state them.
        is_probe: Whether it only tried if the server answers; nothing was done with the reply.

    Raises:
        ValueError: The cost or the seconds are no amount, or there are too many messages.
    """

    messages: Messages
    tools: Messages
    answer: Answer
    cost: float = 0.0
    usage: Mapping[str, int] = field(default_factory=dict)
    is_probe: bool = False

    def __post_init__(self) -> None:
        for name, value in (("cost", self.cost), ("seconds", self.answer.seconds)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"The {name} of a call is {value!r}; expected 0 or more.")
        if len(self.messages) > MOST_MESSAGES:
            raise ValueError(f"A call may have {MOST_MESSAGES} messages; got {len(self.messages)}.")


class CallLog(Protocol):
    """Records calls, and knows the answers that were recorded before an episode was interrupted."""

    def known(self, messages: Messages, tools: Messages) -> Answer | None:
        """Return the recorded answer to a request that need not be made again.

        Each is returned once.
        """

    def add(self, call: ModelCall) -> None:
        """Record a call; when this returns, it survives the end of the process."""


class NoCallLog:
    """Records nothing."""

    def known(self, messages: Messages, tools: Messages) -> Answer | None:
        """Know nothing."""
        return None

    def add(self, call: ModelCall) -> None:
        """Record nothing."""
