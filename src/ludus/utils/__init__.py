"""Gymnasium's ``utils`` package: module paths for names that are defined elsewhere in Ludus.

Submodules are imported on first use.
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
