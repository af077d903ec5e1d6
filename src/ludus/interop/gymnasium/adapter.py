"""One environment of either library, as an environment of the other."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludus.core.env import Env
from ludus.core.forwarding import ForwardsAttributes
from ludus.core.spec import EnvSpec
from ludus.core.vector_env import VectorEnv
from ludus.core.wrapper import Wrapper
from ludus.interop.gymnasium.exceptions import raises_gymnasium_errors, raises_ludus_errors
from ludus.interop.gymnasium.library import gymnasium
from ludus.interop.gymnasium.linked_spaces import LinkedSpace, share_generators
from ludus.interop.gymnasium.spaces import from_gymnasium_space, to_gymnasium_space
from ludus.interop.gymnasium.specs import (
    copied_to_gymnasium,
    from_gymnasium_spec,
    to_gymnasium_spec,
)
from ludus.interop.gymnasium.wrapping import ARGUMENTS, let_wrappers_convert

__all__ = [
    "AsGymnasium",
    "AsLudus",
    "AsLudusWrapper",
    "from_gymnasium",
    "to_gymnasium",
    "wrapped",
]


def to_gymnasium(env: Any) -> Any:
    """Return the Ludus environment as a ``gymnasium.Env``; an adapted one comes out again.

    A vector environment comes as a ``gymnasium.vector.VectorEnv``, as from
    :func:`~ludus.interop.gymnasium.to_gymnasium_vector`.

    Raises:
        TypeError: It is an environment of neither library.
    """
    if isinstance(env, AsLudus):
        return env.gymnasium_env
    if isinstance(env, gymnasium.Env):
        return env
    if isinstance(env, VectorEnv | gymnasium.vector.VectorEnv):
        from ludus.interop.gymnasium.vector_adapter import to_gymnasium_vector

        return to_gymnasium_vector(env)
    if not isinstance(env, Env):
        raise TypeError(f"to_gymnasium() takes a ludus.Env, got {type(env)}.")
    return AsGymnasium(env)


def from_gymnasium(env: Any) -> Any:
    """Return the ``gymnasium.Env`` as a Ludus environment; an adapted one comes out again.

    A ``gymnasium.vector.VectorEnv`` comes as a Ludus vector environment, as from
    :func:`~ludus.interop.gymnasium.from_gymnasium_vector`.
    Gymnasium wrappers around an adapted Ludus environment become wrappers around that one.

    Raises:
        TypeError: It is an environment of neither library.
        CustomSpaceError: A space of it is no space.
    """
    if isinstance(env, AsGymnasium):
        return env.ludus_env
    if isinstance(env, Env):
        return env
    if isinstance(env, VectorEnv | gymnasium.vector.VectorEnv):
        from ludus.interop.gymnasium.vector_adapter import from_gymnasium_vector

        return from_gymnasium_vector(env)
    if not isinstance(env, gymnasium.Env):
        raise TypeError(f"from_gymnasium() takes a gymnasium.Env, got {type(env)}.")
    # Wrappers that its package brings are to be put around what is returned.
    let_wrappers_convert()
    innermost = env
    while isinstance(innermost, gymnasium.Wrapper):
        innermost = innermost.env
    if innermost is not env and isinstance(innermost, AsGymnasium):
        return AsLudusWrapper(env, from_gymnasium(env.env))
    return AsLudus(env)


def wrapped(env: Env[Any, Any], wrapper: Any, kwargs: dict[str, Any]) -> Env[Any, Any]:
    """Return the Ludus environment inside a Gymnasium wrapper, as a Ludus environment."""
    return AsLudusWrapper(wrapper(env=to_gymnasium(env), **kwargs), env, kwargs)


class _Adapter(ForwardsAttributes):
    """What both directions share: everything but spaces and spec is the inner environment's."""

    action_space = LinkedSpace()
    observation_space = LinkedSpace()
    _convert: ClassVar[Any]

    def __init__(self, env: Any) -> None:
        self._spec: Any = None
        # Last, because from here on attributes that the environment has are set there.
        setattr(self, self._inner_name, env)

    @property
    def _inner(self) -> Any:
        return self.__dict__[self._inner_name]

    @property
    def metadata(self) -> dict[str, Any]:
        """The environment's metadata."""
        return self._inner.metadata  # type: ignore[no-any-return]

    @metadata.setter
    def metadata(self, value: dict[str, Any]) -> None:
        self._inner.metadata = value

    @property
    def render_mode(self) -> str | None:
        """The environment's render mode."""
        return self._inner.render_mode  # type: ignore[no-any-return]

    @render_mode.setter
    def render_mode(self, value: str | None) -> None:
        self._inner.unwrapped.render_mode = value

    @property
    def np_random(self) -> np.random.Generator:
        """The environment's random generator."""
        return self._inner.np_random  # type: ignore[no-any-return]

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._inner.np_random = value

    @property
    def np_random_seed(self) -> int:
        """The seed of the environment's random generator."""
        return self._inner.np_random_seed  # type: ignore[no-any-return]

    @property
    def _np_random(self) -> np.random.Generator | None:
        # Checkers look here to see whether an environment has been seeded.
        return self._inner.unwrapped._np_random  # type: ignore[no-any-return]

    @_np_random.setter
    def _np_random(self, value: np.random.Generator | None) -> None:
        self._inner.unwrapped._np_random = value

    @property
    def _np_random_seed(self) -> int | None:
        return self._inner.unwrapped._np_random_seed  # type: ignore[no-any-return]

    @_np_random_seed.setter
    def _np_random_seed(self, value: int | None) -> None:
        self._inner.unwrapped._np_random_seed = value

    def close(self) -> None:
        """Close the environment."""
        self._inner.close()

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self._inner}>"


