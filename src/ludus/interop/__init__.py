"""Interoperability with other libraries: environments, datasets and trajectories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.interop import gymnasium, minari, parquet, sb3

__all__ = ["gymnasium", "minari", "parquet", "sb3"]

__getattr__ = lazy_names(__name__, {}, modules=__all__)
