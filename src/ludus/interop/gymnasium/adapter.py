"""Adapters between single environments of Ludus and Gymnasium."""

from __future__ import annotations

from typing import Any, ClassVar

from ludus.core.env import Env
from ludus.core.vector_env import VectorEnv
from ludus.core.wrapper import Wrapper
from ludus.interop.gymnasium.adapter_base import (
    Adapter,
    InnerAttribute,
    LinkedSpace,
    share_generators,
)
from ludus.interop.gymnasium.library import TO_GYMNASIUM, TO_LUDUS, gymnasium
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
    """Return a Ludus environment as a ``gymnasium.Env``.

    An adapted Gymnasium environment is unwrapped again. A vector environment is converted by
    :func:`~ludus.interop.gymnasium.to_gymnasium_vector`.

    Raises:
        TypeError: ``env`` is an environment of neither library.

    >>> import gymnasium, ludus
    >>> env = to_gymnasium(ludus.make("CartPole-v1"))
    >>> isinstance(env, gymnasium.Env)
    True
    >>> from_gymnasium(env)
    <TimeLimit<OrderEnforcing<PassiveEnvChecker<CartPoleEnv<CartPole-v1>>>>>
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
    """Return a ``gymnasium.Env`` as a Ludus environment.

    An adapted Ludus environment is unwrapped again; Gymnasium wrappers around it become Ludus
    wrappers. A vector environment is converted by
    :func:`~ludus.interop.gymnasium.from_gymnasium_vector`.

    Raises:
        TypeError: ``env`` is an environment of neither library.
        CustomSpaceError: One of its spaces is not a space.
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
    # So that wrappers of the environment's package can wrap the adapter.
    let_wrappers_convert()
    innermost = env
    while isinstance(innermost, gymnasium.Wrapper):
        innermost = innermost.env
    if innermost is not env and isinstance(innermost, AsGymnasium):
        return AsLudusWrapper(env, from_gymnasium(env.env))
    return AsLudus(env)


def wrapped(env: Env[Any, Any], wrapper: Any, kwargs: dict[str, Any]) -> Env[Any, Any]:
    """Wrap a Ludus environment in a Gymnasium wrapper and return it as a Ludus environment."""
    return AsLudusWrapper(wrapper(env=to_gymnasium(env), **kwargs), env, kwargs)


class _EnvAdapter(Adapter):
    """Base class of the adapters of single environments."""

    _convert: ClassVar[Any]

    action_space = LinkedSpace()
    observation_space = LinkedSpace()
    metadata: Any = InnerAttribute()
    # Checkers read these two to see whether an environment has been seeded.
    _np_random: Any = InnerAttribute("unwrapped", "unwrapped")
    _np_random_seed: Any = InnerAttribute("unwrapped", "unwrapped")

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        # Convert both spaces now, so that invalid ones are refused at once.
        for name in ("action_space", "observation_space"):
            getattr(self, name)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the inner environment."""
        share_generators(self)
        return self._call("reset", seed=seed, options=options)  # type: ignore[no-any-return]

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the inner environment."""
        share_generators(self)
        return self._call("step", action)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the inner environment."""
        self._inner.close()

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self._inner}>"


class AsGymnasium(_EnvAdapter, gymnasium.Env):  # type: ignore[misc]
    """A Ludus environment, wrappers included, as a Gymnasium environment.

    ``unwrapped`` is the adapter itself, or the original if it wraps an adapted Gymnasium
    environment. Attributes that the adapter lacks are read from and written to the Ludus
    environment by ``get_wrapper_attr`` and ``set_wrapper_attr``.
    """

    _inner_name: ClassVar[str] = "ludus_env"
    _convert = staticmethod(to_gymnasium_space)
    _convert_spec = staticmethod(to_gymnasium_spec)
    _errors = TO_GYMNASIUM
    ludus_env: Env[Any, Any]

    @property
    def unwrapped(self) -> Any:
        """The innermost Gymnasium environment."""
        innermost = self.ludus_env.unwrapped
        return innermost.gymnasium_env.unwrapped if isinstance(innermost, AsLudus) else self


class _FromGymnasium(_EnvAdapter):
    _inner_name: ClassVar[str] = "gymnasium_env"
    _convert = staticmethod(from_gymnasium_space)
    _convert_spec = staticmethod(from_gymnasium_spec)
    _errors = TO_LUDUS
    gymnasium_env: Any


class AsLudus(_FromGymnasium, Env[Any, Any]):
    """A Gymnasium environment, wrappers included, as a Ludus environment.

    ``unwrapped`` is the adapter itself. Attributes that it lacks are read from and written to the
    Gymnasium environment by ``get_wrapper_attr`` and ``set_wrapper_attr``. ``get_state`` is not
    supported, because Gymnasium environments do not define their state.
    """

    @property
    def spec(self) -> Any:
        """The spec that was assigned, else the inner environment's spec, converted."""
        return super().spec

    @spec.setter
    def spec(self, value: Any) -> None:
        self._spec = value
        # The environment may read its own spec, which gymnasium.make would have set.
        if value is not None and self.gymnasium_env.spec is None:
            self.gymnasium_env.unwrapped.spec = copied_to_gymnasium(value)


class AsLudusWrapper(_FromGymnasium, Wrapper[Any, Any, Any, Any]):
    """A Gymnasium wrapper around an adapted Ludus environment, as a Ludus wrapper.

    ``env`` is the Ludus environment inside, ``gymnasium_env`` the Gymnasium wrapper.
    """

    spec = Wrapper.spec

    def __init__(
        self, wrapper: Any, env: Env[Any, Any], recorded: dict[str, Any] | None = None
    ) -> None:
        """Adapt a wrapper.

        Args:
            wrapper: The Gymnasium wrapper.
            env: The Ludus environment that it wraps.
            recorded: Its constructor arguments; by default those that it recorded itself.
        """
        Wrapper.__init__(self, env)
        saved = vars(wrapper).get("_saved_kwargs", vars(wrapper).get(ARGUMENTS))
        self._recorded = saved if recorded is None else recorded
        super().__init__(wrapper)

    def _layer(self) -> tuple[type, dict[str, Any] | None]:
        return type(self.gymnasium_env), self._recorded

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The innermost Ludus environment."""
        return self.env.unwrapped
