"""JAX vector environments, used from PyTorch."""

from __future__ import annotations

from typing import Any

from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.vector_env import VectorEnv
from ludus.optional import require
from ludus.wrappers.vector.array_conversion import ArrayConversion

__all__ = ["JaxToTorch"]


class JaxToTorch(ArrayConversion):
    """Take actions and return everything else as tensors, around a JAX vector environment.

    Args:
        env: The vector environment to wrap.
        device: Where the tensors go: a ``torch.device`` or its name.

    Raises:
        DependencyNotInstalled: JAX or PyTorch is not installed.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], device: Any = None) -> None:
        RecordConstructorArgs.__init__(self, device=device)
        super().__init__(
            env,
            env_xp=require("jax.numpy", extra="jax"),
            target_xp=require("torch", extra="torch"),
            target_device=device,
        )
        self.device = device
