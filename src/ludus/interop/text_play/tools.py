"""Tools for a model, made from an action space or from the tools of a research task."""

from __future__ import annotations

import keyword
import math
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ludus.core import Env
from ludus.errors import CustomSpaceError, InvalidAction
from ludus.research.episode.actions import ActionSpace
from ludus.research.tools.calls import tool_schemas
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple

__all__ = ["ACT", "KINDS", "Kind", "Parameter", "Tool", "tools_of"]

ACT = "act"
"""The tool of an environment that is no research task."""

_LONGEST = 1 << 16


class Kind(NamedTuple):
    """A kind of argument, as Python and as JSON Schema describe it."""

    hint: Any
    schema: Mapping[str, Any]


KINDS: dict[str, Kind] = {
    "string": Kind(str, {"type": "string"}),
    "integer": Kind(int, {"type": "integer"}),
    "number": Kind(float, {"type": "number"}),
    "integers": Kind(list[int], {"type": "array", "items": {"type": "integer"}}),
    "numbers": Kind(list[float], {"type": "array", "items": {"type": "number"}}),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool.

    Attributes:
        name: A Python identifier.
        about: Description, for a model.
        kind: A key of :data:`KINDS`.
        required: Whether it must be given.
    """

    name: str
    about: str
    kind: str
    required: bool = True

    @property
    def hint(self) -> Any:
        """The type hint of a Python function with this parameter."""
        hint = KINDS[self.kind].hint
        return hint if self.required else hint | None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model calls.

    Attributes:
        name: A Python identifier.
        about: Description, for a model.
        parameters: The arguments.
        action: Makes the action from the arguments; raises ``InvalidAction`` where they are wrong.
    """

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    action: Callable[[Mapping[str, Any]], Any]

    @property
    def schema(self) -> dict[str, Any]:
        """The arguments as a JSON Schema."""
        return {
            "type": "object",
            "properties": {
                one.name: {**KINDS[one.kind].schema, "description": one.about}
                for one in self.parameters
            },
            "required": [one.name for one in self.parameters if one.required],
            "additionalProperties": False,
        }


def tools_of(env: Env[Any, Any]) -> tuple[Tool, ...]:
    """Return the tools with which a model acts in an environment.

    A research task has its own tools, the shell first. Any other environment has one tool,
    ``act``, whose arguments are made from the action space.

    Raises:
        CustomSpaceError: A model cannot write actions of this space as a few arguments.
    """
    if isinstance(env.action_space, ActionSpace):
        return tuple(_research_tools())
    return (_act(env.action_space),)


def _research_tools() -> Iterator[Tool]:
    for schema in tool_schemas():
        function = schema["function"]
        fields, needed = function["parameters"]["properties"], function["parameters"]["required"]
        parameters = tuple(
            Parameter(name, field["description"], field["type"], name in needed)
            for name, field in fields.items()
        )
        name = function["name"]
        yield Tool(name, function["description"], parameters, _Call(name))


@dataclass(frozen=True, slots=True)
class _Call:
    """Makes a tool call of a research task, which says itself what is wrong with arguments."""

    tool: str

    def __call__(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in arguments.items() if value is not None}
        return {"tool": self.tool, "arguments": given}


def _act(space: Space[Any]) -> Tool:
    parts = _parts(space)
    parameters = tuple(
        Parameter(name, *_described(part, name, space)) for name, part in parts.items()
    )
    return Tool(ACT, "Take one action in the environment.", parameters, _Act(space, parts))


def _parts(space: Space[Any]) -> dict[str, Space[Any]]:
    """Return the space of each argument."""
    if isinstance(space, Dict) and all(map(_is_name, space.spaces)):
        return dict(space.spaces)
    if isinstance(space, Tuple):
        return {f"part_{n}": part for n, part in enumerate(space.spaces, 1)}
    return {"action": space}


def _is_name(key: object) -> bool:
    """Whether a Python function can have a parameter of this name beside ``self``."""
    named = isinstance(key, str) and key.isidentifier() and not keyword.iskeyword(key)
    return named and key != "self"


def _described(part: Space[Any], name: str, whole: Space[Any]) -> tuple[str, str]:
    """Return the description and the kind of an argument."""
    for kind, (about, name_of_kind) in _FORMS.items():
        if isinstance(part, kind) and len(getattr(part, "shape", None) or ()) <= 1:
            numeric = name_of_kind[bool(getattr(part, "shape", None))]
            whole_numbers = part.dtype is not None and np.dtype(part.dtype).kind in "iub"
            return about(part), numeric if not whole_numbers else _WHOLE.get(numeric, numeric)
    raise CustomSpaceError(
        f"A model cannot act in {whole}: its part {name!r} is {part}. Tools take numbers, lists of "
        "numbers and texts: Discrete, MultiDiscrete, MultiBinary, Text, Box with at most one axis, "
        "or a Dict or Tuple of these. Use a wrapper such as ludus.wrappers.FlattenAction or "
        "TransformAction."
    )


def _bounds(low: Any, high: Any) -> str:
    if np.isfinite(low) and np.isfinite(high):
        return f" from {_number(low)} to {_number(high)}"
    if np.isfinite(low):
        return f", at least {_number(low)}"
    return f", at most {_number(high)}" if np.isfinite(high) else ""


def _box(space: Box) -> str:
    low, high = space.low.ravel(), space.high.ravel()
    if not space.shape:
        return f"A number{_bounds(low[0], high[0])}."
    if (low == low[0]).all() and (high == high[0]).all():
        return f"A list of {len(low)} numbers, each{_bounds(low[0], high[0]) or ' any number'}."
    each = "; ".join(_bounds(a, b).strip(" ,") or "any" for a, b in zip(low, high, strict=True))
    return f"A list of {len(low)} numbers: {each}."


def _multi_discrete(space: MultiDiscrete) -> str:
    start = space.start.ravel()
    each = "; ".join(f"{a} to {a + n - 1}" for a, n in zip(start, space.nvec.ravel(), strict=True))
    return f"A list of {len(start)} whole numbers: {each}."


# What is said of a space, and the kinds of an argument without and with an axis.
_FORMS: dict[type[Any], tuple[Callable[[Any], str], tuple[str, str]]] = {
    Discrete: (
        lambda space: f"A whole number from {space.start} to {space.start + space.n - 1}.",
        ("integer", "integer"),
    ),
    MultiDiscrete: (_multi_discrete, ("integer", "integers")),
    MultiBinary: (
        lambda space: f"A list of {space.shape[0]} numbers, each 0 or 1.",
        ("integer", "integers"),
    ),
    Box: (_box, ("number", "numbers")),
    Text: (
        lambda space: (
            f"A text of {space.min_length} to {space.max_length:,} of the characters "
            f"{''.join(sorted(space.character_set))!r:.300}."
        ),
        ("string", "string"),
    ),
}
_WHOLE = {"number": "integer", "numbers": "integers"}


@dataclass(frozen=True, slots=True)
class _Act:
    """Makes an action of a space from arguments, which may be anything that JSON holds."""

    space: Space[Any]
    parts: Mapping[str, Space[Any]]

    def __call__(self, arguments: Mapping[str, Any]) -> Any:
        for name in arguments:
            if name not in self.parts:
                raise InvalidAction(
                    f"There is no argument {name!r:.60}; expected {', '.join(self.parts)}."
                )
        values = {}
        for name, part in self.parts.items():
            if name not in arguments:
                raise InvalidAction(f"The argument {name!r} is missing.")
            values[name] = _member(part, arguments[name], name)
        if isinstance(self.space, Dict):
            return values
        return tuple(values.values()) if isinstance(self.space, Tuple) else values["action"]


def _member(space: Space[Any], value: Any, name: str) -> Any:
    """Return the member of a space that a value from JSON means."""
    made = _converted(space, value)
    if made is None or not space.contains(made):
        about, _ = _described(space, name, space)
        raise InvalidAction(
            f"The argument {name!r} is {reprlib.repr(value)}; expected: {about} Nothing was done."
        )
    return made


def _converted(space: Space[Any], value: Any) -> Any:
    """Return the value as the space holds it; ``None`` if it is of another kind."""
    if isinstance(space, Text):
        return value if isinstance(value, str) and len(value) <= _LONGEST else None
    rows = value if isinstance(value, list) else [value]
    if isinstance(value, list) != bool(space.shape) or not all(map(_is_number, rows)):
        return None
    if space.shape and len(rows) != space.shape[0]:
        return None
    dtype = np.dtype(space.dtype)
    if dtype.kind in "iub":
        if not all(float(one).is_integer() for one in rows):
            return None
        limits = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if not all(limits[0] <= one <= limits[1] for one in rows):
            return None
        rows = [int(one) for one in rows]
    elif not all(abs(one) <= np.finfo(dtype).max for one in rows):
        return None
    array = np.array(rows, dtype).reshape(space.shape)
    return dtype.type(array) if isinstance(space, Discrete) else array


def _is_number(value: object) -> bool:
    if type(value) is int:
        return abs(value) < 1 << 64
    return type(value) is float and math.isfinite(value)


def _number(value: Any) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.6g}"
