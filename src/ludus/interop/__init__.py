"""Interoperability with other libraries: environments, datasets, trajectories, trainers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.interop import gymnasium, inspect, minari, parquet, sb3, trl, verifiers

__all__ = ["gymnasium", "inspect", "minari", "parquet", "sb3", "trl", "verifiers"]

__getattr__ = lazy_names(__name__, {}, modules=__all__)
