"""Wrappers and functions that convert between the arrays of NumPy, JAX, PyTorch and others."""

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
    "ConvertsArrays",
    "Device",
    "JaxToNumpy",
    "JaxToTorch",
    "NumpyToTorch",
    "array_conversion",
    "import_jax",
    "import_torch",
    "jax_to_numpy",
    "jax_to_torch",
    "module_name_to_namespace",
    "module_namespace",
    "numpy_to_jax",
    "numpy_to_torch",
    "torch_to_jax",
    "torch_to_numpy",
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


@array_conversion.register(Number | np.bool_)
def _number(value: Any, xp: Any, device: Device | None = None) -> Any:
    return xp.asarray(value, device=device)


@array_conversion.register(NoneType | bytes | str)
def _unchanged(value: Any, xp: ModuleType, device: Device | None = None) -> Any:  # noqa: ARG001
    return value


@array_conversion.register(Mapping)
def _mapping(value: Mapping[str, Any], xp: ModuleType, device: Device | None = None) -> Any:
    converted = {key: array_conversion(item, xp, device) for key, item in value.items()}
    return type(value)(**converted)


@array_conversion.register(Iterable)
def _iterable(value: Any, xp: ModuleType, device: Device | None = None) -> Any:
    # Array classes have no common base class, but all of them are iterable.
    if _compat().is_array_api_obj(value):
        return _array(value, xp, device)
    items = (array_conversion(item, xp, device) for item in value)
    return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)


def _array(value: Any, xp: Any, device: Device | None) -> Any:
    """Convert an array by DLPack, without copying where the two libraries allow it."""
    compat = _compat()
    if compat.is_numpy_namespace(xp):
        device = "cpu"
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        value = value.copy()  # Not every library supports read-only memory.
    try:
        return xp.from_dlpack(value, device=device)
    except TypeError:
        pass  # One of the two libraries has no `device` argument.
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
    """Return a writable copy: DLPack refuses read-only buffers."""
    return _compat().array_namespace(value).asarray(value, copy=True)


class ConvertsArrays(RecordConstructorArgs):
    """Mix-in of both ``ArrayConversion`` wrappers: the two libraries and their devices."""

    def _set_libraries(
        self, env_xp: ModuleType, target_xp: ModuleType, env_device: Device, target_device: Device
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,  # modules cannot be copied
            env_xp=env_xp,
            target_xp=target_xp,
            env_device=env_device,
            target_device=target_device,
        )
        self._env_xp = module_namespace(env_xp)
        self._target_xp = module_namespace(target_xp)
        self._env_device = env_device
        self._target_device = target_device

    def _to_env(self, value: Any) -> Any:
        return array_conversion(value, self._env_xp, self._env_device)

    def _to_target(self, value: Any) -> Any:
        return array_conversion(value, self._target_xp, self._target_device)

    def __getstate__(self) -> dict[str, Any]:
        return {name: _name_modules(value) for name, value in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update((name, _load_modules(value)) for name, value in state.items())


class ArrayConversion(ConvertsArrays, Wrapper[Any, Any, Any, Any]):
    """Take actions and return observations and infos as arrays of another library.

    Args:
        env: An environment that computes with ``env_xp``.
        env_xp: The environment's library: ``numpy``, ``torch``, ``jax.numpy``, …
        target_xp: The library of the returned arrays.
        env_device: Device of the converted actions.
        target_device: Device of the converted observations.

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
        self._set_libraries(env_xp, target_xp, env_device, target_device)
        Wrapper.__init__(self, env)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step with a converted action; the reward becomes a float, the flags become bools."""
        observation, reward, terminated, truncated, info = self.env.step(self._to_env(action))
        return (
            self._to_target(observation),
            float(reward),
            bool(terminated),
            bool(truncated),
            self._to_target(info),
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset with converted options."""
        if options:
            options = self._to_env(options)
        observation, info = self.env.reset(seed=seed, options=options)
        return self._to_target(observation), self._to_target(info)

    def render(self) -> Any:
        """Return the frames as arrays of the target library."""
        return self._to_target(self.env.render())


class JaxToNumpy(ArrayConversion):
    """Take actions and return observations as NumPy arrays, around a JAX environment.

    Raises:
        DependencyNotInstalled: JAX is not installed.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env, env_xp=import_jax(), target_xp=np)


class JaxToTorch(ArrayConversion):
    """Take actions and return observations as tensors, around a JAX environment.

    Args:
        device: Device of the tensors: a ``torch.device`` or its name.

    Raises:
        DependencyNotInstalled: JAX or PyTorch is not installed.
    """

    def __init__(self, env: Env[Any, Any], device: Device | None = None) -> None:
        RecordConstructorArgs.__init__(self, device=device)
        super().__init__(env, env_xp=import_jax(), target_xp=import_torch(), target_device=device)
        self.device = device


class NumpyToTorch(ArrayConversion):
    """Take actions and return observations as tensors, around a NumPy environment.

    ``device`` and errors are those of :class:`JaxToTorch`.
    """

    def __init__(self, env: Env[Any, Any], device: Device | None = None) -> None:
        RecordConstructorArgs.__init__(self, device=device)
        super().__init__(env, env_xp=np, target_xp=import_torch(), target_device=device)
        self.device = device


def import_jax() -> Any:
    """Return ``jax.numpy``; raise DependencyNotInstalled if it is missing."""
    return require("jax.numpy", extra="jax")


def import_torch() -> Any:
    """Return ``torch``; raise DependencyNotInstalled if it is missing."""
    return require("torch", extra="torch")


def to_numpy(value: Any, device: Device | None = None) -> Any:
    """Return ``value`` with every array in it as a NumPy array."""
    return array_conversion(value, module_namespace(np), device)


def to_jax(value: Any, device: Device | None = None) -> Any:
    """Return ``value`` with every array in it as a JAX array."""
    return array_conversion(value, module_namespace(import_jax()), device)


def to_torch(value: Any, device: Device | None = None) -> Any:
    """Return ``value`` with every array in it as a tensor on ``device``."""
    return array_conversion(value, module_namespace(import_torch()), device)


# Gymnasium's names for these functions.
jax_to_numpy = torch_to_numpy = to_numpy
numpy_to_jax = torch_to_jax = to_jax
numpy_to_torch = jax_to_torch = to_torch


class _ModuleName(str):
    """The name of a module in a pickle: modules cannot be pickled."""

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
