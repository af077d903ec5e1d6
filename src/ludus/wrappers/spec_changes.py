"""Wrappers that a spec names by a field of its own, not in its list of additional wrappers."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ludus import logger
from ludus.core import EnvSpec

__all__ = ["changed_spec"]


def changed_spec(spec: EnvSpec | None, **fields: Any) -> EnvSpec | None:
    """Return a copy of ``spec`` with the fields set; ``None``, and a warning, if it has no copy."""
    if spec is None:
        return None
    try:
        changed = deepcopy(spec)
    except Exception as problem:  # arguments of users may refuse to be copied
        logger.warn(f"The spec is lost, it could not be copied: {problem!r} occurred in {spec}")
        return None
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
