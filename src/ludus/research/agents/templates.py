"""Prompts of one's own in place of those of :mod:`ludus.research.agents.prompts`.

In a template ``{name}`` stands for one of ``VARIABLES``, and ``{{name}}`` for the text ``{name}``;
other braces are text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ludus.errors import ResearchError
from ludus.research.agents import prompts
from ludus.research.agents.replies import utf8

__all__ = ["VARIABLES", "Prompts", "Templates", "checked_demonstrations", "escaped"]

VARIABLES: dict[str, str] = {
    "command_docs": "the commands, with what they do",
    "id": "the task's id",
    "description": "the task's description",
    "training_timeout": "seconds for one command",
    "observation": "what the last command printed",
    "exit_code": "of the last command",
    "current_step": "how many actions have been taken",
    "remaining_steps": "how many are left",
    "seconds_left": "of the episode",
    "open_file": "the open file",
    "working_dir": "the current folder",
    "validation_score": "of the last validation",
    "reason": "why the last reply could not be used",
}
_FIELD = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")
_NONE = "n/a"
_ROLES = ("user", "assistant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """Templates by their place in the conversation; ``None`` for the agent's own prompt.

    Attributes:
        system: The system prompt.
        task: The first message, with the first observation.
        next_step: Each further observation.
        next_step_no_output: One without output; by default ``next_step``.
        malformed: The message after a reply that could not be used.

    Raises:
        ResearchError: One is no text, or names an unknown variable.
    """

    system: str | None = None
    task: str | None = None
    next_step: str | None = None
    next_step_no_output: str | None = None
    malformed: str | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            text = getattr(self, one.name)
            if text is None:
                continue
            if not isinstance(text, str):
                raise ResearchError(f"The template {one.name} is {text!r:.80}; expected a text.")
            unknown = {found[2] for found in _FIELD.finditer(text) if found[2]} - VARIABLES.keys()
            if unknown:
                raise ResearchError(
                    f"The template {one.name} names the unknown variable {min(unknown)!r}; there "
                    f"are {', '.join(VARIABLES)}. Write {{{{name}}}} for the text {{name}}."
                )

    @classmethod
    def of(cls, given: Any) -> Templates:
        """Return the templates of a mapping.

        Raises:
            ResearchError: It is no mapping, or has other keys.
        """
        known = [one.name for one in fields(cls)]
        if not isinstance(given, Mapping) or not given.keys() <= set(known):
            raise ResearchError(
                f"templates is {given!r:.120}; expected some of {', '.join(known)}, with texts."
            )
        return cls(**given)


@dataclass(slots=True)
class Prompts:
    """What the agent says to the model.

    Args:
        templates: Of one's own.
        style: ``"tools"`` or ``"text"``.
        facts: Variables that stay the same in an episode.
    """

    templates: Templates
    style: str
    facts: Mapping[str, str]

    def system(self, observation: Mapping[str, Any]) -> str:
        """Return the system prompt."""
        own = self.templates.system
        if own is None:
            return prompts.system_prompt(self.style)
        return self._filled(own, _seen(observation, 0))

    def opening(self, observation: Mapping[str, Any]) -> tuple[str, str]:
        """Return the first message: the task, and what may be shortened."""
        own = self.templates.task
        if own is None:
            return prompts.task_prompt(observation), prompts.observation_prompt(observation)
        return self._filled(own, _seen(observation, 0)), ""

    def result(self, observation: Mapping[str, Any], step: int) -> str:
        """Return what an action gave."""
        templates = self.templates
        is_silent = not str(observation.get("output", "")).strip()
        own = templates.next_step_no_output if is_silent else templates.next_step
        own = templates.next_step if own is None else own
        if own is None:
            return prompts.observation_prompt(observation)
        return self._filled(own, _seen(observation, step))

    def malformed(self, reason: str) -> str:
        """Return what follows a reply that could not be used."""
        own = self.templates.malformed
        if own is None:
            return prompts.malformed_prompt(reason, self.style)
        return self._filled(own, {"reason": reason})

    def _filled(self, template: str, values: Mapping[str, str]) -> str:
        known = {"command_docs": prompts.command_docs(), **self.facts, **values}

        def value(found: re.Match[str]) -> str:
            return f"{{{found[1]}}}" if found[1] else known.get(found[2], _NONE)

        return _FIELD.sub(value, template)


def escaped(text: str) -> str:
    """Return a text as it is written in a template."""
    return re.sub(r"\{(\w+)\}", r"{{\1}}", text)


def checked_demonstrations(given: Any) -> tuple[dict[str, str], ...]:
    """Return messages that are shown before the task.

    Raises:
        ResearchError: They are something else than messages of the user and the assistant.
    """
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ResearchError(f"demonstrations is {given!r:.80}; expected a list of messages.")
    for one in given:
        if (
            not isinstance(one, Mapping)
            or one.get("role") not in _ROLES
            or not isinstance(one.get("content"), str)
        ):
            raise ResearchError(
                f"demonstrations holds {one!r:.120}; expected {{role: user or assistant, content: "
                "a text}."
            )
    return tuple({"role": str(one["role"]), "content": utf8(one["content"])} for one in given)


def _seen(observation: Mapping[str, Any], step: int) -> dict[str, str]:
    """Return the variables of an observation."""
    names = {
        "remaining_steps": "steps_left", "seconds_left": "seconds_left", "open_file": "open_file",
        "working_dir": "cwd", "exit_code": "exit_code", "validation_score": "validation_score",
    }  # fmt: skip
    known = {name: prompts.plain(observation.get(key)) for name, key in names.items()}
    texts = {"observation": "output", "description": "task"}
    return {
        **{name: value for name, value in known.items() if value and value not in prompts.UNKNOWN},
        **{name: utf8(str(observation.get(key, ""))) for name, key in texts.items()},
        "current_step": str(step),
    }
