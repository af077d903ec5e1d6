"""Reading a suite's YAML so that whatever is wrong with it is found in the file."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from ludus.bench.planning.budget import Budget, BudgetChange, RunLimits
from ludus.bench.planning.suite import AgentEntry, Environment, Reference, Suite
from ludus.errors import SuiteError
from ludus.plain_yaml import YamlError, read_yaml

__all__ = ["LONGEST", "build_suite", "parse_suite"]

LONGEST = 1_000_000
"""Characters of a suite's file; more is no suite."""
_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): Suite,
    ("budget",): Budget,
    ("limits",): RunLimits,
    ("agents",): AgentEntry,
    ("environments",): Environment,
    ("environments", "budget"): BudgetChange,
    ("environments", "reference"): Reference,
}
"""The model of each part, by its path without positions."""

Path = tuple[str | int, ...]


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
        document = read_yaml(text)
    except YamlError as problem:
        raise SuiteError(
            f"{source}, line {problem.line}: {problem.problem}. Check the keys, indentation and "
            "quotes there."
        ) from problem
    data = document.data
    if not isinstance(data, dict):
        raise SuiteError(
            f"{source}, line 1: expected fields such as 'name' and 'environments', found "
            f"{type(data).__name__}."
        )
    return build_suite(data, source, document.line_of)


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
    given = "" if isinstance(error["input"], dict | list) else f", got {error['input']!r:.200}"
    return f"{field}: {message[:1].lower()}{message[1:]}{given}"


def _advice(path: Path) -> str:
    names = tuple(part for part in path[:-1] if isinstance(part, str))
    known = sorted(_MODELS[names].model_fields) if names in _MODELS else []
    close = difflib.get_close_matches(str(path[-1]), known, n=1)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; remove it, or use one of: {', '.join(known)}" if known else "; remove it"
