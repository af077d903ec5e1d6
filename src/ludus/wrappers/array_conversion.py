"""Environments of one array library, used from another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, singledispatch
from importlib import import_module
from numbers import Number
from types import ModuleType, NoneType
from typing import Any, SupportsFloat

import numpy as np

from ludus.core import Env, RecordConstructorArgs, Wrapper
from ludus.optional import require

__all__ = [
    "ArrayConversion",
    "Device",
    "array_conversion",
    "module_name_to_namespace",
    "module_namespace",
]

Device = Any


def module_namespace(xp: ModuleType) -> ModuleType:
    """Return the Array API namespace of a module such as ``numpy``, ``torch`` or ``jax.numpy``.

    Raises:
        ValueError: The module has none.
        DependencyNotInstalled: array-api-compat is not installed.
    """
    try:
        namespace: ModuleType = _compat().array_namespace(xp.empty(0))
    except AttributeError as problem:
        raise ValueError(f"{xp} has no Array API namespace; is it an array library?") from problem
    return namespace


def module_name_to_namespace(name: str) -> ModuleType:
    """Import the module and return its Array API namespace."""
    return module_namespace(import_module(name))


@cache
def _compat() -> Any:
    return require("array_api_compat", extra="torch")


@singledispatch
def array_conversion(value: Any, xp: ModuleType, device: Device | None = None) -> Any:  # noqa: ARG001
    """Return ``value`` with every array and number in it as an array of ``xp``.

    Mappings, named tuples and other iterables are converted inside; ``None`` and text stay.
    ``array_conversion.register(MyType)`` adds a type.

    Raises:
        TypeError: There is no conversion for the type.
    """
    raise TypeError(
        f"There is no conversion of {type(value)} to arrays of {xp}. Register one with "
        "`array_conversion.register(...)`."
    )


@array_conversion.register(Number)
@array_conversion.register(np.bool_)
def _number(value: Any, xp: Any, device: Device | None = None) -> Any:
    return xp.asarray(value, device=device)


@array_conversion.register(NoneType)
@array_conversion.register(bytes)
@array_conversion.register(str)
def _unchanged(value: Any, xp: ModuleType, device: Device | None = None) -> Any:  # noqa: ARG001
    return value


@array_conversion.register(Mapping)
def _mapping(value: Mapping[str, Any], xp: ModuleType, device: Device | None = None) -> Any:
    converted = {key: array_conversion(item, xp, device) for key, item in value.items()}
    return type(value)(**converted)


@array_conversion.register(Iterable)
def _iterable(value: Any, xp: ModuleType, device: Device | None = None) -> Any:
    # Array classes have no common base; that they are iterable is what leads here.
    if _compat().is_array_api_obj(value):
        return _array(value, xp, device)
    items = (array_conversion(item, xp, device) for item in value)
    return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)


def _array(value: Any, xp: Any, device: Device | None) -> Any:
    """Hand the array over by DLPack, without copying where the two libraries allow it."""
    compat = _compat()
    if compat.is_numpy_namespace(xp):
        device = "cpu"
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        value = value.copy()  # The target may not know about read-only memory.
    try:
        return xp.from_dlpack(value, device=device)
    except TypeError:
        pass  # One of the two libraries does not know the argument `device` yet.
    except BufferError:
        return xp.from_dlpack(_writable(value), device=device)
    try:
        result = xp.from_dlpack(value)
    except BufferError:
        result = xp.from_dlpack(_writable(value))
    except RuntimeError:  # The target cannot see the device that the array is on.
        result = xp.from_dlpack(compat.to_device(value, "cpu"))
    return result if device is None else compat.to_device(result, device)


def _writable(value: Any) -> Any:
    """Return a copy: a read-only buffer cannot be handed over."""
    return _compat().array_namespace(value).asarray(value, copy=True)


class ArrayConversion(Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Take actions and return observations and infos as arrays of another library.

    Args:
        env: An environment that computes with ``env_xp``.
        env_xp: The environment's library: ``numpy``, ``torch``, ``jax.numpy``, …
        target_xp: The library of what is returned.
        env_device: Where actions go.
        target_device: Where observations go.

    Raises:
        ValueError: A library has no Array API namespace.
        DependencyNotInstalled: array-api-compat is not installed.
    """

    state_fields = ()

    def __init__(
        self,
        env: Env[Any, Any],
        env_xp: ModuleType,
        target_xp: ModuleType,
        env_device: Device | None = None,
        target_device: Device | None = None,
    ) -> None:
        # Modules have no copies.
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,
            env_xp=env_xp,
            target_xp=target_xp,
            env_device=env_device,
            target_device=target_device,
        )
        super().__init__(env)
        self._env_xp = module_namespace(env_xp)
        self._target_xp = module_namespace(target_xp)
        self._env_device = env_device
        self._target_device = target_device

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step with a converted action; reward and flags are Python's."""
        inner = array_conversion(action, self._env_xp, self._env_device)
        observation, reward, terminated, truncated, info = self.env.step(inner)
        return (
            self._converted(observation),
            float(reward),
            bool(terminated),
            bool(truncated),
            self._converted(info),
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset with converted options."""
        if options:
            options = array_conversion(options, self._env_xp, self._env_device)
        observation, info = self.env.reset(seed=seed, options=options)
        return self._converted(observation), self._converted(info)

    def render(self) -> Any:
        """Return the frames as arrays of the target library."""
        return self._converted(self.env.render())

    def _converted(self, value: Any) -> Any:
        return array_conversion(value, self._target_xp, self._target_device)

    def __getstate__(self) -> dict[str, Any]:
        return {name: _name_modules(value) for name, value in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update((name, _load_modules(value)) for name, value in state.items())


class _ModuleName(str):
    """Stands for a module in a pickle, which cannot hold one."""

    __slots__ = ()


def _name_modules(value: Any) -> Any:
    if isinstance(value, ModuleType):
        return _ModuleName(value.__name__)
    if isinstance(value, dict):
        return {key: _name_modules(item) for key, item in value.items()}
    return value


def _load_modules(value: Any) -> Any:
    if isinstance(value, _ModuleName):
        return import_module(value)
    if isinstance(value, dict):
        return {key: _load_modules(item) for key, item in value.items()}
    return value
