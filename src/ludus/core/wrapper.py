"""Wrappers: environments that change another environment."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar, Generic, SupportsFloat

import numpy as np

from ludus import logger
from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.env import Env, check_state_owner
from ludus.core.spec import EnvSpec, WrapperSpec
from ludus.core.state import refusing_damage
from ludus.core.types import ActType, ObsType, State, WrapperActType, WrapperObsType
from ludus.errors import StateError
from ludus.spaces import Space

__all__ = ["ActionWrapper", "ObservationWrapper", "RewardWrapper", "Wrapper"]


class Wrapper(
    Env[WrapperObsType, WrapperActType],
    Generic[WrapperObsType, WrapperActType, ObsType, ActType],
):
    """An environment around another one; methods that are not overridden call the inner one.

    ``action_space``, ``observation_space`` and ``metadata`` are the inner ones until assigned. A
    wrapper with state names its attributes in ``state_fields`` (see :class:`Env`); a stateless one
    sets an empty tuple.

    Raises:
        TypeError: ``env`` is not an :class:`Env`.
    """

    state_fields: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        if not isinstance(env, Env):
            raise TypeError(
                f"Expected env to be a `ludus.Env` but got {type(env)}. Build the environment "
                "first (ludus.make(...)), or convert it (ludus.interop.gymnasium)."
            )
        self.env = env
        self._action_space: Space[WrapperActType] | None = None
        self._observation_space: Space[WrapperObsType] | None = None
        self._metadata: dict[str, Any] | None = None
        self._cached_spec: EnvSpec | None = None

    def step(
        self, action: WrapperActType
    ) -> tuple[WrapperObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the inner environment."""
        return self.env.step(action)  # type: ignore[arg-type, return-value]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[WrapperObsType, dict[str, Any]]:
        """Reset the inner environment."""
        return self.env.reset(seed=seed, options=options)  # type: ignore[return-value]

    def render(self) -> Any:
        """Render the inner environment."""
        return self.env.render()

    def close(self) -> None:
        """Close the inner environment."""
        return self.env.close()

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The innermost environment."""
        return self.env.unwrapped

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """The inner spec with this wrapper added; ``None`` if the inner one has none."""
        if self._cached_spec is None:
            self._cached_spec = self._extended_spec()
        return self._cached_spec

    def _extended_spec(self) -> EnvSpec | None:
        inner = self.env.spec
        if inner is None:
            return None
        cls, arguments = self._layer()
        kwargs = None if arguments is None else _without_env(arguments)
        try:
            extended = deepcopy(inner)
        except Exception as problem:  # copying the user's arguments may raise anything
            logger.warn(f"An exception occurred ({problem}) while copying the spec {inner}")
            return None
        extended.additional_wrappers += (_wrapper_spec(cls, kwargs),)
        return extended

    def _layer(self) -> tuple[type, dict[str, Any] | None]:
        """Return the class of this wrapper and the arguments that it recorded, if any."""
        return type(self), self._saved_kwargs if isinstance(self, RecordConstructorArgs) else None

    @classmethod
    def wrapper_spec(cls, **kwargs: Any) -> WrapperSpec:
        """Return the spec of this wrapper with the given constructor arguments."""
        return _wrapper_spec(cls, kwargs)

    @classmethod
    def class_name(cls) -> str:
        """Return the wrapper's name."""
        return cls.__name__

    def get_state(self) -> State:
        """Return the state of this wrapper and of everything inside it."""
        return {
            "wrapper": type(self).__name__,
            "fields": self._save_state(),
            "env": self.env.get_state(),
        }

    @refusing_damage
    def set_state(self, state: State) -> None:
        """Restore the state that :meth:`get_state` returned.

        Raises:
            StateError: The state belongs to something else or is damaged.
        """
        check_state_owner(self, state, "wrapper")
        self.env.set_state(state["env"])
        self._load_state(state["fields"])

    def _declared_fields(self) -> tuple[str, ...]:
        if self.state_fields is not None:
            return self.state_fields
        stateless = (Env, Wrapper, ObservationWrapper, ActionWrapper, RewardWrapper)
        own = [
            base
            for base in type(self).__mro__
            if base not in stateless and {"step", "reset"} & vars(base).keys()
        ]
        if own:
            raise StateError(
                f"{own[0].__name__} overrides step or reset without declaring what it keeps. Set "
                "its class attribute state_fields to the names of the attributes that change "
                "during an episode (an empty tuple if none do)."
            )
        return ()

    def has_wrapper_attr(self, name: str) -> bool:
        """Return whether this wrapper, or something inside it, has the attribute."""
        return hasattr(self, name) or self.env.has_wrapper_attr(name)

    def get_wrapper_attr(self, name: str) -> Any:
        """Return the attribute of the outermost wrapper or environment that has it.

        Raises:
            AttributeError: None has it.
        """
        if hasattr(self, name):
            return getattr(self, name)
        try:
            return self.env.get_wrapper_attr(name)
        except AttributeError as problem:
            raise AttributeError(
                f"wrapper {self.class_name()} has no attribute {name!r}, nor has {self.env}"
            ) from problem

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set the attribute where it exists, outermost first; ``force`` creates it here."""
        if hasattr(self, name):
            setattr(self, name, value)
            return True
        if self.env.set_wrapper_attr(name, value, force=False):
            return True
        if force:
            setattr(self, name, value)
        return force

    @property
    def action_space(self) -> Space[WrapperActType]:
        """The actions this wrapper takes."""
        if self._action_space is None:
            return self.env.action_space  # type: ignore[return-value]
        return self._action_space

    @action_space.setter
    def action_space(self, space: Space[WrapperActType]) -> None:
        self._action_space = space

    @property
    def observation_space(self) -> Space[WrapperObsType]:
        """The observations this wrapper returns."""
        if self._observation_space is None:
            return self.env.observation_space  # type: ignore[return-value]
        return self._observation_space

    @observation_space.setter
    def observation_space(self, space: Space[WrapperObsType]) -> None:
        self._observation_space = space

    @property
    def metadata(self) -> dict[str, Any]:
        """The inner metadata unless assigned."""
        return self.env.metadata if self._metadata is None else self._metadata

    @metadata.setter
    def metadata(self, value: dict[str, Any]) -> None:
        self._metadata = value

    @property
    def render_mode(self) -> str | None:  # type: ignore[override]
        """The inner render mode."""
        return self.env.render_mode

    @property
    def np_random(self) -> np.random.Generator:
        """The innermost environment's random generator."""
        return self.env.np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self.env.np_random = value

    @property
    def np_random_seed(self) -> int:
        """The innermost environment's seed."""
        return self.env.np_random_seed

    @property
    def _np_random(self) -> np.random.Generator:  # type: ignore[override]
        # Hides the class attribute of Env, which is not the environment's generator.
        raise AttributeError(
            "Can't access `_np_random` of a wrapper, use `.unwrapped._np_random` or `.np_random`."
        )

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self.env}>"

    def __repr__(self) -> str:
        return str(self)