def _check_spaces(adapter: Any) -> None:
    """Convert both spaces, so that those which cannot be are refused at once."""
    for name in ("action_space", "observation_space"):
        getattr(adapter, name)


class AsGymnasium(_Adapter, gymnasium.Env):  # type: ignore[misc]
    """A Ludus environment, wrappers included, as a Gymnasium environment.

    ``unwrapped`` is the adapter; around an adapted Gymnasium environment it is that one. Attributes
    that the adapter lacks are read from and written to the Ludus environment, as
    ``get_wrapper_attr`` and ``set_wrapper_attr`` do there.
    """

    _inner_name: ClassVar[str] = "ludus_env"
    ludus_env: Env[Any, Any]

    _convert = staticmethod(to_gymnasium_space)

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__(env)
        _check_spaces(self)

    @property
    def unwrapped(self) -> Any:
        """The innermost environment that is one of Gymnasium."""
        innermost = self.ludus_env.unwrapped
        return innermost.gymnasium_env.unwrapped if isinstance(innermost, AsLudus) else self

    @raises_gymnasium_errors
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment."""
        share_generators(self)
        return self.ludus_env.reset(seed=seed, options=options)

    @raises_gymnasium_errors
    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment."""
        share_generators(self)
        return self.ludus_env.step(action)

    @raises_gymnasium_errors
    def render(self) -> Any:
        """Render the environment."""
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


class _StepsGymnasium(_Adapter):
    """An adapter whose steps are those of a Gymnasium environment."""

    _inner_name: ClassVar[str] = "gymnasium_env"
    _convert = staticmethod(from_gymnasium_space)
    gymnasium_env: Any

    @raises_ludus_errors
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment."""
        share_generators(self)
        return self.gymnasium_env.reset(seed=seed, options=options)  # type: ignore[no-any-return]

    @raises_ludus_errors
    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment."""
        share_generators(self)
        return self.gymnasium_env.step(action)  # type: ignore[no-any-return]

    @raises_ludus_errors
    def render(self) -> Any:
        """Render the environment."""
        return self.gymnasium_env.render()


class AsLudus(_StepsGymnasium, Env[Any, Any]):
    """A Gymnasium environment, wrappers included, as a Ludus environment.

    ``unwrapped`` is the adapter. Attributes that it lacks are read from and written to the
    Gymnasium environment, as ``get_wrapper_attr`` and ``set_wrapper_attr`` do there. Its state
    cannot be saved, because Gymnasium environments do not say what it is.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        _check_spaces(self)

    @property
    def spec(self) -> EnvSpec | None:
        """The spec that was assigned, else the environment's own, converted."""
        if self._spec is None and self.gymnasium_env.spec is not None:
            self._spec = from_gymnasium_spec(self.gymnasium_env.spec)
        return self._spec  # type: ignore[no-any-return]

    @spec.setter
    def spec(self, value: EnvSpec | None) -> None:
        self._spec = value
        # Environments look at their own spec, which Gymnasium's make would have given to them.
        if value is not None and self.gymnasium_env.spec is None:
            self.gymnasium_env.unwrapped.spec = copied_to_gymnasium(value)


class AsLudusWrapper(_StepsGymnasium, Wrapper[Any, Any, Any, Any]):  # type: ignore[misc]
    """A Gymnasium wrapper around an adapted Ludus environment, as a Ludus wrapper.

    ``env`` is the Ludus environment inside, ``gymnasium_env`` the Gymnasium wrapper.
    """

    def __init__(
        self, wrapper: Any, env: Env[Any, Any], recorded: dict[str, Any] | None = None
    ) -> None:
        """Adapt a wrapper.

        Args:
            wrapper: The Gymnasium wrapper.
            env: The Ludus environment that it wraps.
            recorded: The arguments it was built with; by default those it has recorded itself.
        """
        Wrapper.__init__(self, env)
        saved = vars(wrapper).get("_saved_kwargs", vars(wrapper).get(ARGUMENTS))
        self._recorded = saved if recorded is None else recorded
        super().__init__(wrapper)
        _check_spaces(self)

    def _layer(self) -> tuple[type, dict[str, Any] | None]:
        return type(self.gymnasium_env), self._recorded

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The innermost Ludus environment."""
        return self.env.unwrapped
