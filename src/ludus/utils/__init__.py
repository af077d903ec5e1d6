"""Gymnasium's ``utils``: the same modules and names, each of which lives where it belongs.

Sub-modules load when first used, and none of them loads an optional dependency before then.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from ludus.utils.colorize import colorize
from ludus.utils.ezpickle import EzPickle
from ludus.utils.record_constructor import RecordConstructorArgs

__all__ = ["EzPickle", "RecordConstructorArgs", "colorize"]

_MODULES = frozenset(
    {
        "env_checker",
        "env_match",
        "passive_env_checker",
        "performance",
        "play",
        "save_video",
        "seeding",
        "step_api_compatibility",
    }
)


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
