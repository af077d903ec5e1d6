"""Environments' own vector implementations, and the arguments that they take."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from ludus.core.spec import EnvSpec
from ludus.errors import InvalidArgument
from ludus.registration.entry_point import resolve
from ludus.served_names import own_name

__all__ = ["find_own_batch", "settle_compile", "takes_autoreset_mode"]

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
    return any(p.kind is p.VAR_KEYWORD for p in parameters) and _is_ours(creator)


def settle_compile(spec: EnvSpec, arguments: dict[str, Any], *, own_batch: bool) -> None:
    """Remove the argument ``compile`` for a batch of Ludus that has nothing to compile.

    Args:
        spec: Of the environment.
        arguments: Of the environment or its own batch; changed in place.
        own_batch: Whether the environment's own vector implementation is built.

    Raises:
        InvalidArgument: Single environments of Ludus are built, which do not take it.
        KernelError: There is no such way to compile.
    """
    entry_point = spec.vector_entry_point if own_batch else spec.entry_point
    creator: Any = None if entry_point is None else resolve(spec.id, entry_point)
    if not _is_ours(creator) or "compile" in inspect.signature(creator).parameters:
        return
    if not own_batch:
        raise InvalidArgument(
            f"make_vec({spec.id!r}) got compile={arguments['compile']!r}, which says when the code "
            "of an environment's own batch is compiled, but this batch is made of single "
            "environments. Leave it out; the environment variable LUDUS_COMPILE says it for them."
        )
    from ludus.kernel.native.jit import checked_mode

    checked_mode(arguments.pop("compile"), "compile")


def _is_ours(creator: Any) -> bool:
    function = inspect.unwrap(getattr(creator, "__func__", creator))
    return str(getattr(function, "__module__", "")).startswith("ludus.")