def _without_env(arguments: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if key != "env"}


def _wrapper_spec(cls: Any, kwargs: dict[str, Any] | None) -> WrapperSpec:
    return WrapperSpec(
        name=cls.class_name(), entry_point=f"{cls.__module__}:{cls.__name__}", kwargs=kwargs
    )


class ObservationWrapper(Wrapper[WrapperObsType, ActType, ObsType, ActType]):
    """A wrapper that changes observations only: implement :meth:`observation`."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[WrapperObsType, dict[str, Any]]:
        """Reset and change the observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.observation(observation), info

    def step(
        self, action: ActType
    ) -> tuple[WrapperObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step and change the observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.observation(observation), reward, terminated, truncated, info

    def observation(self, observation: ObsType) -> WrapperObsType:
        """Return the changed observation."""
        raise NotImplementedError(f"{type(self).__name__} does not implement observation()")


class ActionWrapper(Wrapper[ObsType, WrapperActType, ObsType, ActType]):
    """A wrapper that changes actions only: implement :meth:`action`."""

    def step(
        self, action: WrapperActType
    ) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Change the action and step."""
        return self.env.step(self.action(action))

    def action(self, action: WrapperActType) -> ActType:
        """Return the action for the inner environment."""
        raise NotImplementedError(f"{type(self).__name__} does not implement action()")


class RewardWrapper(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that changes rewards only: implement :meth:`reward`."""

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step and change the reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, self.reward(reward), terminated, truncated, info

    def reward(self, reward: SupportsFloat) -> SupportsFloat:
        """Return the changed reward."""
        raise NotImplementedError(f"{type(self).__name__} does not implement reward()")
