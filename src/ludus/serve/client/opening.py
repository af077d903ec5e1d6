"""The declaration of a server's environment, checked."""

from __future__ import annotations

from typing import Any

from ludus.serve.binary.frames import PROTOCOL
from ludus.serve.client.link import Link
from ludus.untrusted.validate.declaration import Declaration, read_declaration

__all__ = ["declared_by"]


def declared_by(link: Link, num_envs: int | None = None) -> Declaration:
    """Return the declaration that a server sent, checked like that of a sandbox.

    Raises:
        ServerViolation: It is invalid, for instance because building its spaces would fill the
            memory.
    """
    told: Any = link.declared
    try:
        if type(told) is not dict or told.get("protocol") != PROTOCOL:
            raise ValueError(f"a declaration of {PROTOCOL} was expected")
        spec = told.get("spec")
        wanted = spec.get("id") if type(spec) is dict else None
        if type(wanted) is not str:
            raise ValueError("a declaration has a spec with an id")
        return read_declaration(told, spec=None, wanted=wanted, num_envs=num_envs)
    except (ValueError, TypeError, RecursionError) as problem:
        link.connection.violate(f"the declaration is invalid: {problem}")
