"""Algorithmic tasks: learn to copy, reverse and add by reading one symbol at a time."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ludus.envs.algorithmic.copy_input import CopyEnv
    from ludus.envs.algorithmic.duplicated_input import DuplicatedInputEnv
    from ludus.envs.algorithmic.repeat_copy import RepeatCopyEnv
    from ludus.envs.algorithmic.reverse import ReverseEnv
    from ludus.envs.algorithmic.reversed_addition import ReversedAdditionEnv

__all__ = [
    "CopyEnv",
    "DuplicatedInputEnv",
    "RepeatCopyEnv",
    "ReverseEnv",
    "ReversedAdditionEnv",
]

_MODULES = {
    "CopyEnv": "copy_input",
    "DuplicatedInputEnv": "duplicated_input",
    "RepeatCopyEnv": "repeat_copy",
    "ReverseEnv": "reverse",
    "ReversedAdditionEnv": "reversed_addition",
}


def __getattr__(name: str) -> Any:
    # The table of specs lies in this package; reading it must not load the environments.
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
