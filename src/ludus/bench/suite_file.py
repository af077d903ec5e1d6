"""Reading a suite's YAML so that whatever is wrong with it is found in the file."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from ludus.bench.budget import Budget, BudgetChange, Limits
from ludus.bench.suite import AgentEntry, Environment, Reference, Suite
from ludus.errors import SuiteError

__all__ = ["build_suite", "parse_suite"]

LONGEST = 1_000_000
"""Characters of a suite's file; more is no suite."""
_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): Suite,
    ("budget",): Budget,
    ("limits",): Limits,
    ("agents",): AgentEntry,
    ("environments",): Environment,
    ("environments", "budget"): BudgetChange,
    ("environments", "reference"): Reference,
}
"""The model of each part, by its path without positions."""

Path = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """A loader that refuses what YAML would let pass: a key given twice."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> Any:
    seen: dict[Any, int] = {}
    for key_node, _ in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(
                None, None, "a key is a word, not a list or a mapping", key_node.start_mark
            )
        key, line = key_node.value, key_node.start_mark.line + 1
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None,
                None,
                f"{key!r} is given twice, in lines {seen[key]} and {line}; remove one",
                key_node.start_mark,
            )
        seen[key] = line
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def parse_suite(text: str, source: str) -> Suite:
    """Return the suite that a YAML text describes.

    Args:
        text: The YAML.
        source: What messages call it.

    Raises:
        SuiteError: It is no YAML, or describes no suite.
    """
    if len(text) > LONGEST:
        raise SuiteError(f"{source} has {len(text)} characters; a suite has at most {LONGEST}.")
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as problem:
        raise SuiteError(_yaml_message(problem, source)) from problem
    if not isinstance(data, dict):
        raise SuiteError(
            f"{source}, line 1: expected fields such as 'name' and 'environments', found "
            f"{type(data).__name__}."
        )
    return build_suite(data, source, lambda path: _line_of(root, path))


def build_suite(
    data: Mapping[str, Any], source: str, line_of: Callable[[Path], int] | None = None
) -> Suite:
    """Return the suite that plain data describes.

    Raises:
        SuiteError: It describes none; every wrong field is named.
    """
    try:
        return Suite.model_validate(data)
    except ValidationError as problem:
        rows = []
        for error in problem.errors():
            path = tuple(part for part in error["loc"] if part not in ("str", "AgentEntry"))
            place = f", line {line_of(path)}" if line_of else ""
            rows.append(f"{source}{place}: {_explain(path, error)}")
        raise SuiteError("\n".join(dict.fromkeys(rows))) from problem


def _explain(path: Path, error: Any) -> str:
    field = ".".join(str(part) for part in path) or "suite"
    if error["type"] == "extra_forbidden":
        return f"{field}: there is no such field{_advice(path)}"
    if error["type"] == "missing":
        return f"{field}: this field is required; add it"
    message = error["msg"].removeprefix("Value error, ")
    given = "" if isinstance(error["input"], dict | list) else f", got {error['input']!r}"
    return f"{field}: {message[:1].lower()}{message[1:]}{given}"


def _advice(path: Path) -> str:
    names = tuple(part for part in path[:-1] if isinstance(part, str))
    known = sorted(_MODELS[names].model_fields) if names in _MODELS else []
    close = difflib.get_close_matches(str(path[-1]), known, n=1)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; remove it, or use one of: {', '.join(known)}" if known else "; remove it"


def _line_of(node: yaml.Node | None, path: Path) -> int:
    """Return the line of what a path leads to, or of the nearest thing around it."""
    line = 1 if node is None else node.start_mark.line + 1
    for part in path:
        if isinstance(node, yaml.MappingNode):
            pairs = {key.value: (key, value) for key, value in node.value}
            if part not in pairs:
                break
            key, node = pairs[part]
            line = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return line


def _yaml_message(problem: Exception, source: str) -> str:
    if not isinstance(problem, yaml.MarkedYAMLError) or problem.problem_mark is None:
        return f"{source} is no YAML: {problem}"
    place = f"{source}, line {problem.problem_mark.line + 1}"
    return f"{place}: {problem.problem or 'no YAML'}. Check the indentation and quotes there."
