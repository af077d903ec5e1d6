"""Other libraries' environments and data in Ludus, and those of Ludus in other libraries."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ludus.interop import gymnasium, minari, parquet, sb3

__all__ = ["gymnasium", "minari", "parquet", "sb3"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
