"""Many environments in one process, stepped one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from ludus.core.batch_arguments import episode_over, seeds_per_env
from ludus.core.env import Env, check_state_owner
from ludus.core.foreign_env import as_env
from ludus.core.state import copy_plain, refusing_damage
from ludus.core.types import ActType, ObsType, State
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import ClosedEnvironmentError, ResetNeeded, StateError
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    Space,
    Tuple,
    concatenate,
    create_empty_array,
    iterate,
)
from ludus.vector.batch_arguments import batched_spaces, copied_batch, one_per_env
from ludus.wrappers.vector.reset_mask import split_reset_mask

__all__ = ["SyncVectorEnv"]

_Floats = npt.NDArray[np.float64]
_Bools = npt.NDArray[np.bool_]


class SyncVectorEnv(VectorEnv[ObsType, ActType, Any], Generic[ObsType, ActType]):
    """A vector environment that steps its environments in a loop.

    Args:
        env_fns: One function per environment, which builds it.
        copy: Return a copy of the batch of observations; otherwise the next call overwrites it.
        observation_mode: ``"same"`` if all observation spaces are equal, ``"different"`` if they
            differ in bounds only, or the pair (batched space, single space) to be used.
        autoreset_mode: When a finished environment starts its next episode.

    Raises:
        RuntimeError: The environments' spaces do not fit together.
        TypeError: ``observation_mode`` is a pair of something else than spaces.
        ValueError: An unknown ``observation_mode`` or ``autoreset_mode``.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env[Any, Any]]],
        copy: bool = True,
        observation_mode: str | tuple[Space[Any], Space[Any]] = "same",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        self.env_fns = env_fns
        self.copy = copy
        self.observation_mode = observation_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.envs: list[Env[Any, Any]] = []
        with ExitStack() as undo:
            for build in env_fns:
                self.envs.append(as_env(build()))
                undo.callback(self.envs[-1].close)
            self._adopt_spaces()
            undo.pop_all()

        first = self.envs[0]
        # A copy, because metadata is usually an attribute of the environment's class.
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self._env_obs: list[Any] = [None] * self.num_envs
        self._observations: Any = create_empty_array(self.single_observation_space, self.num_envs)
        self._fresh_arrays = _fills_arrays(self.single_observation_space)
        self._autoreset_envs: _Bools = np.zeros(self.num_envs, dtype=np.bool_)

    def _adopt_spaces(self) -> None:
        if not self.envs:
            raise IndexError("SyncVectorEnv needs at least one environment, got no env_fns.")
        self.num_envs = len(self.envs)
        spaces = batched_spaces(
            self.observation_mode,
            [env.observation_space for env in self.envs],
            [env.action_space for env in self.envs],
        )
        self.single_observation_space = spaces.single_observation
        self.observation_space = spaces.observation
        self.single_action_space = spaces.single_action
        self.action_space = spaces.action

    @property  # type: ignore[misc]  # one generator per environment, so none can be assigned
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The random generators of the environments."""
        return self.get_attr("np_random")

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seeds of the environments' random generators."""
        return self.get_attr("np_random_seed")

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start new episodes.

        Args:
            seed: An int gives environment ``i`` the seed ``seed + i``; a sequence, one each.
            options: Passed on to every environment, but for ``"reset_mask"``, a boolean array of
                the environments to reset; the others keep their observation.

        Raises:
            ClosedEnvironmentError: The vector environment was closed.
            ResetNeeded: A mask leaves out an environment that was never reset.
            TypeError: A seed or mask of a wrong type.
            ValueError: Not one seed or mask entry per environment.
        """
        self._check_open()
        seeds = seeds_per_env(seed, self.num_envs)
        mask, options = split_reset_mask(options, self.num_envs)
        indices: Sequence[int] = range(self.num_envs)
        if mask is not None:
            indices = np.flatnonzero(mask).tolist()
            if any(self._env_obs[i] is None for i in np.flatnonzero(~mask)):
                raise ResetNeeded("The first reset() must be a whole one, without a reset_mask.")
        infos: dict[str, Any] = {}
        for i in indices:
            self._env_obs[i], info = self.envs[i].reset(seed=seeds[i], options=options)
            if info:
                infos = self._add_info(infos, info, i)
            self._autoreset_envs[i] = False
        return self._batched_observations(), infos

    def step(self, actions: ActType) -> tuple[ObsType, _Floats, _Bools, _Bools, dict[str, Any]]:
        """Step each environment, or reset it, as :attr:`autoreset_mode` says.

        Raises:
            ClosedEnvironmentError: The vector environment was closed.
            EpisodeOver: Autoreset is disabled and a finished environment was not reset.
            ValueError: Not one action per environment.
        """
        self._check_open()
        singles = list(iterate(self.action_space, actions))
        if len(singles) != self.num_envs:
            raise ValueError(
                f"Expected {self.num_envs} actions, one per environment, got {len(singles)}. "
                f"The action space is {self.action_space}."
            )
        rewards = np.zeros(self.num_envs, dtype=np.float64)
        terminations = np.zeros(self.num_envs, dtype=np.bool_)
        truncations = np.zeros(self.num_envs, dtype=np.bool_)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            advance = self._advance_and_reset
        else:
            advance = self._advance
        infos = advance(singles, rewards, terminations, truncations)
        self._autoreset_envs = terminations | truncations
        return self._batched_observations(), rewards, terminations, truncations, infos

    def _advance(
        self, actions: list[Any], rewards: _Floats, terminations: _Bools, truncations: _Bools
    ) -> dict[str, Any]:
        """Step the running environments and, in next-step mode, reset the finished ones."""
        finished = self._autoreset_envs.tolist()
        if self.autoreset_mode is AutoresetMode.DISABLED and any(finished):
            raise episode_over(np.flatnonzero(finished).tolist())
        observations = self._env_obs
        infos: dict[str, Any] = {}
        for i, env in enumerate(self.envs):
            if finished[i]:
                observations[i], info = env.reset()
            else:
                observations[i], rewards[i], terminations[i], truncations[i], info = env.step(
                    actions[i]
                )
            if info:
                infos = self._add_info(infos, info, i)
        return infos

    def _advance_and_reset(
        self, actions: list[Any], rewards: _Floats, terminations: _Bools, truncations: _Bools
    ) -> dict[str, Any]:
        """Step all environments and reset those that finish, keeping their last output."""
        infos: dict[str, Any] = {}
        for i, env in enumerate(self.envs):
            observation, rewards[i], terminated, truncated, info = env.step(actions[i])
            terminations[i], truncations[i] = terminated, truncated
            if terminated or truncated:
                final = {"final_obs": observation, "final_info": info}
                infos = self._add_info(infos, final, i)
                observation, info = env.reset()
            self._env_obs[i] = observation
            if info:
                infos = self._add_info(infos, info, i)
        return infos

    def _batched_observations(self) -> Any:
        space = self.single_observation_space
        if self.copy and self._fresh_arrays:
            # Filling new arrays is cheaper than copying old ones, images most of all.
            return concatenate(
                space, self._env_obs, create_empty_array(space, self.num_envs, np.empty)
            )
        self._observations = concatenate(space, self._env_obs, self._observations)
        return copied_batch(self._observations) if self.copy else self._observations

    def render(self) -> tuple[Any, ...]:
        """Return the frame of each environment."""
        self._check_open()
        return tuple(env.render() for env in self.envs)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call the method of each environment; an attribute that is not callable is returned."""
        self._check_open()
        found = (env.get_wrapper_attr(name) for env in self.envs)
        return tuple(item(*args, **kwargs) if callable(item) else item for item in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return the attribute of each environment; a method is called without arguments."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set the attribute in each environment: to one value each if a list or tuple is given.

        Raises:
            ValueError: A list or tuple with another length than ``num_envs``.
        """
        self._check_open()
        for env, value in zip(self.envs, one_per_env(values, self.num_envs), strict=True):
            env.set_wrapper_attr(name, value)

    def close_extras(self, **kwargs: Any) -> None:
        """Close every environment, also if closing one of them fails."""
        with ExitStack() as stack:
            for env in reversed(self.envs):
                stack.callback(env.close)

    def get_state(self) -> State:
        """Return the states of all environments, the last observations and who is to be reset."""
        self._check_open()
        return {
            "vector_env": type(self).__name__,
            "envs": [env.get_state() for env in self.envs],
            "autoreset": self._autoreset_envs.copy(),
            "observations": copy_plain(self._env_obs, "observations"),
        }

    @refusing_damage
    def set_state(self, state: State) -> None:
        """Continue from what :meth:`get_state` returned.

        Raises:
            StateError: The state belongs to another class or number of environments, or is damaged.
        """
        self._check_open()
        check_state_owner(self, state, "vector_env")
        if len(state["envs"]) != self.num_envs:
            raise StateError(
                f"The state holds {len(state['envs'])} environments, this vector environment "
                f"{self.num_envs}. Build it with the same number of env_fns."
            )
        autoreset = np.array(state["autoreset"], dtype=np.bool_).reshape(self.num_envs)
        saved = copy_plain(state["observations"], "observations")
        observations = [seen for _, seen in zip(self.envs, saved, strict=True)]
        if not any(seen is None for seen in observations):
            space = self.single_observation_space
            concatenate(space, observations, create_empty_array(space, self.num_envs))
        for env, inner in zip(self.envs, state["envs"], strict=True):
            env.set_state(inner)
        self._autoreset_envs, self._env_obs = autoreset, observations

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError(
                f"Trying to operate on {self!r} after close(). Build a new vector environment."
            )


def _fills_arrays(space: Space[Any]) -> bool:
    """Tell whether batches of the space consist of arrays only, filled by ``concatenate``."""
    if isinstance(space, Dict):
        return all(map(_fills_arrays, space.spaces.values()))
    if isinstance(space, Tuple):
        return all(map(_fills_arrays, space.spaces))
    return isinstance(space, Box | Discrete | MultiBinary | MultiDiscrete)
