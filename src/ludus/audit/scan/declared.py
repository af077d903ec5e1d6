"""Extraction of security declarations from ``register`` calls."""

from __future__ import annotations

import ast
from typing import Any

from .constants import literal
from .names import Names
from .scopes import Scope

__all__ = ["declaration"]

_REGISTER = {
    f"{package}.{path}"
    for package in ("ludus", "gymnasium", "gym")
    for path in (
        "register",
        "EnvSpec",
        "envs.register",
        "envs.registration.register",
        "registration.register",
        "core.EnvSpec",
        "core.spec.EnvSpec",
        "kernel.register",
    )
}
_FIELDS = ("dependencies", "network", "filesystem", "subprocess", "trust")


def declaration(
    node: ast.Call, names: set[str], known: Names, scope: Scope
) -> dict[str, Any] | None:
    """Return the id and security declaration of a ``register`` call, or ``None`` for other calls.

    ``security`` is the dict of the arguments of ``SecuritySpec`` (empty for the default), or
    ``None`` if they are not literals.
    """
    if not names & _REGISTER:
        return None
    keywords = {item.arg: item.value for item in node.keywords}
    env_id = known.text(keywords.get("id") or (node.args[0] if node.args else None), scope)
    security: dict[str, Any] | None = {}
    if "security" in keywords:
        security = _security(keywords["security"], known, scope)
    elif None in keywords:
        security = None
    return {"id": env_id, "line": node.lineno, "security": security}


def _security(node: ast.expr, known: Names, scope: Scope) -> dict[str, Any] | None:
    if isinstance(node, ast.Name):
        values = known.values(node, scope)
        if len(values) != 1:
            return None
        node = values[0]
    if isinstance(node, ast.Constant) and node.value is None:
        return {}
    if not isinstance(node, ast.Call):
        return None
    made = known.resolve(node.func, scope)
    if not any(name.rpartition(".")[2] == "SecuritySpec" for name in made):
        return None
    try:
        given = dict(zip(_FIELDS, map(literal, node.args), strict=False))
        for item in node.keywords:
            if item.arg not in _FIELDS:
                return None
            given[item.arg] = literal(item.value)
    except ValueError:
        return None
    return given if all(map(_is_plain, given.values())) else None


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str | bool)
