"""JAX environments, used from PyTorch."""

from __future__ import annotations

from typing import Any

from ludus.core import Env, RecordConstructorArgs
from ludus.optional import require
from ludus.wrappers.array_conversion import (
    ArrayConversion,
    Device,
    array_conversion,
    module_namespace,
)

__all__ = ["Device", "JaxToTorch", "jax_to_torch", "torch_to_jax"]


def jax_to_torch(value: Any, device: Any = None) -> Any:
    """Return ``value`` with every array in it as a tensor on ``device``."""
    return array_conversion(value, module_namespace(require("torch", extra="torch")), device)


def torch_to_jax(value: Any, device: Any = None) -> Any:
    """Return ``value`` with every tensor in it as a JAX array."""
    return array_conversion(value, module_namespace(require("jax.numpy", extra="jax")), device)


class JaxToTorch(ArrayConversion):
    """Take actions and return observations as tensors, around a JAX environment.

    Args:
        env: The environment.
        device: Where the tensors go: a ``torch.device`` or its name.

    Raises:
        DependencyNotInstalled: JAX or PyTorch is not installed.
    """

    def __init__(self, env: Env[Any, Any], device: Any = None) -> None:
        RecordConstructorArgs.__init__(self, device=device)
        super().__init__(
            env,
            env_xp=require("jax.numpy", extra="jax"),
            target_xp=require("torch", extra="torch"),
            target_device=device,
        )
        self.device = device
