"""Specs of wrappers that have a field of their own in :class:`EnvSpec`."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ludus import logger
from ludus.core import EnvSpec

__all__ = ["changed_spec"]


def changed_spec(spec: EnvSpec | None, **fields: Any) -> EnvSpec | None:
    """Return a copy of ``spec`` with the fields set; warn and return ``None`` if copying fails."""
    if spec is None:
        return None
    try:
        changed = deepcopy(spec)
    except Exception as problem:  # copying the user's arguments may raise anything
        logger.warn(f"The spec is lost, it could not be copied: {problem!r} occurred in {spec}")
        return None
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
