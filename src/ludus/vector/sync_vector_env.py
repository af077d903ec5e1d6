"""Vector environment that steps its environments one after the other in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from ludus.core.batch import BatchEnv, Stepped
from ludus.core.batch_arguments import (
    batched_spaces,
    copied_batch,
    one_per_env,
)
from ludus.core.env import Env
from ludus.core.foreign.env import as_env
from ludus.core.state import copy_plain
from ludus.core.types import ActType, ObsType, State
from ludus.core.vector_env import AutoresetMode
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

__all__ = ["SyncVectorEnv"]

_Floats = npt.NDArray[np.float64]
_Bools = npt.NDArray[np.bool_]


class SyncVectorEnv(BatchEnv[ObsType, ActType], Generic[ObsType, ActType]):
    """A vector environment that steps its environments in a loop.

    Args:
        env_fns: Functions that build the environments, one each.
        copy: Return a copy of the batch of observations; otherwise the next call overwrites it.
        observation_mode: ``"same"`` if all observation spaces are equal, ``"different"`` if they
            differ in bounds only, or the pair (batched space, single space) to be used.
        autoreset_mode: When a finished environment starts its next episode.

    Raises:
        RuntimeError: The environments' spaces cannot be batched.
        TypeError: ``observation_mode`` is a pair of other objects than spaces.
        ValueError: An unknown ``observation_mode`` or ``autoreset_mode``.

    Example:
        >>> envs = SyncVectorEnv([lambda: ludus.make("CartPole-v1")] * 2)
        >>> _ = envs.reset(seed=[3, 7])
        >>> observations, rewards, terminations, truncations, infos = envs.step([0, 1])
        >>> rewards
        array([1., 1.])
    """

    # _step_rows() resets within its loop over the environments.
    resets_itself = frozenset(AutoresetMode)
    checks_started = False
    counts_episodes = False

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
        self.envs: list[Env[Any, Any]] = []
        mode = AutoresetMode(autoreset_mode)
        with ExitStack() as undo:
            for build in env_fns:
                self.envs.append(as_env(build()))
                undo.callback(self.envs[-1].close)
            if not self.envs:
                raise IndexError("SyncVectorEnv needs at least one environment, got no env_fns.")
            spaces = batched_spaces(
                observation_mode,
                [env.observation_space for env in self.envs],
                [env.action_space for env in self.envs],
            )
            undo.pop_all()
        first, count = self.envs[0], len(self.envs)
        super().__init__(
            count,
            spaces,
            metadata=first.metadata,
            render_mode=first.render_mode,
            autoreset_mode=mode,
        )
        self._env_obs: list[Any] = [None] * count
        self._observations: Any = create_empty_array(self.single_observation_space, count)
        self._fresh_arrays = _fills_arrays(self.single_observation_space)
        # Looked up here rather than in every step.
        self._iterate = iterate.dispatch(type(self.action_space))
        self._concatenate = concatenate.dispatch(type(self.single_observation_space))
        self._create = create_empty_array.dispatch(type(self.single_observation_space))
        self._resets = mode is AutoresetMode.SAME_STEP
        self._all_running = [False] * count

    @property  # type: ignore[misc]  # one generator per environment, so none can be assigned
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The random generators of the environments."""
        return self.get_attr("np_random")

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seeds of the environments' random generators."""
        return self.get_attr("np_random_seed")

    def _reset_rows(
        self, rows: Any, seeds: Sequence[int | None] | None, options: dict[str, Any] | None
    ) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for i in rows.tolist():
            seed = None if seeds is None else seeds[i]
            self._env_obs[i], info = self.envs[i].reset(seed=seed, options=options)
            if info:
                infos = self._add_info(infos, info, i)
        return infos

    def _read_actions(self, actions: Any) -> list[Any]:
        singles = list(self._iterate(self.action_space, actions))
        if len(singles) != self.num_envs:
            raise ValueError(
                f"Expected {self.num_envs} actions, one per environment, got {len(singles)}. "
                f"The action space is {self.action_space}."
            )
        return singles

    def _step_rows(self, rows: Any, actions: list[Any]) -> Stepped:
        count = self.num_envs
        rewards = np.zeros(count, dtype=np.float64)
        terminations = np.zeros(count, dtype=np.bool_)
        truncations = np.zeros(count, dtype=np.bool_)
        episodes, resets = self._episodes, self._resets
        finished = episodes.over.tolist() if episodes.any_over else self._all_running
        observations: list[Any] = self._env_obs
        infos: dict[str, Any] = {}
        for i, env in enumerate(self.envs):
            if finished[i]:
                observations[i], info = env.reset()
            else:
                observations[i], rewards[i], ended, cut, info = env.step(actions[i])
                if ended or cut:
                    terminations[i], truncations[i] = ended, cut
                    if resets:
                        final = {"final_obs": observations[i], "final_info": info}
                        infos = self._add_info(infos, final, i)
                        observations[i], info = env.reset()
            if info:
                infos = self._add_info(infos, info, i)
        return rewards, terminations, truncations, infos

    def _observe(self) -> Any:
        space = self.single_observation_space
        if self.copy and self._fresh_arrays:
            # Filling new arrays is cheaper than copying old ones, above all for images.
            empty = self._create(space, self.num_envs, np.empty)
            return self._concatenate(space, self._env_obs, empty)
        self._observations = self._concatenate(space, self._env_obs, self._observations)
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
        """Set the attribute in each environment; a list or tuple has one value for each.

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

    def _save(self) -> State:
        return {
            "envs": [env.get_state() for env in self.envs],
            "autoreset": self._episodes.over.copy(),
            "observations": copy_plain(self._env_obs, "observations"),
        }

    def _load(self, state: State) -> None:
        self._check_same({"num_envs": len(state["envs"])}, {"num_envs": self.num_envs})
        over = np.array(state["autoreset"], dtype=np.bool_).reshape(self.num_envs)
        saved = copy_plain(state["observations"], "observations")
        observations = [seen for _, seen in zip(self.envs, saved, strict=True)]
        started = [seen is not None for seen in observations]
        if all(started):
            space = self.single_observation_space
            concatenate(space, observations, create_empty_array(space, self.num_envs))
        for env, inner in zip(self.envs, state["envs"], strict=True):
            env.set_state(inner)
        self._episodes.load(started, over)
        self._env_obs = observations


def _fills_arrays(space: Space[Any]) -> bool:
    """Return whether batches of the space consist of arrays only, filled by ``concatenate``."""
    if isinstance(space, Dict):
        return all(map(_fills_arrays, space.spaces.values()))
    if isinstance(space, Tuple):
        return all(map(_fills_arrays, space.spaces))
    return isinstance(space, Box | Discrete | MultiBinary | MultiDiscrete)
