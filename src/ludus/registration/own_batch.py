"""Which environments have a vector implementation of their own, and what it takes."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from ludus.core.spec import EnvSpec
from ludus.registration.entry_point import resolve
from ludus.served_names import own_name

__all__ = ["find_own_batch", "takes_autoreset_mode"]

_BATCHED = ("step", "reset")
"""Methods whose place a compiled batch takes."""


def find_own_batch(spec: EnvSpec) -> None:
    """Give the spec of a kernel environment its compiled batch, as ``kernel.register`` does.

    A class that overrides ``step`` or ``reset`` in Python stays without: the batch would not call
    them.
    """
    if spec.vector_entry_point is not None or spec.entry_point is None:
        return
    creator: Any = resolve(spec.id, spec.entry_point)
    if _is_kernel_env(creator) and not _overrides_steps(creator):
        text = isinstance(spec.entry_point, str)
        spec.vector_entry_point = f"{spec.entry_point}.vector" if text else creator.vector


def _is_kernel_env(creator: Any) -> bool:
    # A kernel environment cannot exist before the module has been imported.
    kernels: Any = sys.modules.get("ludus.kernel.env")
    return (
        kernels is not None and isinstance(creator, type) and issubclass(creator, kernels.KernelEnv)
    )


def _overrides_steps(cls: type) -> bool:
    """Tell whether a class of other code than Ludus's has steps or resets of its own."""
    for base in cls.__mro__:
        module, _, _ = own_name(f"{base.__module__}:{base.__qualname__}").partition(":")
        if module.partition(".")[0] == "ludus":
            return False
        if any(name in vars(base) for name in _BATCHED):
            return True
    return False


def takes_autoreset_mode(spec: EnvSpec, vector_kwargs: dict[str, Any]) -> bool:
    """Tell whether the vector entry point takes all that ``vector_kwargs`` says: the mode.

    A parameter for anything else counts only where it is known what becomes of it: in Ludus.
    """
    if set(vector_kwargs) != {"autoreset_mode"} or spec.vector_entry_point is None:
        return False
    creator = resolve(spec.id, spec.vector_entry_point)
    parameters = inspect.signature(creator).parameters.values()
    if any(p.name == "autoreset_mode" and p.kind is not p.VAR_KEYWORD for p in parameters):
        return True
    ours = inspect.unwrap(getattr(creator, "__func__", creator)).__module__
    return any(p.kind is p.VAR_KEYWORD for p in parameters) and ours.startswith("ludus.")
