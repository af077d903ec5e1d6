"""Reads ``task.yaml``, with the line of each error."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from ludus.errors import TaskError
from ludus.plain_yaml import YamlError, read_yaml
from ludus.research.task.config import Artefact, Commands, Evaluation, Resources, TaskConfig

__all__ = ["LONGEST", "Problem", "config_of", "line_of", "parse_config", "read_config"]

LONGEST = 200_000
"""Characters of a task's file; more is no task's file."""

_PARTS: dict[str, type[BaseModel]] = {
    "evaluation": Evaluation,
    "resources": Resources,
    "run": Commands,
    "submission": Artefact,
}
_ELSEWHERE = {
    "baseline_paths": "put the baseline solution into the folder 'baseline'",
    "baseline_scores": "write it as evaluation.baseline",
    "dataset_configs": "write the data with data.py, or put it into the folder 'workspace'",
    "extends": "write it into a file: only a task's file can extend another task",
    "evaluation_paths": "put the grader into grader/grade.py",
    "requirements_path": "list what is imported under 'packages'",
    "starter_code": "put it into the folder 'workspace'",
    "submission_path": "list it under 'submission', with its kind",
    "task_entrypoint": "give it to register_task(entry_point=...)",
    "training_timeout": "write it as timeout",
}
"""Fields that belong elsewhere: those of MLGym's own files, and ``extends``."""

_Path = tuple[str | int, ...]
_KINDS: dict[str, tuple[str, str]] = {
    "bool_type": ("expected true or false", "write true or false"),
    "dict_type": ("expected fields", "write 'field: value' lines below it"),
    "float_type": ("expected a number", "write it without quotes"),
    "int_type": ("expected a whole number", "write it without quotes and point"),
    "missing": ("this field is required", "add it"),
    "model_type": ("expected fields", "write 'field: value' lines below it"),
    "string_too_short": ("it is empty", "write something"),
    "string_type": ("expected a text", "put it in quotes"),
    "tuple_type": ("expected a list", "write [a, b], or lines that begin with '- '"),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a task's file, and what to do about it."""

    file: str
    line: int
    field: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.field}: {self.message}; {self.fix}"


def parse_config(text: str, source: str, base: TaskConfig | None = None) -> TaskConfig:
    """Parse the text of a task's file; messages call it ``source``.

    Fields that it lacks, but for the id, are those of the task that it extends, its ``base``.

    Raises:
        TaskError: Something is wrong; every field, its line and the fix are named.
    """
    config, problems = read_config(text, source, base)
    if config is None:
        raise TaskError("\n".join(map(str, problems)))
    return config


def config_of(fields: Mapping[str, Any], source: str) -> TaskConfig:
    """Return the configuration that a mapping describes; messages call it ``source``.

    Raises:
        TaskError: Something is wrong; every field and the fix are named.
    """
    try:
        return TaskConfig.model_validate(dict(fields))
    except ValidationError as problem:
        told = (
            f"{source}: {one.field}: {one.message}; {one.fix}"
            for one in _problems(problem, source, lambda _: 1)
        )
        raise TaskError("\n".join(told)) from problem


def read_config(
    text: str, source: str, base: TaskConfig | None = None
) -> tuple[TaskConfig | None, tuple[Problem, ...]]:
    """Return what the text of a task's file says, or ``None`` and what is wrong with it."""

    def whole(message: str, fix: str, line: int = 1) -> tuple[None, tuple[Problem, ...]]:
        return None, (Problem(source, line, "task", message, fix),)

    if len(text) > LONGEST:
        return whole(f"it has {len(text)} characters", f"a task's file has at most {LONGEST}")
    try:
        document = read_yaml(text)
    except YamlError as problem:
        return whole(problem.problem, "check indentation, quotes and keys there", problem.line)
    data = document.data
    if not isinstance(data, dict):
        return whole(f"expected fields, found {type(data).__name__}", "begin with 'id: my_task'")
    if base is not None:
        own = {name: value for name, value in data.items() if name != "extends"}
        data = {**base.model_dump(exclude={"id"}, exclude_unset=True), **own}
    try:
        return TaskConfig.model_validate(data), ()
    except ValidationError as problem:
        return None, tuple(_problems(problem, source, document.line_of))


def line_of(text: str, *path: str | int) -> int:
    """Return the line of a field in the text of a task's file, or of the nearest around it."""
    return read_yaml(text).line_of(path)


def _problems(
    problem: ValidationError, source: str, find: Callable[[_Path], int]
) -> Iterator[Problem]:
    for error in problem.errors():
        path: _Path = error["loc"]
        message, fix = _explained(path, error)
        field = ".".join(map(str, path)) or "task"
        yield Problem(source, find(path), field, message, fix)


def _explained(path: _Path, error: Any) -> tuple[str, str]:
    given = error["input"]
    got = "" if given is None or isinstance(given, dict | list) else f", got {given!r:.80}"
    if error["type"] == "extra_forbidden":
        return "there is no such field", _advice(path)
    if error["type"] in _KINDS:
        message, fix = _KINDS[error["type"]]
        return (message, fix) if error["type"] == "missing" else (message + got, fix)
    if error["type"] == "literal_error":
        return f"expected {error['ctx']['expected']}{got}", "write one of these"
    message = error["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{message[:1].lower()}{message[1:]}{got}", "write what is expected there"


def _advice(path: _Path) -> str:
    names = [part for part in path[:-1] if isinstance(part, str)]
    model = _PARTS.get(names[0], TaskConfig) if names else TaskConfig
    last = str(path[-1])
    if model is TaskConfig and last in _ELSEWHERE:
        return _ELSEWHERE[last]
    known = sorted(model.model_fields)
    close = difflib.get_close_matches(last.lower(), known, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    home = [part for part, other in _PARTS.items() if last in other.model_fields]
    if model is TaskConfig and home:
        return f"move it into '{home[0]}'"
    return f"remove it, or use one of: {', '.join(known)}"
