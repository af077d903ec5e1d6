"""Vector implementations of environments: which have one, and which arguments it supports."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from ludus.core.spec import EnvSpec
from ludus.registration.entry_point import resolve
from ludus.served_names import own_name

__all__ = ["find_own_batch", "takes_autoreset_mode"]

_BATCHED = ("step", "reset")
"""Methods that a compiled batch replaces."""


def find_own_batch(spec: EnvSpec) -> None:
    """Set the vector entry point of a kernel environment's spec, as ``kernel.register`` does.

    A class that overrides ``step`` or ``reset`` in Python gets none, because the compiled batch
    would not call them.
    """
    if spec.vector_entry_point is not None or spec.entry_point is None:
        return
    creator: Any = resolve(spec.id, spec.entry_point)
    if _is_kernel_env(creator) and not _overrides_steps(creator):
        text = isinstance(spec.entry_point, str)
        spec.vector_entry_point = f"{spec.entry_point}.vector" if text else creator.vector


def _is_kernel_env(creator: Any) -> bool:
    # There is no kernel environment before this module is imported.
    kernels: Any = sys.modules.get("ludus.kernel.env")
    return (
        kernels is not None and isinstance(creator, type) and issubclass(creator, kernels.KernelEnv)
    )


def _overrides_steps(cls: type) -> bool:
    """Return whether a class outside of Ludus overrides ``step`` or ``reset``."""
    for base in cls.__mro__:
        module, _, _ = own_name(f"{base.__module__}:{base.__qualname__}").partition(":")
        if module.partition(".")[0] == "ludus":
            return False
        if any(name in vars(base) for name in _BATCHED):
            return True
    return False


def takes_autoreset_mode(spec: EnvSpec, vector_kwargs: dict[str, Any]) -> bool:
    """Return whether ``vector_kwargs`` has only a mode, which the vector entry point accepts.

    ``**kwargs`` counts as accepting it only for vector environments of Ludus.
    """
    if set(vector_kwargs) != {"autoreset_mode"} or spec.vector_entry_point is None:
        return False
    creator = resolve(spec.id, spec.vector_entry_point)
    parameters = inspect.signature(creator).parameters.values()
    if any(p.name == "autoreset_mode" and p.kind is not p.VAR_KEYWORD for p in parameters):
        return True
    ours = inspect.unwrap(getattr(creator, "__func__", creator)).__module__
    return any(p.kind is p.VAR_KEYWORD for p in parameters) and ours.startswith("ludus.")
