"""NumPy environments, used from PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core import Env, RecordConstructorArgs
from ludus.optional import require
from ludus.wrappers.array_conversion import (
    ArrayConversion,
    Device,
    array_conversion,
    module_namespace,
)

__all__ = ["Device", "NumpyToTorch", "numpy_to_torch", "torch_to_numpy"]


def numpy_to_torch(value: Any, device: Any = None) -> Any:
    """Return ``value`` with every array in it as a tensor on ``device``."""
    return array_conversion(value, module_namespace(require("torch", extra="torch")), device)


def torch_to_numpy(value: Any, device: Any = None) -> Any:
    """Return ``value`` with every tensor in it as a NumPy array."""
    return array_conversion(value, module_namespace(np), device)


class NumpyToTorch(ArrayConversion):
    """Take actions and return observations as tensors, around a NumPy environment.

    Args:
        env: The environment.
        device: Where the tensors go: a ``torch.device`` or its name.

    Raises:
        DependencyNotInstalled: PyTorch is not installed.
    """

    def __init__(self, env: Env[Any, Any], device: Any = None) -> None:
        RecordConstructorArgs.__init__(self, device=device)
        torch = require("torch", extra="torch")
        super().__init__(env, env_xp=np, target_xp=torch, target_device=device)
        self.device = device
