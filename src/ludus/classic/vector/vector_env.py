"""Base classes of Gym's vector environments and their wrappers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.classic.core import Env, Wrapper
from ludus.classic.error import ClosedEnvironmentError
from ludus.core import env, vector_env
from ludus.core.foreign.spaces import from_foreign
from ludus.spaces import Tuple, concatenate, create_empty_array

__all__ = ["Slot", "SlotBuilder", "StepResult", "VectorEnv", "VectorEnvWrapper", "infos_of"]

_KEY = "classic"


class Slot(env.Env[Any, Any]):
    """One environment of a batch, whose infos pass through the backend unchanged.

    The backend merges info dicts into arrays, but keeps a dict inside a tuple.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.action_space = from_foreign(env.action_space)
        self.observation_space = from_foreign(env.observation_space)
        self.metadata = dict(getattr(env, "metadata", {}))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Seed, if a seed is given, and reset."""
        if seed is not None:
            self.env.seed(seed)
        return self.env.reset(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step."""
        observation, reward, done, info = self.env.step(action)
        return observation, reward, bool(done), False, {_KEY: (info,)}

    def render(self) -> Any:
        """Render for a human."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


class SlotBuilder:
    """Builds a slot in the process that steps it."""

    def __init__(self, env_fn: Callable[[], Any]) -> None:
        self.env_fn = env_fn

    def __call__(self) -> Slot:
        """Build the environment."""
        return Slot(self.env_fn())


def infos_of(infos: dict[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Return one info per environment, with ``terminal_observation`` if it has finished."""
    taken: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for source in (infos, infos.get("final_info", {})):
        for index, held in enumerate(source.get(_KEY, ())):
            if source[f"_{_KEY}"][index]:
                taken[index] = held[0]
    for index, finished in enumerate(infos.get("_final_obs", ())):
        if finished:
            taken[index]["terminal_observation"] = infos["final_obs"][index]
    return taken


StepResult = tuple[Any, npt.NDArray[Any], npt.NDArray[np.bool_], Sequence[dict[str, Any]]]


class VectorEnv(Env):
    """A batch of classic environments, run by one of Ludus's vector backends.

    Observations are batched; the action space is a ``Tuple``. A finished environment is reset in
    the same step: the observation is the first of the next episode, and the info has the final one
    as ``terminal_observation``.
    """

    is_vector_env = True

    def __init__(self, engine: vector_env.VectorEnv[Any, Any, Any]) -> None:
        self._engine = engine
        self._seeds: list[int] | None = None
        self.num_envs = engine.num_envs
        self.single_observation_space = engine.single_observation_space
        self.single_action_space = engine.single_action_space
        self.observation_space = engine.observation_space
        self.action_space = Tuple((engine.single_action_space,) * engine.num_envs)
        self.metadata = engine.metadata

    @property
    def closed(self) -> bool:
        """Whether the environments are closed."""
        return self._engine.closed

    def reset(self) -> Any:
        """Reset all environments and return their observations."""
        self.reset_async()
        return self.reset_wait()

    def step(self, actions: Any) -> StepResult:  # type: ignore[override]
        """Step every environment."""
        self.step_async(actions)
        return self.step_wait()

    def reset_async(self) -> None:
        """Start a reset."""
        raise NotImplementedError(f"{type(self).__name__} does not implement reset_async()")

    def reset_wait(self, timeout: float | None = None) -> Any:
        """Finish a reset."""
        raise NotImplementedError(f"{type(self).__name__} does not implement reset_wait()")

    def step_async(self, actions: Any) -> None:
        """Start a step."""
        raise NotImplementedError(f"{type(self).__name__} does not implement step_async()")

    def step_wait(self, timeout: float | None = None) -> StepResult:
        """Finish a step."""
        raise NotImplementedError(f"{type(self).__name__} does not implement step_wait()")

    def seed(self, seeds: int | Sequence[int] | None = None) -> None:
        """Set the seeds of the next reset: ``seeds + i``, or one seed per environment.

        Raises:
            ClosedEnvironmentError: The environments are closed.
            ValueError: The number of seeds is wrong.
        """
        if self.closed:
            raise ClosedEnvironmentError("Trying to seed environments that have been closed.")
        if seeds is None:
            self._seeds = None
            return
        if isinstance(seeds, int):
            seeds = range(seeds, seeds + self.num_envs)
        if len(seeds) != self.num_envs:
            raise ValueError(
                f"Expected one seed for each of the {self.num_envs} environments, got {len(seeds)}."
            )
        self._seeds = list(seeds)

    def close(self, **kwargs: Any) -> None:
        """Close all environments; a second call does nothing."""
        self._engine.close(**kwargs)

    def _take_seeds(self) -> list[int] | None:
        """Return the seeds of the next reset and clear them."""
        seeds, self._seeds = self._seeds, None
        return seeds

    def _batched(self, actions: Any) -> Any:
        space = self.single_action_space
        return concatenate(space, list(actions), create_empty_array(space, self.num_envs))

    def _converted(self, result: tuple[Any, Any, Any, Any, dict[str, Any]]) -> StepResult:
        observations, rewards, terminations, truncations, infos = result
        dones = np.logical_or(terminations, truncations)
        return observations, rewards, dones, infos_of(infos, self.num_envs)

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.num_envs})"


class VectorEnvWrapper(Wrapper):
    """Base class of wrappers of vector environments."""

    def __init__(self, env: VectorEnv) -> None:
        if not isinstance(env, VectorEnv | VectorEnvWrapper):
            raise TypeError(f"VectorEnvWrapper takes a VectorEnv, got {type(env)}.")
        super().__init__(env)

    def close(self, **kwargs: Any) -> None:
        """Close all environments."""
        self.env.close(**kwargs)
