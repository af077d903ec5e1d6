"""A vector environment of either library, as a vector environment of the other."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar

from ludus.core.forwarding import ForwardsAttributes
from ludus.core.spec import EnvSpec
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.interop.gymnasium.exceptions import raises_gymnasium_errors, raises_ludus_errors
from ludus.interop.gymnasium.library import gymnasium
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
    """Return the Ludus vector environment as a ``gymnasium.vector.VectorEnv``.

    An adapted one comes out again.

    Raises:
        TypeError: It is a vector environment of neither library.
        CustomSpaceError: A space is none of the standard ones.
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
    """Return the ``gymnasium.vector.VectorEnv`` as a Ludus vector environment.

    An adapted one comes out again.

    Raises:
        TypeError: It is a vector environment of neither library.
        CustomSpaceError: A space is none of the standard ones.
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
    """Return the autoreset mode as a member of ``kind``; what is no such mode stays as it is."""
    if isinstance(mode, (AutoresetMode, gymnasium.vector.AutoresetMode)):
        return kind(mode.value)
    return mode


class _VectorAdapter(ForwardsAttributes):
    """What both directions share: everything but spaces, mode and spec is the inner one's."""

    def __init__(self, env: Any, convert: Callable[[Any], Any], modes: type[Enum]) -> None:
        for name in _SPACES:
            setattr(self, name, convert(getattr(env, name)))
        self.num_envs = env.num_envs
        self.metadata = {
            key: to_autoreset_mode(value, modes) for key, value in env.metadata.items()
        }
        self._spec: Any = None
        # Last, because from here on attributes that the environment has are set there.
        setattr(self, self._inner_name, env)

    @property
    def _inner(self) -> Any:
        return self.__dict__[self._inner_name]

    @property
    def render_mode(self) -> str | None:
        """The environment's render mode."""
        return self._inner.render_mode  # type: ignore[no-any-return]

    @render_mode.setter
    def render_mode(self, value: str | None) -> None:
        self._inner.unwrapped.render_mode = value

    @property
    def autoreset_mode(self) -> Any:
        """The mode in ``metadata``, so one of the library that this is a part of.

        Raises:
            AttributeError: The environment does not say which mode it has.
        """
        try:
            return self.metadata["autoreset_mode"]
        except KeyError:
            raise AttributeError(f"{self} has no autoreset_mode") from None

    @property
    def closed(self) -> bool:
        """Whether the environment is closed."""
        return self._inner.closed  # type: ignore[no-any-return]

    @closed.setter
    def closed(self, value: bool) -> None:
        self._inner.closed = value

    @property
    def np_random(self) -> Any:
        """The environment's random generator."""
        return self._inner.np_random

    @np_random.setter
    def np_random(self, value: Any) -> None:
        self._inner.np_random = value

    @property
    def np_random_seed(self) -> Any:
        """The seed of the environment's random generator."""
        return self._inner.np_random_seed

    def close(self, **kwargs: Any) -> None:
        """Close the environment."""
        self._inner.close(**kwargs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self._inner}>"


class AsGymnasiumVector(_VectorAdapter, gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """A Ludus vector environment as a Gymnasium vector environment.

    Attributes that it lacks, ``call`` and ``get_attr`` among them, are the Ludus environment's.
    """

    _inner_name: ClassVar[str] = "ludus_env"
    ludus_env: VectorEnv[Any, Any, Any]

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env, to_gymnasium_space, gymnasium.vector.AutoresetMode)

    @raises_gymnasium_errors
    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments."""
        return self.ludus_env.reset(seed=seed, options=options)

    @raises_gymnasium_errors
    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step the environments."""
        return self.ludus_env.step(actions)

    @raises_gymnasium_errors
    def render(self) -> Any:
        """Render the environments."""
        return self.ludus_env.render()

    @property
    def spec(self) -> Any:
        """The spec that was assigned, else the environment's own, converted."""
        if self._spec is None and self.ludus_env.spec is not None:
            self._spec = to_gymnasium_spec(self.ludus_env.spec)
        return self._spec

    @spec.setter
    def spec(self, value: Any) -> None:
        self._spec = value


class AsLudusVector(_VectorAdapter, VectorEnv[Any, Any, Any]):
    """A Gymnasium vector environment as a Ludus vector environment.

    Attributes that it lacks, ``call`` and ``get_attr`` among them, are Gymnasium's.
    """

    _inner_name: ClassVar[str] = "gymnasium_env"
    gymnasium_env: Any

    def __init__(self, env: Any) -> None:
        super().__init__(env, from_gymnasium_space, AutoresetMode)

    @raises_ludus_errors
    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments."""
        return self.gymnasium_env.reset(seed=seed, options=options)  # type: ignore[no-any-return]

    @raises_ludus_errors
    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step the environments."""
        return self.gymnasium_env.step(actions)  # type: ignore[no-any-return]

    @raises_ludus_errors
    def render(self) -> Any:
        """Render the environments."""
        return self.gymnasium_env.render()

    @property
    def spec(self) -> EnvSpec | None:
        """The spec that was assigned, else the environment's own, converted."""
        if self._spec is None and self.gymnasium_env.spec is not None:
            self._spec = from_gymnasium_spec(self.gymnasium_env.spec)
        return self._spec  # type: ignore[no-any-return]

    @spec.setter
    def spec(self, value: EnvSpec | None) -> None:
        self._spec = value
