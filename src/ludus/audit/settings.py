"""What the auditor wants: options, and the ``[tool.ludus.audit]`` table of a file of theirs."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ludus.audit.findings import Finding
from ludus.audit.limits import Limits
from ludus.audit.problems import AuditError
from ludus.audit.rules import RULES, SEVERITIES, Severity

__all__ = ["IGNORED", "REQUIRABLE", "Acceptance", "Exclusion", "Settings", "read_settings"]

REQUIRABLE = ("bandit", "vulnerabilities")
"""Checks whose absence ``require`` turns into a failure."""

IGNORED = "ignored on the command line"
"""The reason of acceptances that need not fit anything."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Findings of a rule, in files that match a pattern, that the auditor lives with, and why."""

    rule: str
    path: str = "*"
    reason: str = ""

    def covers(self, finding: Finding) -> bool:
        """Whether it is about this finding."""
        return self.rule == finding.rule and fnmatch.fnmatchcase(finding.path, self.path)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Files that are not part of what is installed, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Settings:
    """How to audit. Every acceptance has a reason; nothing comes from the audited package."""

    fail_on: Severity = "high"
    accept: tuple[Acceptance, ...] = ()
    exclude: tuple[Exclusion, ...] = ()
    extras: tuple[str, ...] = ()
    allow_licences: tuple[str, ...] = ()
    deny_licences: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    advisories: Path | None = None
    offline: bool = False
    service: str = "pypi"
    osv_url: str | None = None
    seconds: float = 30.0
    """For asking an index."""
    bandit: bool = True
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.fail_on not in SEVERITIES:
            raise AuditError(f"fail-on is {self.fail_on!r}; expected one of {SEVERITIES}.")
        for check in self.require:
            if check not in REQUIRABLE:
                raise AuditError(f"{check!r} cannot be required; expected one of {REQUIRABLE}.")
        for item in self.accept:
            if item.rule.partition(":")[0] not in RULES:
                raise AuditError(f"{item.rule!r} is no rule. Rules: {', '.join(sorted(RULES))}.")


def read_settings(path: Path) -> Settings:
    """Return the settings that ``[tool.ludus.audit]`` of a TOML file gives.

    Raises:
        AuditError: The file or a value in it cannot be used; the message names it.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))["tool"]["ludus"]["audit"]
    except KeyError as problem:
        raise AuditError(f"{path} has no table [tool.ludus.audit].") from problem
    except (OSError, ValueError) as problem:
        raise AuditError(f"{path} cannot be read: {problem}") from problem
    readers: dict[str, Callable[[Any], Any]] = {
        "fail-on": _text,
        "accept": lambda value: tuple(_acceptance(entry) for entry in value),
        "exclude": lambda value: tuple(_exclusion(entry) for entry in value),
        "extras": _texts,
        "allow-licences": _texts,
        "deny-licences": _texts,
        "require": _texts,
    }
    given: dict[str, Any] = {}
    for key, value in table.items():
        if key not in readers:
            raise AuditError(f"{path}: unknown setting {key!r}; expected {', '.join(readers)}.")
        try:
            given[key.replace("-", "_")] = readers[key](value)
        except (TypeError, ValueError, AttributeError) as problem:
            raise AuditError(f"{path}: {key} cannot be used: {problem}") from problem
    return Settings(**given)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"expected text, got {value!r}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list of texts, got {value!r}")
    return tuple(_text(item) for item in value)


def _entry(value: Any, keys: Mapping[str, str]) -> dict[str, str]:
    """Return a table's texts; ``keys`` gives defaults, an empty one must be written."""
    unknown = set(value) - set(keys)
    missing = [key for key, default in keys.items() if not default and key not in value]
    if unknown or missing:
        raise ValueError(f"{value!r} needs {', '.join(keys)}")
    return {key: _text(value.get(key, default)) for key, default in keys.items()}


def _acceptance(value: Any) -> Acceptance:
    return Acceptance(**_entry(value, {"rule": "", "path": "*", "reason": ""}))


def _exclusion(value: Any) -> Exclusion:
    return Exclusion(**_entry(value, {"path": "", "reason": ""}))
