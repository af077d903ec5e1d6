"""Actions as tool calls, and observations as text and pictures: what language models work with.

A research task has the shell and each of its tools; any other environment has one tool, ``act``,
with a JSON Schema made from its action space. No tool begins an episode or tells a reward.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ludus.core.state import copy_plain
from ludus.errors import CodecError, InvalidAction, StateError
from ludus.png import as_image, to_png
from ludus.record.format import canonical
from ludus.research.agents.prompts import observation_prompt, system_prompt, task_prompt
from ludus.research.task.discovery import load_task
from ludus.research.tools.calls import tool_schemas
from ludus.serve.schemas import dumps, plain, reader, schema_of, writer
from ludus.serve.served import Served
from ludus.spaces import Box, Dict, Space

__all__ = [
    "ACT",
    "ToolCall",
    "View",
    "action_of",
    "instructions",
    "is_picture",
    "observation_data",
    "observation_schema",
    "tools_of",
    "view_of",
]

ACT = "act"
"""The only tool of an environment that is no research task."""

_LARGEST_CALL = 1 << 20
_SMALLEST_PICTURE = 24
_PICTURE = {"type": "string", "description": "The name of a picture in the content."}
_UNREPEATED = "task"
"""Field of a research observation that is the same each time; it is in the instructions."""


class ToolCall(NamedTuple):
    """A tool: its name, a description for models, and the JSON Schema of its arguments."""

    name: str
    about: str
    parameters: dict[str, Any]


class View(NamedTuple):
    """An observation for a model: a text, PNG files, and data for JSON that names the pictures."""

    text: str
    pictures: tuple[bytes, ...]
    data: Any


def tools_of(served: Served) -> tuple[ToolCall, ...]:
    """Return the tools that stand for the actions."""
    if served.kind == "research":
        functions = [one["function"] for one in tool_schemas()]
        return tuple(ToolCall(f["name"], f["description"], f["parameters"]) for f in functions)
    parameters = {
        "type": "object",
        "properties": {"action": schema_of(served.action_space)},
        "required": ["action"],
        "additionalProperties": False,
    }
    return (ToolCall(ACT, f"Take one step in {served.name}.", parameters),)


def action_of(served: Served, tool: str, arguments: Mapping[str, Any]) -> Any:
    """Return the action of a tool call.

    Wrong arguments of a research tool are an action too, which the task answers.

    Raises:
        InvalidAction: There is no such tool, or the arguments are no action; the text says what is
            expected.
    """
    names = [one.name for one in tools_of(served)]
    if tool not in names:
        raise InvalidAction(f"There is no tool {tool!r:.100}; there are: {', '.join(names)}.")
    if served.kind == "research":
        return _recordable({"tool": tool, "arguments": dict(arguments)})
    if set(arguments) != {"action"}:
        raise InvalidAction(
            f"The tool {ACT!r} takes one argument, 'action', and was given "
            f"{sorted(arguments)!r:.200}."
        )
    return reader(served.action_space)(arguments["action"])


def _recordable(call: dict[str, Any]) -> dict[str, Any]:
    """Return a call as it is; in a record, one that no record can hold would end the episode."""
    try:
        size = len(canonical.dumps({"action": copy_plain(call, "action")}))
    except (StateError, CodecError, RecursionError) as problem:
        raise InvalidAction(f"The arguments are not plain data: {problem!s:.300}") from None
    if size > _LARGEST_CALL:
        raise InvalidAction(f"The call has {size:,} bytes; at most {_LARGEST_CALL:,} are taken.")
    return call


def instructions(served: Served, observation: Any = None) -> str:
    """Return what a model is told before its first action.

    Args:
        served: What it works on.
        observation: Of a research task, an observation, which may say more than the task's file.
    """
    if served.kind == "research":
        told = observation or {"task": load_task(served.spec.kwargs["task"]).config.description}
        return f"{system_prompt('tools')}\n\n{task_prompt(told)}"
    steps = served.facts.spec.max_episode_steps
    about = [
        served.description,
        f"Each call of the tool {ACT!r} is one step.",
        f"Its argument 'action' is a member of {served.action_space!s:.1000}.",
        f"Observations are members of {served.observation_space!s:.1000}.",
    ]
    if steps is not None:
        about.append(f"An episode has at most {steps} steps.")
    return "\n".join(about)


def view_of(served: Served, observation: Any) -> View:
    """Return an observation for a model; arrays that are images become pictures."""
    pictures: list[bytes] = []
    data = plain(_written(served.observation_space, observation, pictures))
    if served.kind == "research":
        data.pop(_UNREPEATED, None)
        return View(observation_prompt(observation), tuple(pictures), data)
    return View(data if isinstance(data, str) else dumps(data), tuple(pictures), data)


def observation_data(served: Served, observation: Any) -> Any:
    """Return an observation as data for JSON, images as nested lists."""
    return plain(writer(served.observation_space)(observation))


def observation_schema(served: Served) -> dict[str, Any]:
    """Return the JSON Schema of the data of :func:`view_of`."""
    schema = _schema(served.observation_space)
    if served.kind == "research" and "properties" in schema:
        schema["properties"].pop(_UNREPEATED, None)
        schema["required"] = [name for name in schema["required"] if name != _UNREPEATED]
    return schema


def is_picture(space: Space[Any]) -> bool:
    """Whether the members of a space are images that a person would look at."""
    if not isinstance(space, Box) or space.dtype != np.uint8:
        return False
    shape = space.shape
    has_colours = len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3, 4))
    return has_colours and min(shape[:2]) >= _SMALLEST_PICTURE


def _written(space: Space[Any], value: Any, pictures: list[bytes]) -> Any:
    if is_picture(space):
        pictures.append(to_png(as_image(value)))
        return f"picture {len(pictures)}"
    if isinstance(space, Dict):
        parts = space.spaces.items()
        return {str(key): _written(part, value[key], pictures) for key, part in parts}
    return writer(space)(value)


def _schema(space: Space[Any]) -> dict[str, Any]:
    if is_picture(space):
        return dict(_PICTURE)
    schema = schema_of(space)
    if isinstance(space, Dict):
        schema["properties"] = {str(key): _schema(part) for key, part in space.spaces.items()}
    return schema
