"""Wrappers around vector environments."""

from __future__ import annotations

from typing import Any, ClassVar, Generic

from ludus import logger
from ludus.core.env import check_state_owner
from ludus.core.spec import EnvSpec
from ludus.core.state import read_fields, refusing_damage, write_fields
from ludus.core.types import (
    ActType,
    ArrayType,
    ObsType,
    State,
    WrapperActType,
    WrapperObsType,
)
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.spaces import Space

__all__ = [
    "VectorActionWrapper",
    "VectorObservationWrapper",
    "VectorRewardWrapper",
    "VectorWrapper",
]


class VectorWrapper(
    VectorEnv[WrapperObsType, WrapperActType, ArrayType],
    Generic[WrapperObsType, WrapperActType, ObsType, ActType, ArrayType],
):
    """A vector environment around another one; methods that are not overridden call the inner one.

    Spaces and metadata are the inner ones until assigned. A wrapper with state names its attributes
    in :attr:`state_fields`.

    Raises:
        TypeError: ``env`` is not a :class:`VectorEnv`.
    """

    state_fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType]) -> None:
        if not isinstance(env, VectorEnv):
            raise TypeError(
                f"Expected env to be a `ludus.vector.VectorEnv` but got {type(env)}. Build it "
                "with ludus.make_vec(...); a single environment takes the wrappers of "
                "ludus.wrappers."
            )
        self.env = env
        self._observation_space: Space[Any] | None = None
        self._action_space: Space[Any] | None = None
        self._single_observation_space: Space[Any] | None = None
        self._single_action_space: Space[Any] | None = None
        self._metadata: dict[str, Any] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[WrapperObsType, dict[str, Any]]:
        """Reset the inner environments."""
        return self.env.reset(seed=seed, options=options)  # type: ignore[return-value]

    def step(
        self, actions: WrapperActType
    ) -> tuple[WrapperObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step the inner environments."""
        return self.env.step(actions)  # type: ignore[arg-type, return-value]

    def render(self) -> tuple[Any, ...] | None:
        """Render the inner environments."""
        return self.env.render()

    def close(self, **kwargs: Any) -> None:
        """Close the inner environments."""
        return self.env.close(**kwargs)

    def close_extras(self, **kwargs: Any) -> None:
        """Release the resources of the inner vector environment."""
        return self.env.close_extras(**kwargs)

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

    def _save_state(self) -> State:
        """Return the fields of the state; override for values that are not plain data."""
        return read_fields(self, self.state_fields)

    def _load_state(self, fields: State) -> None:
        """Undo :meth:`_save_state`."""
        write_fields(self, self.state_fields, fields)

    @property
    def unwrapped(self) -> VectorEnv[Any, Any, Any]:
        """The innermost vector environment."""
        return self.env.unwrapped

    @property
    def observation_space(self) -> Space[Any]:
        """The batched observations this wrapper returns."""
        space = self._observation_space
        return self.env.observation_space if space is None else space

    @observation_space.setter
    def observation_space(self, space: Space[Any]) -> None:
        self._observation_space = space

    @property
    def action_space(self) -> Space[Any]:
        """The batched actions this wrapper takes."""
        space = self._action_space
        return self.env.action_space if space is None else space

    @action_space.setter
    def action_space(self, space: Space[Any]) -> None:
        self._action_space = space

    @property
    def single_observation_space(self) -> Space[Any]:
        """One environment's observations."""
        space = self._single_observation_space
        return self.env.single_observation_space if space is None else space

    @single_observation_space.setter
    def single_observation_space(self, space: Space[Any]) -> None:
        self._single_observation_space = space

    @property
    def single_action_space(self) -> Space[Any]:
        """One environment's actions."""
        space = self._single_action_space
        return self.env.single_action_space if space is None else space

    @single_action_space.setter
    def single_action_space(self, space: Space[Any]) -> None:
        self._single_action_space = space

    @property
    def num_envs(self) -> int:  # type: ignore[override]
        """The number of environments."""
        return self.env.num_envs

    @property
    def np_random(self) -> Any:
        """The inner random generator."""
        return self.env.np_random

    @np_random.setter
    def np_random(self, value: Any) -> None:
        self.env.np_random = value

    @property
    def np_random_seed(self) -> Any:
        """The inner seed."""
        return self.env.np_random_seed

    @property
    def metadata(self) -> dict[str, Any]:
        """The inner metadata unless assigned."""
        return self.env.metadata if self._metadata is None else self._metadata

    @metadata.setter
    def metadata(self, value: dict[str, Any]) -> None:
        self._metadata = value

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """The inner spec."""
        return self.env.spec

    @property
    def render_mode(self) -> str | None:  # type: ignore[override]
        """The inner render mode."""
        return self.env.render_mode

    @property
    def closed(self) -> bool:
        """Whether the inner vector environment is closed."""
        return self.env.closed

    @closed.setter
    def closed(self, value: bool) -> None:
        self.env.closed = value

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self.env}>"


class VectorObservationWrapper(VectorWrapper[WrapperObsType, ActType, ObsType, ActType, ArrayType]):
    """A vector wrapper that changes observations only: implement :meth:`observations`.

    Raises:
        ValueError: The autoreset mode is same-step, in which the observations in ``final_obs``
            would stay unchanged.
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType]) -> None:
        super().__init__(env)
        mode = env.metadata.get("autoreset_mode")
        if mode is None:
            logger.warn(f"Vector environment ({env}) is missing `autoreset_mode` metadata key.")
        elif mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED):
            raise ValueError(
                f"{type(self).__name__} expected autoreset_mode to be NEXT_STEP or DISABLED, got "
                f"{mode}. Wrap each environment instead: make_vec(..., wrappers=[...])."
            )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[WrapperObsType, dict[str, Any]]:
        """Reset and change the observations."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self.observations(observations), infos

    def step(
        self, actions: ActType
    ) -> tuple[WrapperObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step and change the observations."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return self.observations(observations), rewards, terminations, truncations, infos

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return the changed batch of observations."""
        raise NotImplementedError(f"{type(self).__name__} does not implement observations()")


class VectorActionWrapper(VectorWrapper[ObsType, WrapperActType, ObsType, ActType, ArrayType]):
    """A vector wrapper that changes actions only: implement :meth:`actions`."""

    def step(
        self, actions: WrapperActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Change the actions and step."""
        return self.env.step(self.actions(actions))

    def actions(self, actions: WrapperActType) -> ActType:
        """Return the batch of actions for the inner environments."""
        raise NotImplementedError(f"{type(self).__name__} does not implement actions()")


class VectorRewardWrapper(VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType]):
    """A vector wrapper that changes rewards only: implement :meth:`rewards`."""

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step and change the rewards."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return observations, self.rewards(rewards), terminations, truncations, infos

    def rewards(self, rewards: ArrayType) -> ArrayType:
        """Return the changed batch of rewards."""
        raise NotImplementedError(f"{type(self).__name__} does not implement rewards()")
