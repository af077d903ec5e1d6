"""Algorithmic tasks: learn to copy, reverse and add by reading one symbol at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

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

__getattr__ = lazy_names(__name__, _MODULES)
