"""Reader of the configuration file, ``ludus audit --config``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ValidationError

from ludus.audit.limits import AuditError
from ludus.audit.rules import Severity
from ludus.audit.settings import Acceptance, Exclusion, Settings

__all__ = ["read_settings"]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class _Table(BaseModel, extra="forbid", str_strip_whitespace=True, str_min_length=1):
    pass


class _Excluded(_Table):
    path: str
    reason: str


class _Accepted(_Table):
    rule: str
    path: Annotated[list[str], BeforeValidator(_listed)] = ["*"]
    reason: str


class _File(_Table, alias_generator=lambda name: name.replace("_", "-")):
    fail_on: Severity = "high"
    accept: list[_Accepted] = []
    exclude: list[_Excluded] = []
    extras: tuple[str, ...] = ()
    allow_licences: tuple[str, ...] = ()
    deny_licences: tuple[str, ...] = ()
    require: tuple[str, ...] = ()


def read_settings(path: Path) -> Settings:
    """Read the table ``[tool.ludus.audit]`` of a TOML file.

    Raises:
        AuditError: The file cannot be read, or a value in it is invalid.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))["tool"]["ludus"]["audit"]
        given = _File.model_validate(table)
    except KeyError as problem:
        raise AuditError(f"{path} has no table [tool.ludus.audit].") from problem
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise AuditError(f"{path}: {where}: {first['msg']}, got {first['input']!r}.") from problem
    except (OSError, ValueError) as problem:
        raise AuditError(f"{path} cannot be read: {problem}") from problem
    accept = (Acceptance(row.rule, one, row.reason) for row in given.accept for one in row.path)
    exclude = (Exclusion(row.path, row.reason) for row in given.exclude)
    return Settings(**{**dict(given), "accept": tuple(accept), "exclude": tuple(exclude)})
