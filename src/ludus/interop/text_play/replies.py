"""The action in the text of a model's reply, for models that are not given tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ludus.errors import InvalidAction
from ludus.interop.text_play.tools import KINDS, Tool
from ludus.research.agents.replies import Malformed, parse_reply, reply_of

__all__ = ["arguments_in", "command_in", "how_to_reply"]

_LONGEST = 200_000
_FENCED = re.compile(r"^```[^\n`]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_FLAT = re.compile(r"\{[^{}]*\}")
_EXAMPLES: dict[str, Any] = {
    "string": "...",
    "integer": 1,
    "number": 0.5,
    "integers": [1, 0],
    "numbers": [0.5, -0.5],
}


def how_to_reply(tool: Tool) -> str:
    """Return how a model writes the arguments of a tool as text."""
    example = {one.name: _EXAMPLES[one.kind] for one in tool.parameters}
    fields = "\n".join(
        f"- `{one.name}` ({KINDS[one.kind].schema['type']}): {one.about}" for one in tool.parameters
    )
    return (
        "Answer every time with a short thought, then the action as one JSON object on the last "
        f"line, such as\n\n{json.dumps(example)}\n\nIts fields:\n{fields}"
    )


def arguments_in(text: str) -> Mapping[str, Any]:
    """Return the last JSON object of a reply; reasoning in ``<think>`` is left out.

    Raises:
        InvalidAction: There is none.
    """
    said = reply_of({"content": text[-_LONGEST:]}, "", "").text.strip()
    for candidate in _candidates(said):
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    raise InvalidAction(
        "The reply has no JSON object with an action. Write one on the last line. Nothing was done."
    )


def command_in(text: str) -> Any:
    """Return the action of a research task in a reply: the one command in a fenced block.

    Raises:
        InvalidAction: There is none, or more than one.
    """
    found = parse_reply(reply_of({"content": text}, "", ""), "text")
    if isinstance(found, Malformed):
        raise InvalidAction(
            f"Nothing was done: {found.reason} Answer with one command in one fenced block."
        )
    return found.action


def _candidates(text: str) -> Iterator[str]:
    yield text
    yield text.rpartition("\n")[2]
    yield from reversed(_FENCED.findall(text))
    yield from reversed(_FLAT.findall(text))
