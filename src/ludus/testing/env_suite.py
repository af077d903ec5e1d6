"""Conformance tests for environments."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from ludus.checking import inspect_env
from ludus.checking.render import env_render_passive_checker
from ludus.checking.rollout import Moment, compare, play_actions, rollout
from ludus.core.env import Env
from ludus.core.state import copy_plain
from ludus.core.types import State
from ludus.errors import Error, StateError
from ludus.testing.require import require, require_member, require_same

__all__ = ["EnvConformance"]


class EnvConformance:
    """Tests that an environment follows the ``Env`` API; implement :meth:`make`.

    Example:
        >>> class TestMyEnv(EnvConformance):
        ...     def make(self, **kwargs):
        ...         return MyEnv(**kwargs)
    """

    seeds: Sequence[int] = (1, 2, 3)
    """Seeds of each test."""
    steps: int = 50
    """Steps per rollout."""
    deterministic: bool = True
    """Whether seed and actions determine the episode; if not, some tests are skipped."""
    render_modes: Sequence[str] = ()
    """Modes to test; :meth:`make` is then called with ``render_mode``."""
    suppress: Sequence[str] = ("render-untested", "wrapped-env")
    """Rules of :data:`ludus.checking.RULES` to ignore."""

    def make(self, **kwargs: Any) -> Env[Any, Any]:
        """Return a new environment; ``kwargs`` is empty, or a render mode."""
        raise NotImplementedError(f"{type(self).__name__} must implement make()")

    def test_no_rule_is_broken(self) -> None:
        """No rule of the checker is violated, warnings included."""
        with closing(self.make()) as env:
            report = inspect_env(env, suppress=self.suppress)
        require(not report.findings, str(report))

    def test_spaces_hold_their_samples(self) -> None:
        """Sampled actions and observations are in their spaces."""
        with closing(self.make()) as env:
            for space in (env.action_space, env.observation_space):
                for seed in self.seeds:
                    space.seed(seed)
                    require_member(space.sample(), space, "a sample of the space")

    def test_observations_lie_in_their_space(self) -> None:
        """Every observation of a random rollout is in the observation space."""
        with closing(self.make()) as env:
            for seed in self.seeds:
                for i, moment in enumerate(self._rollout(env, seed)):
                    require_member(
                        moment.observation, env.observation_space, f"seed {seed}, call {i}"
                    )

    def test_same_seed_same_episode(self) -> None:
        """Two instances with the same seed and actions return equal results, infos included."""
        self._need_determinism()
        with closing(self.make()) as env, closing(self.make()) as other:
            for seed in self.seeds:
                require_same(self._rollout(env, seed), self._rollout(other, seed), f"seed {seed}")

    def test_seed_decides_alone(self) -> None:
        """A seeded episode does not depend on earlier episodes."""
        self._need_determinism()
        first, *others = self.seeds
        with closing(self.make()) as env:
            fresh = self._rollout(env, first)
            for seed in others:
                self._rollout(env, seed)
            self._require_equal(fresh, self._rollout(env, first), "after other episodes")

    def test_instances_do_not_interfere(self) -> None:
        """Stepping one instance does not affect another one."""
        self._need_determinism()
        seed = self.seeds[0]
        with closing(self.make()) as env, closing(self.make()) as other:
            alone = self._rollout(env, seed)
            actions = [m.action for m in alone if m.action is not None]
            other.reset(seed=seed)
            record = [alone[0]]
            env.reset(seed=seed)
            for action in actions:
                record += play_actions(env, [action])
                if record[-1].terminated or record[-1].truncated:
                    break
                other.reset()
                play_actions(other, [action])
            self._require_equal(alone[: len(record)], record, "with another instance stepped")

    def test_bad_seeds_are_refused(self) -> None:
        """A seed that is negative or not an int raises."""
        for seed in (-1, "one"):
            with closing(self.make()) as env:
                try:
                    env.reset(seed=seed)  # type: ignore[arg-type]
                except (Error, TypeError, ValueError):
                    continue
                require(False, f"reset(seed={seed!r}) did not raise")

    def test_state_round_trip(self) -> None:
        """A state taken at any step, set on another instance, continues the same episode."""
        self._need_determinism()
        with closing(self.make()) as env, closing(self.make()) as other:
            for seed in self.seeds:
                env.reset(seed=seed)
                actions = [m.action for m in self._rollout(env, seed) if m.action is not None]
                for prefix in (0, 1, 5):
                    env.reset(seed=seed)
                    past = play_actions(env, actions[:prefix])
                    if past and (past[-1].terminated or past[-1].truncated):
                        break
                    state = self._state(env)
                    future = play_actions(env, actions[prefix:])
                    other.reset(seed=seed + 1)
                    other.set_state(state)
                    again = play_actions(other, actions[prefix:])
                    self._require_equal(future, again, f"seed {seed}, state after step {prefix}")

    def test_state_is_a_copy(self) -> None:
        """A saved state does not change when the environment is stepped."""
        with closing(self.make()) as env:
            self._rollout(env, self.seeds[0])
            env.reset(seed=self.seeds[0])
            state = self._state(env)
            before = copy_plain(state)
            self._rollout(env, self.seeds[0])
            require_same(before, state, "state")

    def test_close_twice(self) -> None:
        """Closing works before the first reset, after an episode, and again."""
        for played in (False, True):
            env = self.make()
            if played:
                self._rollout(env, self.seeds[0])
            env.close()
            env.close()

    def test_render(self) -> None:
        """Each of :attr:`render_modes` returns a valid frame, before and after a step."""
        for mode in self.render_modes:
            with closing(self.make(render_mode=mode)) as env:
                require(env.render_mode == mode, f"render_mode is {env.render_mode}, not {mode}")
                env.reset(seed=self.seeds[0])
                env_render_passive_checker(env)
                env.step(env.action_space.sample())
                env_render_passive_checker(env)

    def _rollout(self, env: Env[Any, Any], seed: int) -> list[Moment]:
        return rollout(env, seed=seed, steps=self.steps)

    def _state(self, env: Env[Any, Any]) -> State:
        try:
            return env.get_state()
        except StateError as problem:
            raise unittest.SkipTest(str(problem)) from problem

    def _need_determinism(self) -> None:
        if not self.deterministic:
            raise unittest.SkipTest("the environment is not deterministic")

    @staticmethod
    def _require_equal(one: Sequence[Moment], other: Sequence[Moment], where: str) -> None:
        difference = compare(one, other)
        require(difference is None, f"{where}: {difference}")
