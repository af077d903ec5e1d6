"""The conversation so far, and the part of it that a model is shown.

The whole history is kept; each call gets a view that fits. Shown are, as long as there is room, the
task, every action, and the outputs of the first and last steps; other outputs become one line that
says what was left out. If that is still too long, narrower views are tried.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["History", "Turn", "View", "estimate_tokens", "shorten"]

Message = dict[str, Any]

CHARACTERS_PER_TOKEN = 3.0
"""Lower than the usual four, as code and tables have shorter tokens than prose."""
TOKENS_PER_MESSAGE = 8


@dataclass(slots=True)
class Turn:
    """A reply of the model, and its result."""

    text: str
    tool: str | None = None
    arguments: str = ""
    """Of the tool call, in JSON as the model wrote it."""
    call_id: str = ""
    output: str = ""
    label: str = ""
    """What is said of the output where it is left out."""


@dataclass(frozen=True, slots=True)
class View:
    """How much of a history is shown."""

    first: int
    last: int
    characters: int
    """Of one output; longer ones lose their middle."""
    said: int = 10**9
    """Characters of what the model said, and of a call's arguments."""
    middle: bool = True
    """Whether demonstrations, and turns without output, are shown at all."""


@dataclass(slots=True)
class History:
    """System prompt, task, and turns.

    Args:
        keep_first: First turns whose output is shown.
        keep_last: Last turns whose output is shown.
        characters: Of one output, in the widest view.
    """

    keep_first: int = 3
    keep_last: int = 5
    characters: int = 24_000
    system: str = ""
    task: str = ""
    opening: str = ""
    """What was seen before the first turn; shortened like an output."""
    demonstrations: tuple[Message, ...] = ()
    """Messages between system prompt and task, as long as there is room."""
    turns: list[Turn] = field(default_factory=list)

    def messages(self, budget: float = math.inf) -> list[Message] | None:
        """Return the widest view of at most ``budget`` tokens as estimated; ``None`` if none is."""
        for view in self._views():
            shown = list(self._shown(view))
            if estimate_tokens(shown) <= budget:
                return shown
        return None

    def get_state(self) -> dict[str, Any]:
        """Return all that was said as plain data."""
        turns = [asdict(turn) for turn in self.turns]
        texts = {"system": self.system, "task": self.task, "opening": self.opening}
        return {**texts, "turns": turns}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Put all that was said in place of what is here."""
        self.system, self.task, self.opening = (state[n] for n in ("system", "task", "opening"))
        self.turns = [Turn(**turn) for turn in state["turns"]]

    def _views(self) -> Iterator[View]:
        first, last, size = self.keep_first, self.keep_last, self.characters
        yield View(first, last, size)
        yield View(first, last, min(size, 6000))
        yield View(min(first, 1), last, min(size, 3000), 6000)
        yield View(min(first, 1), min(last, 3), min(size, 2000), 3000)
        yield View(min(first, 1), min(last, 3), min(size, 1000), 1500, middle=False)
        yield View(0, min(last, 2), min(size, 600), 600, middle=False)
        yield View(0, 1, 300, 300, middle=False)

    def _shown(self, view: View) -> Iterator[Message]:
        yield {"role": "system", "content": self.system}
        opening = shorten(self.opening, view.characters)
        if view.middle:
            yield from self.demonstrations
        yield {"role": "user", "content": f"{self.task}\n\n{opening}" if opening else self.task}
        last = max(len(self.turns) - view.last, 0)
        hidden = 0
        for index, turn in enumerate(self.turns):
            if index < view.first or index >= last:
                if hidden:
                    yield {"role": "user", "content": f"[{hidden} steps are left out here]"}
                    hidden = 0
                yield from _turn_messages(turn, shorten(turn.output, view.characters), view.said)
            elif view.middle:
                label = turn.label or f"{len(turn.output)} characters"
                yield from _turn_messages(turn, f"[output left out: {label}]", min(view.said, 2000))
            else:
                hidden += 1


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens messages have; rather too many than too few."""
    total = 0
    for message in messages:
        characters = len((message.get("content") or "").encode())
        for call in message.get("tool_calls", ()):
            characters += len(call["function"]["name"]) + len(call["function"]["arguments"])
        total += TOKENS_PER_MESSAGE + math.ceil(characters / CHARACTERS_PER_TOKEN)
    return total


def shorten(text: str, characters: int) -> str:
    """Return the text, or its two ends if it has more characters than that."""
    if len(text) <= characters:
        return text
    head = characters // 3
    tail = characters - head
    left_out = len(text) - characters
    return f"{text[:head]}\n[… {left_out} characters left out …]\n{text[len(text) - tail :]}"


def _turn_messages(turn: Turn, output: str, said: int) -> Iterator[Message]:
    reply: Message = {"role": "assistant", "content": shorten(turn.text, said)}
    if turn.tool is None:
        yield reply
        yield {"role": "user", "content": output}
        return
    arguments = turn.arguments
    if len(arguments) > said:
        # Half of a JSON text would be none, which some servers refuse.
        arguments = json.dumps({"left_out": f"{len(arguments)} characters"})
    function = {"name": turn.tool, "arguments": arguments}
    reply["tool_calls"] = [{"id": turn.call_id, "type": "function", "function": function}]
    yield reply
    yield {"role": "tool", "tool_call_id": turn.call_id, "content": output}
