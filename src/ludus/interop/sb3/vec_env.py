"""Adapter from a Ludus vector environment to Stable-Baselines3's ``VecEnv``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import Error
from ludus.interop.gymnasium.spaces import to_gymnasium_space
from ludus.interop.gymnasium.vector_adapter import from_gymnasium_vector
from ludus.interop.sb3.episodes import METHODS, Episodes, MonitorOptions
from ludus.interop.sb3.rows import (
    Monitor,
    VecEnv,
    final_observation,
    final_rows,
    info_rows,
    rows_of,
)
from ludus.wrappers import TimeLimit

__all__ = ["LudusVecEnv"]

_Indices = int | Iterable[int] | None
_TRUNCATED = "TimeLimit.truncated"


class LudusVecEnv(VecEnv):  # type: ignore[misc]
    """A Ludus vector environment as a ``VecEnv`` of Stable-Baselines3.

    It returns the same as a ``DummyVecEnv`` of monitored environments: finished environments are
    reset in the same step, ``infos[i]`` then has ``terminal_observation`` and ``episode``, and
    ``reset_infos`` has the infos of the resets. Observations are copied once per step if the batch
    reuses its buffers (``copy=False``), otherwise not at all.

    Args:
        env: A vector environment of Ludus or Gymnasium, with same-step or disabled autoreset.
        monitor: Options of the episode log; ``None`` leaves ``episode`` out of the infos.

    Raises:
        Error: The batch has next-step autoreset, which SB3 does not support.
        CustomSpaceError: A space has no Gymnasium equivalent.
    """

    def __init__(
        self,
        env: Any,
        *,
        monitor: MonitorOptions | None = MonitorOptions(),  # noqa: B008, frozen
    ) -> None:
        self.env: VectorEnv[Any, Any, Any] = from_gymnasium_vector(env)
        self._same_step = _resets_in_same_step(self.env)
        self._rows = rows_of(self.env)
        self._shares = not getattr(self.env.unwrapped, "copy", True)
        self._actions: Any = None
        self._started = False
        super().__init__(
            self.env.num_envs,
            to_gymnasium_space(self.env.single_observation_space),
            to_gymnasium_space(self.env.single_action_space),
        )
        self.metadata = self.env.metadata
        spec = self.env.spec
        named = None if spec is None else spec.id
        self._episodes = None if monitor is None else Episodes(self.num_envs, monitor, named)

    # --- reset and step -----------------------------------------------------------------------

    def reset(self) -> Any:
        """Reset all environments, with the seeds and options that were set before."""
        if self._episodes is not None:
            self._episodes.restart()
        seeds = _one_seed(self._seeds)
        if all(options == self._options[0] for options in self._options):
            observations, infos = self.env.reset(seed=seeds, options=self._options[0] or None)
            self.reset_infos = info_rows(infos, self.num_envs)
        else:
            observations = self._reset_by_options(seeds)
        self._started = True
        self._reset_seeds()
        self._reset_options()
        return self._own(observations)

    def _reset_by_options(self, seeds: Any) -> Any:
        """Reset the environments in groups with the same options."""
        if not self._started:
            self.env.reset(seed=seeds)
        left = np.ones(self.num_envs, np.bool_)
        observations = None
        while left.any():
            options = self._options[int(left.argmax())]
            mask = np.array([other == options for other in self._options])
            left &= ~mask
            observations, infos = self.env.reset(
                seed=seeds, options={**options, "reset_mask": mask}
            )
            rows = info_rows(infos, self.num_envs)
            for index in np.flatnonzero(mask).tolist():
                self.reset_infos[index] = rows[index]
        return observations

    def step_async(self, actions: Any) -> None:
        """Store the actions for :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Step the environments; return observations, rewards, dones and a list of infos."""
        observations, rewards, ended, cut, told = self.env.step(self._actions)
        dones = ended | cut
        if self._episodes is not None:
            self._episodes.add(rewards)
        rewards = rewards.astype(np.float32)
        infos = info_rows(told, self.num_envs, **{_TRUNCATED: False})
        finished = dones.nonzero()[0].tolist()
        if finished and self._same_step:
            self._finish(finished, infos, told, cut & ~ended)
        elif finished:
            observations = self._finish_and_reset(finished, infos, observations, cut & ~ended)
        return self._own(observations), rewards, dones, infos

    def _finish(
        self, finished: list[int], infos: list[dict[str, Any]], told: dict[str, Any], cut: Any
    ) -> None:
        """Fill in the infos of finished episodes; the batch has reset them already."""
        last = final_rows(told, self.num_envs)
        for index in finished:
            info = self.reset_infos[index] = infos[index]
            del info[_TRUNCATED]
            infos[index] = dict(info) if last is None else last[index]
            self._end_episode(index, infos[index], final_observation(told, index), cut)

    def _finish_and_reset(
        self, finished: list[int], infos: list[dict[str, Any]], observations: Any, cut: Any
    ) -> Any:
        """Fill in the infos of finished episodes, reset them, and return all observations."""
        over = np.zeros(self.num_envs, np.bool_)
        over[finished] = True
        for index in finished:
            self._end_episode(index, infos[index], _one_of(observations, index), cut)
        observations, told = self.env.reset(options={"reset_mask": over})
        rows = info_rows(told, self.num_envs)
        for index in finished:
            self.reset_infos[index] = rows[index]
        return observations

    def _end_episode(self, index: int, info: dict[str, Any], last: Any, cut: Any) -> None:
        info[_TRUNCATED] = bool(cut[index])
        if self._episodes is not None:
            info["episode"] = self._episodes.finish(index, info)
        info["terminal_observation"] = last

    def _own(self, observations: Any) -> Any:
        """Return observations that the next step does not overwrite."""
        if not self._shares:
            return observations
        if isinstance(observations, dict):
            return {key: np.array(part, order="C") for key, part in observations.items()}
        if isinstance(observations, tuple):
            return tuple(np.array(part, order="C") for part in observations)
        return np.array(observations, order="C")

    def close(self) -> None:
        """Close the batch and the log files."""
        self.env.close()
        if self._episodes is not None:
            self._episodes.close()

    def get_images(self) -> Sequence[Any]:
        """Return a frame of each environment, ``None`` without rendering."""
        if self.render_mode != "rgb_array":
            return [None] * self.num_envs
        return list(self.env.render() or [None] * self.num_envs)

    # --- single environments ------------------------------------------------------------------

    def get_attr(self, attr_name: str, indices: _Indices = None) -> list[Any]:
        """Return an attribute of each environment.

        Raises:
            AttributeError: There is none of that name.
        """
        chosen = self._chosen(indices)
        episodes = getattr(self, "_episodes", None)
        if episodes is not None and attr_name in METHODS:
            return [episodes.method(attr_name, index) for index in chosen]
        return self._rows.get(attr_name, chosen)

    def set_attr(self, attr_name: str, value: Any, indices: _Indices = None) -> None:
        """Assign an attribute in each environment.

        Raises:
            Error: The environments have no attributes of their own.
        """
        self._rows.set(attr_name, value, self._chosen(indices))

    def env_method(
        self, method_name: str, *method_args: Any, indices: _Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of each environment.

        Raises:
            AttributeError: There is none of that name.
            Error: It would change the state of one environment of a compiled batch.
        """
        chosen = self._chosen(indices)
        if self._episodes is not None and method_name in METHODS:
            return [found() for found in self.get_attr(method_name, chosen)]
        return self._rows.call(method_name, chosen, method_args, method_kwargs)

    def env_is_wrapped(self, wrapper_class: type, indices: _Indices = None) -> list[bool]:
        """Return whether each environment has a wrapper of this class.

        ``Monitor`` and ``TimeLimit`` count, because the batch implements them.
        """
        chosen = self._chosen(indices)
        limited = self.env.spec is not None and self.env.spec.max_episode_steps is not None
        does_itself = (self._episodes is not None and issubclass(Monitor, wrapper_class)) or (
            limited and wrapper_class.__name__ == TimeLimit.__name__
        )
        return [True] * len(chosen) if does_itself else self._rows.wrapped(wrapper_class, chosen)

    def _chosen(self, indices: _Indices) -> list[int]:
        """Return the indices of environments; negative ones count from the end.

        Raises:
            IndexError: There is no such environment.
        """
        return [range(self.num_envs)[index] for index in self._get_indices(indices)]


def _resets_in_same_step(env: VectorEnv[Any, Any, Any]) -> bool:
    mode = env.metadata.get("autoreset_mode")
    if mode in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
        return bool(mode is AutoresetMode.SAME_STEP)
    raise Error(
        f"LudusVecEnv needs same-step or disabled autoreset; {env} has autoreset_mode={mode}. "
        "Build it with ludus.interop.sb3.make_vec_env, or with make_vec(..., "
        "autoreset_mode='SameStep') if the environment has its own batch, else with "
        "make_vec(..., vector_kwargs={'autoreset_mode': 'SameStep'})."
    )


def _one_seed(seeds: Sequence[int | None]) -> Any:
    """Return the first of consecutive seeds, which every batch accepts, else the list."""
    first = seeds[0]
    if first is None:
        return None if all(seed is None for seed in seeds) else list(seeds)
    return first if list(seeds) == list(range(first, first + len(seeds))) else list(seeds)


def _one_of(observations: Any, index: int) -> Any:
    if isinstance(observations, dict):
        return {key: _one_of(part, index) for key, part in observations.items()}
    if isinstance(observations, tuple):
        return tuple(_one_of(part, index) for part in observations)
    return np.array(observations[index])[()]
