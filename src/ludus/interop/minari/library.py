"""The one place that imports h5py."""

from __future__ import annotations

from typing import Any

from ludus.optional import require

__all__ = ["load_h5py"]


def load_h5py() -> Any:
    """Return the module.

    Raises:
        DependencyNotInstalled: It is missing.
    """
    return require("h5py", extra="minari", purpose="A Minari dataset, which is HDF5 files,")
