"""From a command line to a tool: ``main(["goto", "12"])``."""

from __future__ import annotations

import sys
from collections.abc import Callable

from . import editing, notes, searching, viewing
from .state import Complaint, file_request
from .table import TOOLS

__all__ = ["main"]


def validate() -> str:
    """Ask for a score on the validation data; it follows when the command has ended."""
    file_request("validate")
    return "A validation was asked for; its result follows when this command has ended.\n"


def submit() -> str:
    """Hand in what is there and end the episode when the command has ended."""
    file_request("submit")
    return "The work is handed in when this command has ended.\n"


_FUNCTIONS: dict[str, Callable[..., str]] = {
    "create": editing.create,
    "edit": editing.edit,
    "find_file": searching.find_file,
    "goto": viewing.goto,
    "insert": editing.insert,
    "memory_read": notes.memory_read,
    "memory_write": notes.memory_write,
    "open": viewing.open_file,
    "scroll_down": viewing.scroll_down,
    "scroll_up": viewing.scroll_up,
    "search_dir": searching.search_dir,
    "search_file": searching.search_file,
    "submit": submit,
    "validate": validate,
}


def main(argv: list[str]) -> int:
    """Run one tool and return its exit status: 0, 1 for a complaint, 2 for a wrong call."""
    name, given = argv[0], argv[1:]
    try:
        said = _FUNCTIONS[name](**_arguments(name, given))
    except Complaint as complaint:
        return _end(str(complaint), 1)
    except _WrongCall as problem:
        return _end(f"{problem}\nUsage: {_usage(name)}", 2)
    except OSError as error:
        return _end(f"{name}: {error}", 1)
    sys.stdout.buffer.write(said.encode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    return 0


class _WrongCall(Exception):
    """The arguments do not fit the tool."""


def _arguments(name: str, given: list[str]) -> dict[str, object]:
    tool = TOOLS[name]
    if tool.joins:
        # Quotes around a note are easily forgotten; without words it is read from the input.
        text = " ".join(given) or (_input() if tool.parameters[0].required else "")
        return {tool.parameters[0].name: text}
    words = [p for p in tool.parameters if not p.from_input]
    if not sum(p.required for p in words) <= len(given) <= len(words):
        raise _WrongCall(f"{name} was given {len(given)} arguments.")
    made: dict[str, object] = {
        p.name: _number(word) if p.kind == "integer" else word
        for p, word in zip(words, given, strict=False)
    }
    return made | {p.name: _input() for p in tool.parameters if p.from_input}


def _number(word: str) -> int:
    # The number of digits Python turns into an int is limited, and no file is that long.
    if not word.isascii() or not word.isdigit() or len(word) > 12:
        raise _WrongCall(f"{word!r} is no line number.")
    return int(word)


def _input() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def _usage(name: str) -> str:
    words = [name]
    for parameter in TOOLS[name].parameters:
        shown = "START:END" if parameter.name == "lines" else parameter.name.upper()
        if parameter.from_input:
            words.append("<<'EOF'  (then the text, then EOF on a line of its own)")
        else:
            words.append(shown if parameter.required else f"[{shown}]")
    return " ".join(words)


def _end(text: str, status: int) -> int:
    sys.stderr.buffer.write(text.rstrip("\n").encode("utf-8", "surrogateescape") + b"\n")
    sys.stderr.flush()
    return status
