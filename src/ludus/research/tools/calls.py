"""Structured calls of tools: what they may say, and the command line that does the same."""

from __future__ import annotations

import difflib
import hashlib
import shlex
from collections.abc import Mapping
from typing import Any

from ludus.research.tools.inside.table import TOOLS, Parameter, Tool
from ludus.research.tools.jobs import JOBS, JOBS_TOOL

__all__ = ["SHELL", "WrongCall", "command_line", "tool_schemas"]

SHELL = "shell"
"""The name under which a structured call runs any command."""

_SHELL_ABOUT = (
    "Run a command in the persistent bash of the workspace. The folder and variables stay as they "
    "are; whatever still runs when the command has ended is stopped."
)

_DIGITS = 18
"""Of a whole number; Python writes none of more than 4,300."""


class WrongCall(ValueError):
    """An invalid tool call; the text says why, for the agent."""


def command_line(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the command line of a tool call.

    Raises:
        WrongCall: there is no such tool, or its arguments are wrong.
    """
    if tool not in TOOLS:
        names = [SHELL, *TOOLS, JOBS]
        near = difflib.get_close_matches(tool, names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(names)}."
        raise WrongCall(f"There is no tool {tool!r}. {hint}")
    parameters = TOOLS[tool].parameters
    unknown = sorted(set(map(str, arguments)) - {p.name for p in parameters})
    if unknown:
        known = ", ".join(p.name for p in parameters) or "no arguments"
        raise WrongCall(f"{tool} has no argument {unknown[0]!r}; it takes {known}.")
    words, text = [tool], None
    for parameter in parameters:
        value = arguments.get(parameter.name)
        if value is None:
            if parameter.required:
                raise WrongCall(f"{tool} needs the argument {parameter.name!r}.")
            continue
        checked = _checked(tool, parameter, value)
        if parameter.from_input or (TOOLS[tool].joins and parameter.required):
            text = checked
        else:
            words.append(shlex.quote(checked))
    line = " ".join(words)
    return line if text is None else f"{line} {_here_document(text)}"


def tool_schemas() -> list[dict[str, Any]]:
    """Return every tool, the shell first, as functions in the form that model servers take."""
    command = Parameter("command", "One or more lines of bash.")
    tools = {SHELL: Tool(_SHELL_ABOUT, (command,)), **TOOLS, JOBS: JOBS_TOOL}
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": tool.about,
                "parameters": {
                    "type": "object",
                    "properties": {
                        p.name: {"type": p.kind, "description": p.about} for p in tool.parameters
                    },
                    "required": [p.name for p in tool.parameters if p.required],
                    "additionalProperties": False,
                },
            },
        }
        for name, tool in tools.items()
    ]


def _checked(tool: str, parameter: Parameter, value: object) -> str:
    is_number = parameter.kind == "integer"
    if is_number and type(value) is int and abs(value) < 10**_DIGITS:
        return str(value)
    if parameter.kind == "string" and isinstance(value, str):
        return value
    raise WrongCall(
        f"The argument {parameter.name!r} of {tool} is a {type(value).__name__}; expected "
        + (f"a whole number of at most {_DIGITS} digits." if is_number else "a text.")
    )


def _here_document(text: str) -> str:
    """Return ``text`` as a command's input, ended by a line that it does not hold itself."""
    # From the text itself, so that the same call is always the same command.
    mark = "END_" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    end = "" if not text or text.endswith("\n") else "\n"
    return f"<<'{mark}'\n{text}{end}{mark}"
