"""The words with which a model is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ludus.research.agents.replies import utf8
from ludus.research.tools.inside.table import TOOLS

__all__ = [
    "UNKNOWN",
    "command_docs",
    "malformed_prompt",
    "observation_label",
    "observation_prompt",
    "plain",
    "system_prompt",
    "task_prompt",
]

_COMMON = """\
You are a machine-learning researcher, alone at a Linux shell. You are given one task that has a
baseline; your aim is to do better than the baseline and to hand in what the task asks for.

How the work goes:
- You take one action at a time and see what came of it. The shell lives on between actions: its
  folder and its variables stay. Nobody answers a program's questions, so start none that asks.
- Steps and seconds are limited, and each result says how many are left. A command that does not
  end in time is killed, so try small before you go large.
- `validate` scores what lies in the workspace on validation data and tells you the score. The
  number of validations may be limited, and all of them are reported.
- `submit` ends the work. What is in the workspace then is scored once, on data that you cannot
  see. If you never submit, what is there at the end is scored.
- Only the files that the task names are looked at. A score that you print or write down counts
  for nothing, so put the effort into the method.

Begin by reading what is in the workspace. Keep a working solution there at all times, and improve
it in small steps that you check."""

# How an observation says that there is no limit, or no score yet.
UNKNOWN = ("nan", "inf", "-inf")

_TOOLS = """\


Answer every time with a short thought and exactly one tool call."""

_TEXT = """\


Answer every time with a short thought, then exactly one command in a fenced block:

```bash
ls -la
```

The block may have several lines; they are run together as one script."""


def system_prompt(style: str) -> str:
    """Return the rules of the work, for models that call tools or that write commands."""
    if style == "tools":
        return _COMMON + _TOOLS
    more = f"Besides the usual programs there are these commands:\n{command_docs()}"
    return f"{_COMMON}\n\n{more}{_TEXT}"


def command_docs() -> str:
    """Return the commands of the shell that are tools, a line for each."""
    return "\n".join(f"- `{_usage(name)}`: {tool.about}" for name, tool in TOOLS.items())


def task_prompt(observation: Mapping[str, Any]) -> str:
    """Return the task."""
    return f"The task:\n\n{utf8(str(observation.get('task', '')))}"


def observation_prompt(observation: Mapping[str, Any]) -> str:
    """Return an observation as text: what the action gave, then where things stand."""
    output = utf8(str(observation.get("output", "")))
    facts = [f"{name}: {value}" for name, value in _facts(observation)]
    shown = output if output.strip() else "(no output)"
    return f"{shown}\n\n({'; '.join(facts)})" if facts else shown


def observation_label(observation: Mapping[str, Any]) -> str:
    """Return one line to stand for an output that is left out."""
    lines = str(observation.get("output", "")).count("\n")
    facts = dict(_facts(observation))
    told = [f"{name} {facts[name]}" for name in ("exit code", "validation score") if name in facts]
    return ", ".join([f"{lines} lines", *told])


def malformed_prompt(reason: str, style: str) -> str:
    """Return the prompt after a reply that could not be used."""
    wanted = "one tool call" if style == "tools" else "one command in one fenced block"
    return f"Nothing was done: {reason} Answer again, with a short thought and exactly {wanted}."


def _usage(name: str) -> str:
    words = [name]
    for one in TOOLS[name].parameters:
        shown = "<<'EOF' (lines, then EOF)" if one.from_input else one.name.upper()
        words.append(shown if one.required else f"[{shown}]")
    return " ".join(words)


def _facts(observation: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = {
        "exit_code": "exit code",
        "cwd": "folder",
        "open_file": "open file",
        "validation_score": "validation score",
        "steps_left": "steps left",
        "seconds_left": "seconds left",
    }
    found = []
    for key, name in names.items():
        value = plain(observation.get(key))
        if value and value not in UNKNOWN and (key, value) != ("exit_code", "-1"):
            found.append((name, value))
    return found


def plain(value: Any) -> str | None:
    """Return a text, or a number of any kind or an array of one, as people write it."""
    if value is None or isinstance(value, str):
        return value
    number = float(value.item() if hasattr(value, "item") else value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.6g}"
