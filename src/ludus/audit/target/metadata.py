"""Readers of core metadata files and ``pyproject.toml``."""

from __future__ import annotations

import email.parser
import email.policy
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from packaging.utils import canonicalize_name

from ludus.terminal_text import printable

__all__ = ["Metadata", "from_core_metadata", "from_pyproject", "normal_name"]

_MOST_VALUES = 2000
_MOST_TEXT = 4000


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata of a package; ``problems`` lists what could not be read."""

    name: str
    version: str | None = None
    requires: tuple[str, ...] = ()
    licence_expression: str | None = None
    licence: str | None = None
    classifiers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The normalised name."""
        return normal_name(self.name)

    def with_problem(self, problem: str) -> Metadata:
        """Return a copy with one more problem."""
        return replace(self, problems=(*self.problems, problem))


def normal_name(name: str) -> str:
    """Return the normalised name of a distribution, without invalid characters.

    Names are written to files and URLs, so hostile characters are removed.
    """
    return re.sub(r"[^a-z0-9-]", "", canonicalize_name(name))[:200].strip("-") or "unknown"


def from_core_metadata(content: bytes, name: str) -> Metadata:
    """Read a ``METADATA`` or ``PKG-INFO`` file; ``name`` is the default name."""
    parser = email.parser.BytesHeaderParser(policy=email.policy.compat32)
    headers = parser.parsebytes(content)

    def values(key: str) -> tuple[str, ...]:
        return _texts(headers.get_all(key, [])[:_MOST_VALUES])

    def first(key: str) -> str | None:
        return next(iter(values(key)), None)

    found = Metadata(
        name=first("Name") or name,
        version=first("Version"),
        requires=values("Requires-Dist"),
        licence_expression=first("License-Expression"),
        licence=first("License"),
        classifiers=values("Classifier"),
    )
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", first("Name") or ""):
        return found.with_problem("the metadata gives no valid name")
    return found


def from_pyproject(content: bytes, name: str) -> Metadata:
    """Read ``pyproject.toml``; dynamic fields are unknown."""
    try:
        settings = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        return Metadata(name).with_problem(f"pyproject.toml cannot be read: {printable(problem)}")
    project = _table(settings.get("project"))
    requires = list(_texts(project.get("dependencies", [])))
    for extra, extras in _table(project.get("optional-dependencies")).items():
        requires += [_only_for(requirement, extra) for requirement in _texts(extras)]
    licence = project.get("license")
    text = _table(licence).get("text")
    found = Metadata(
        name=str(project.get("name") or name),
        version=str(project["version"]) if "version" in project else None,
        requires=tuple(requires[:_MOST_VALUES]),
        licence_expression=licence if isinstance(licence, str) else None,
        licence=str(text)[:_MOST_TEXT] if text else None,
        classifiers=_texts(project.get("classifiers", [])),
    )
    dynamic = {"dependencies", "optional-dependencies"} & set(_texts(project.get("dynamic", [])))
    if not project:
        return found.with_problem("pyproject.toml has no [project]: dependencies are unknown")
    if dynamic:
        return found.with_problem(f"{', '.join(sorted(dynamic))} are dynamic and not known")
    return found


def _only_for(requirement: str, extra: str) -> str:
    """Return a requirement of an extra with the marker of core metadata."""
    wanted, _, marker = requirement.partition(";")
    condition = f'extra == "{extra}"'
    return f"{wanted} ; ({marker.strip()}) and {condition}" if marker else f"{wanted} ; {condition}"


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | dict):
        return ()
    return tuple(str(value).strip()[:_MOST_TEXT] for value in values)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
