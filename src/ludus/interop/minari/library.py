"""The one place that imports h5py."""

from __future__ import annotations

from typing import Any

from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled

__all__ = ["load_h5py"]


def load_h5py() -> Any:
    """Return the module.

    Raises:
        DependencyNotInstalled: It is missing.
    """
    try:
        import h5py
    except ImportError as problem:
        raise DependencyNotInstalled(
            "Minari datasets are HDF5 files, for which h5py is needed; run "
            f"`{pip_install('minari')}`"
        ) from problem
    return h5py
