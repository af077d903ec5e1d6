"""Adapters between vector environments of Ludus and Gymnasium."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar

from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.interop.gymnasium.adapter_base import Adapter, InnerAttribute
from ludus.interop.gymnasium.library import TO_GYMNASIUM, TO_LUDUS, gymnasium
from ludus.interop.gymnasium.spaces import from_gymnasium_space, to_gymnasium_space
from ludus.interop.gymnasium.specs import from_gymnasium_spec, to_gymnasium_spec

__all__ = [
    "AsGymnasiumVector",
    "AsLudusVector",
    "from_gymnasium_vector",
    "to_autoreset_mode",
    "to_gymnasium_vector",
]

_SPACES = ("action_space", "observation_space", "single_action_space", "single_observation_space")


def to_gymnasium_vector(env: Any) -> Any:
    """Return a Ludus vector environment as a ``gymnasium.vector.VectorEnv``.

    An adapted Gymnasium vector environment is unwrapped again.

    Raises:
        TypeError: ``env`` is a vector environment of neither library.
        CustomSpaceError: A space has no Gymnasium equivalent.
    """
    if isinstance(env, AsLudusVector):
        return env.gymnasium_env
    if isinstance(env, gymnasium.vector.VectorEnv):
        return env
    if not isinstance(env, VectorEnv):
        raise TypeError(
            f"to_gymnasium_vector() takes a ludus.vector.VectorEnv, got {type(env)}. "
            "to_gymnasium() takes a single environment."
        )
    return AsGymnasiumVector(env)


def from_gymnasium_vector(env: Any) -> VectorEnv[Any, Any, Any]:
    """Return a ``gymnasium.vector.VectorEnv`` as a Ludus vector environment.

    An adapted Ludus vector environment is unwrapped again.

    Raises:
        TypeError: ``env`` is a vector environment of neither library.
        CustomSpaceError: A space has no Ludus equivalent.
    """
    if isinstance(env, AsGymnasiumVector):
        return env.ludus_env
    if isinstance(env, VectorEnv):
        return env
    if not isinstance(env, gymnasium.vector.VectorEnv):
        raise TypeError(
            f"from_gymnasium_vector() takes a gymnasium.vector.VectorEnv, got {type(env)}. "
            "from_gymnasium() takes a single environment."
        )
    return AsLudusVector(env)


def to_autoreset_mode(mode: Any, kind: type[Enum] = AutoresetMode) -> Any:
    """Return an autoreset mode as a member of ``kind``; other values are returned unchanged."""
    if isinstance(mode, (AutoresetMode, gymnasium.vector.AutoresetMode)):
        return kind(mode.value)
    return mode


class _VectorAdapter(Adapter):
    """Base class of the adapters of vector environments."""

    closed: Any = InnerAttribute()

    def __init__(self, env: Any, convert: Callable[[Any], Any], modes: type[Enum]) -> None:
        for name in _SPACES:
            setattr(self, name, convert(getattr(env, name)))
        self.num_envs = env.num_envs
        self.metadata = {
            key: to_autoreset_mode(value, modes) for key, value in env.metadata.items()
        }
        super().__init__(env)

    @property
    def autoreset_mode(self) -> Any:
        """The mode in ``metadata``, as a member of the adapter's own library.

        Raises:
            AttributeError: The environment does not declare a mode.
        """
        try:
            return self.metadata["autoreset_mode"]
        except KeyError:
            raise AttributeError(f"{self} has no autoreset_mode") from None

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments."""
        return self._call("reset", seed=seed, options=options)  # type: ignore[no-any-return]

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step the environments."""
        return self._call("step", actions)  # type: ignore[no-any-return]

    def close(self, **kwargs: Any) -> None:
        """Close the environments."""
        self._inner.close(**kwargs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self._inner}>"


class AsGymnasiumVector(_VectorAdapter, gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """A Ludus vector environment as a Gymnasium vector environment.

    Attributes that it lacks, such as ``call`` and ``get_attr``, are those of the Ludus environment.
    """

    _inner_name: ClassVar[str] = "ludus_env"
    _convert_spec = staticmethod(to_gymnasium_spec)
    _errors = TO_GYMNASIUM
    ludus_env: VectorEnv[Any, Any, Any]

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env, to_gymnasium_space, gymnasium.vector.AutoresetMode)


class AsLudusVector(_VectorAdapter, VectorEnv[Any, Any, Any]):
    """A Gymnasium vector environment as a Ludus vector environment.

    Attributes that it lacks, such as ``call`` and ``get_attr``, are Gymnasium's.
    """

    _inner_name: ClassVar[str] = "gymnasium_env"
    _convert_spec = staticmethod(from_gymnasium_spec)
    _errors = TO_LUDUS
    gymnasium_env: Any

    def __init__(self, env: Any) -> None:
        super().__init__(env, from_gymnasium_space, AutoresetMode)
