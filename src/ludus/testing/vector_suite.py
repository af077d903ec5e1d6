"""Conformance tests for vector environments."""

from __future__ import annotations

import unittest
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core.env import Env
from ludus.core.infos import add_info
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import StateError
from ludus.spaces import batch_space, concatenate, create_empty_array, iterate
from ludus.testing.require import require, require_member, require_same

__all__ = ["ReferenceVector", "VectorEnvConformance"]


class ReferenceVector:
    """Single environments, stepped in a plain loop."""

    def __init__(self, envs: Sequence[Env[Any, Any]], mode: AutoresetMode) -> None:
        self.envs = envs
        self.mode = mode
        self.done = [False] * len(envs)
        self.observations: list[Any] = [None] * len(envs)

    def reset(
        self, seeds: Sequence[int | None], mask: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments, or those in the mask."""
        infos: dict[str, Any] = {}
        for i, env in enumerate(self.envs):
            if mask is None or mask[i]:
                self.observations[i], info = env.reset(seed=seeds[i])
                add_info(infos, info, i, len(self.envs))
                self.done[i] = False
        return self._batch(), infos

    def step(self, actions: Sequence[Any]) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step the environments and apply autoreset."""
        rewards = np.zeros(len(self.envs))
        terminated = np.zeros(len(self.envs), dtype=np.bool_)
        truncated = np.zeros(len(self.envs), dtype=np.bool_)
        infos: dict[str, Any] = {}
        for i, env in enumerate(self.envs):
            if self.done[i] and self.mode is AutoresetMode.NEXT_STEP:
                obs, info = env.reset()
            else:
                obs, rewards[i], terminated[i], truncated[i], info = env.step(actions[i])
            self.done[i] = bool(terminated[i] or truncated[i])
            if self.done[i] and self.mode is AutoresetMode.SAME_STEP:
                add_info(infos, {"final_obs": obs, "final_info": info}, i, len(self.envs))
                obs, info = env.reset()
            add_info(infos, info, i, len(self.envs))
            self.observations[i] = obs
        return self._batch(), rewards, terminated, truncated, infos

    def close(self) -> None:
        """Close the environments."""
        for env in self.envs:
            env.close()

    def _batch(self) -> Any:
        space = self.envs[0].observation_space
        return concatenate(space, self.observations, create_empty_array(space, len(self.envs)))


_PARTS = ("observations", "rewards", "terminations", "truncations", "infos")


class VectorEnvConformance:
    """Tests that a vector environment returns the same as single environments.

    Implement :meth:`make` and :meth:`make_single`, with an environment whose episodes end within
    :attr:`steps`.

    Example:
        >>> class TestMyVector(VectorEnvConformance):
        ...     def make(self, num_envs, autoreset_mode):
        ...         return MyVectorEnv([MyEnv] * num_envs, autoreset_mode=autoreset_mode)
        ...     def make_single(self):
        ...         return MyEnv()
    """

    num_envs: int = 3
    steps: int = 60
    seed: int = 42
    autoreset_modes: Sequence[AutoresetMode] = tuple(AutoresetMode)
    """Modes that the vector environment supports."""
    copies: bool = True
    """Whether results are new arrays on every call."""

    def make(self, num_envs: int, autoreset_mode: AutoresetMode) -> VectorEnv[Any, Any, Any]:
        """Return a new vector environment."""
        raise NotImplementedError(f"{type(self).__name__} must implement make()")

    def make_single(self) -> Env[Any, Any]:
        """Return one environment of the kind in the vector environment."""
        raise NotImplementedError(f"{type(self).__name__} must implement make_single()")

    def test_spaces(self) -> None:
        """Spaces, number of environments and autoreset mode are as declared."""
        for mode in self.autoreset_modes:
            with self._pair(mode) as (env, reference):
                single = reference.envs[0]
                require(env.num_envs == self.num_envs, f"num_envs is {env.num_envs}")
                for kind in ("action", "observation"):
                    inner = getattr(single, f"{kind}_space")
                    for name, expected in (
                        (f"single_{kind}_space", inner),
                        (f"{kind}_space", batch_space(inner, self.num_envs)),
                    ):
                        found = getattr(env, name)
                        require(found == expected, f"{name} is {found}, expected {expected}")
                found = env.metadata.get("autoreset_mode")
                require(found == mode, f"metadata['autoreset_mode'] is {found}, expected {mode}")

    def test_reset_equals_single(self) -> None:
        """A reset returns the same as single environments, for one seed and for a list."""
        spread = [self.seed + i for i in range(self.num_envs)]
        backwards = spread[::-1]
        for mode in self.autoreset_modes:
            with self._pair(mode) as (env, reference):
                for seed, seeds in ((self.seed, spread), (backwards, backwards)):
                    found = env.reset(seed=seed)  # type: ignore[arg-type]
                    require_same(reference.reset(seeds), found, f"{mode.name}, reset(seed={seed})")
                # Without a seed, each environment continues its random stream.
                unseeded: list[int | None] = [None] * self.num_envs
                require_same(reference.reset(unseeded), env.reset(), f"{mode.name}, reset()")

    def test_steps_equal_single(self) -> None:
        """Observations, rewards, flags and infos equal those of single environments, every step."""
        for mode in self.autoreset_modes:
            with self._pair(mode) as (env, reference):
                self._reset(env, reference)
                ended = sum(
                    self._step(env, reference, f"{mode.name}, step {step}")
                    for step in range(self.steps)
                )
                require(ended, f"no episode ended within {self.steps} steps; raise `steps`")

    def test_result_types(self) -> None:
        """Rewards are float64, flags booleans, all of shape (num_envs,)."""
        for mode in self.autoreset_modes:
            with closing(self.make(self.num_envs, mode)) as env:
                observations, infos = env.reset(seed=self.seed)
                require_member(observations, env.observation_space, "reset, observations")
                require(isinstance(infos, dict), f"reset: infos are a {type(infos)}")
                observations, *arrays, infos = env.step(env.action_space.sample())
                require_member(observations, env.observation_space, "step, observations")
                require(isinstance(infos, dict), f"step: infos are a {type(infos)}")
                for name, array, kind in zip(_PARTS[1:4], arrays, "fbb", strict=True):
                    require(
                        isinstance(array, np.ndarray)
                        and array.shape == (self.num_envs,)
                        and array.dtype.kind == kind,
                        f"{name} are {array!r}",
                    )

    def test_reset_mask(self) -> None:
        """With autoreset disabled, a mask resets the selected environments only."""
        if AutoresetMode.DISABLED not in self.autoreset_modes:
            raise unittest.SkipTest("autoreset cannot be disabled")
        mask = np.arange(self.num_envs) % 2 == 0
        seeds = [self.seed + 100 + i for i in range(self.num_envs)]
        with self._pair(AutoresetMode.DISABLED) as (env, reference):
            self._reset(env, reference)
            self._step(env, reference, "before the masked reset")
            found = env.reset(seed=seeds[0], options={"reset_mask": mask})
            require_same(reference.reset(seeds, mask), found, "masked reset")
            self._step(env, reference, "after the masked reset")

    def test_results_are_not_overwritten(self) -> None:
        """A result is not overwritten by the next call."""
        if not self.copies:
            raise unittest.SkipTest("the vector environment reuses its arrays")
        for mode in self.autoreset_modes:
            with closing(self.make(self.num_envs, mode)) as env:
                results: list[Any] = [env.reset(seed=self.seed)]
                kept = [deepcopy(results[0])]
                for _ in range(3):
                    results.append(env.step(env.action_space.sample()))
                    kept.append(deepcopy(results[-1]))
                    if np.any(results[-1][2] | results[-1][3]):
                        break
                require_same(kept, results, f"{mode.name}, earlier results")

    def test_state_round_trip(self) -> None:
        """A saved state continues the same episodes."""
        for mode in self.autoreset_modes:
            with self._pair(mode) as (env, reference):
                self._reset(env, reference)
                for step in range(5):
                    self._step(env, reference, f"{mode.name}, step {step}")
                try:
                    state = env.get_state()
                except StateError as problem:
                    raise unittest.SkipTest(str(problem)) from problem
                actions = [env.action_space.sample() for _ in range(20)]
                future = self._play(env, actions)
                env.reset(seed=self.seed + 1)
                env.set_state(state)
                require_same(future, self._play(env, actions), f"{mode.name}, after set_state")

    def test_close_twice(self) -> None:
        """Closing works before the first reset, after steps, and again."""
        for played in (False, True):
            env = self.make(self.num_envs, self.autoreset_modes[0])
            if played:
                env.reset(seed=self.seed)
                env.step(env.action_space.sample())
            env.close()
            env.close()
            require(env.closed, "closed is false after close()")

    @contextmanager
    def _pair(
        self, mode: AutoresetMode
    ) -> Iterator[tuple[VectorEnv[Any, Any, Any], ReferenceVector]]:
        singles = [self.make_single() for _ in range(self.num_envs)]
        with (
            closing(ReferenceVector(singles, mode)) as reference,
            closing(self.make(self.num_envs, mode)) as env,
        ):
            env.action_space.seed(self.seed)
            yield env, reference

    def _reset(self, env: VectorEnv[Any, Any, Any], reference: ReferenceVector) -> None:
        expected = reference.reset([self.seed + i for i in range(self.num_envs)])
        require_same(expected, env.reset(seed=self.seed), "reset")

    def _step(self, env: VectorEnv[Any, Any, Any], reference: ReferenceVector, where: str) -> int:
        """Step both and return how many episodes ended; reset these without autoreset."""
        actions = env.action_space.sample()
        # The reference gets a copy, in case a step writes to its action.
        expected = reference.step(list(iterate(env.action_space, deepcopy(actions))))
        for name, left, right in zip(_PARTS, expected, env.step(actions), strict=True):
            require_same(left, right, f"{where}, {name}")
        done = expected[2] | expected[3]
        if reference.mode is AutoresetMode.DISABLED and done.any():
            found = env.reset(options={"reset_mask": done.copy()})
            require_same(reference.reset([None] * self.num_envs, done), found, f"{where}, reset")
        return int(done.sum())

    def _play(self, env: VectorEnv[Any, Any, Any], actions: Sequence[Any]) -> list[Any]:
        results: list[Any] = []
        for action in actions:
            results.append(deepcopy(env.step(action)))
            done = results[-1][2] | results[-1][3]
            disabled = env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
            if disabled and done.any():
                results.append(deepcopy(env.reset(options={"reset_mask": done.copy()})))
        return results
