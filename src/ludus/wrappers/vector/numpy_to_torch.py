"""NumPy vector environments, used from PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.vector_env import VectorEnv
from ludus.optional import require
from ludus.wrappers.vector.array_conversion import ArrayConversion

__all__ = ["NumpyToTorch"]


class NumpyToTorch(ArrayConversion):
    """Take actions and return everything else as tensors, around a NumPy vector environment.

    Args:
        env: The vector environment to wrap.
        device: Where the tensors go: a ``torch.device`` or its name.

    Raises:
        DependencyNotInstalled: PyTorch is not installed.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], device: Any = None) -> None:
        RecordConstructorArgs.__init__(self, device=device)
        torch = require("torch", extra="torch")
        super().__init__(env, env_xp=np, target_xp=torch, target_device=device)
        self.device = device
