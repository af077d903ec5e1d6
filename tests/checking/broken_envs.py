"""One environment per rule that breaks this rule and no other."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.core import Env, EnvSpec, Wrapper
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple


class Good(Env):
    """Breaks nothing; its parts are overridden one by one."""

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}
    state_fields = ("position", "steps")

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space: Any = Box(-10.0, 10.0, (2,), np.float32)
        self.action_space: Any = Box(-1.0, 1.0, (2,), np.float32)
        self.position = np.zeros(2, np.float32)
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.position = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        self.steps = 0
        return self.observe(), self.info()

    def step(self, action: Any) -> Any:
        moved = self.position + action + self.np_random.normal(0, 0.1, 2)
        self.position = np.clip(moved, -10, 10).astype(np.float32)
        self.steps += 1
        return self.observe(), self.reward(), *self.flags(), self.info()

    def observe(self) -> Any:
        return self.position.copy()

    def reward(self) -> Any:
        return -float(np.abs(self.position).sum())

    def flags(self) -> tuple[Any, ...]:
        return self.steps >= 15, False

    def info(self) -> Any:
        return {"steps": self.steps}

    def render(self) -> Any:
        return {"rgb_array": np.zeros((4, 5, 3), np.uint8), "ansi": "x", None: None}[
            self.render_mode
        ]


def with_spec(env: Env, **details: Any) -> Env:
    """Give the environment a spec that builds another one like it."""
    details = {"disable_env_checker": True, "order_enforce": False, **details}
    env.spec = EnvSpec("Broken-v0", entry_point=type(env), **details)
    return env


def spaces(observation: Any = None, action: Any = None) -> Env:
    """Return an environment with other spaces, whose observations are samples."""

    class OtherSpaces(Good):
        def observe(self) -> Any:
            space = self.observation_space
            if not isinstance(space, Tuple):
                space.seed(int(self.np_random.integers(1000)))
            return space.sample()

        def step(self, action: Any) -> Any:
            self.steps += 1
            return self.observe(), 0.0, *self.flags(), self.info()

    env = OtherSpaces() if observation is not None else Good()
    if observation is not None:
        env.observation_space = observation
    if action is not None:
        env.action_space = action
        env.step = lambda action: Good.step(env, np.float32(0.0))  # type: ignore[method-assign]
    return env


def changed(space: Any, **attributes: Any) -> Any:
    """Return the space with attributes that its constructor would have refused."""
    for name, value in attributes.items():
        object.__setattr__(space, name, value)
    return space


def overriding(spec: dict[str, Any] | None = None, **members: Any) -> Callable[[], Env]:
    """Return a factory of ``Good`` with some members replaced."""

    def build() -> Env:
        env = type("Broken", (Good,), members)()
        return env if spec is None else with_spec(env, **spec)

    return build


def _missing_action_space() -> Env:
    env = Good()
    del env.action_space
    return env


def _reset_without_options(self: Any, *, seed: int | None = None) -> Any:
    return Good.reset(self, seed=seed)


def _reset_without_seed(self: Any, *, options: Any = None) -> Any:
    return Good.reset(self)


def _reset_with_return_info(
    self: Any, *, seed: Any = None, options: Any = None, return_info: bool = True
) -> Any:
    return Good.reset(self, seed=seed)


def _reset_seeded_by_default(self: Any, *, seed: Any = 5, options: Any = None) -> Any:
    return Good.reset(self, seed=seed)


def _reset_refusing_options(self: Any, *, seed: Any = None, options: Any = None) -> Any:
    if options is not None:
        raise TypeError("no options here")
    return Good.reset(self, seed=seed)


def _reset_observation_only(self: Any, *, seed: Any = None, options: Any = None) -> Any:
    return Good.reset(self, seed=seed)[0]


def _reset_without_super(self: Any, *, seed: Any = None, options: Any = None) -> Any:
    # The global-free way to be deterministic and still ignore the contract's generator.
    self.position = np.zeros(2, np.float32)
    self.steps = 0
    return self.observe(), self.info()


def _step_without_noise(self: Any, action: Any) -> Any:
    self.position = np.clip(self.position + action, -10, 10).astype(np.float32)
    self.steps += 1
    return self.observe(), self.reward(), *self.flags(), self.info()


class CountsResets(Good):
    """The reset's observation depends on the number of resets, forgotten after a step."""

    resets = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        obs, info = super().reset(seed=seed)
        type(self).resets += 1
        return obs + np.float32(self.offset() * type(self).resets), info

    def offset(self) -> float:
        return 0.001


class FirstStepVaries(Good):
    """The first step of the episodes differs while the checker compares two of them."""

    calls = 0

    def varied(self, amount: float) -> float:
        type(self).calls += self.steps == 1
        # Each seeded comparison of first steps is the 2nd and 3rd step ever taken.
        return amount if type(self).calls == 3 and self.steps == 1 else 0.0


class _StepVariesInValue(FirstStepVaries):
    def reward(self) -> Any:
        return self.varied(1.0)


class _StepVariesInBits(FirstStepVaries):
    def reward(self) -> Any:
        return np.float64(1.0)

    def observe(self) -> Any:
        return super().observe() + np.float32(self.varied(1e-6))


class _Reuses(Good):
    """Returns one constant array in every info."""

    constant = np.arange(3)

    def info(self) -> Any:
        return {"constant": self.constant}


class _Aliases(Good):
    def observe(self) -> Any:
        return self.position


class _CloseOnce(Good):
    def close(self) -> None:
        self.__dict__.pop("position")


class _LeavesSpaceLate(Good):
    def observe(self) -> Any:
        return self.position + np.float32(100.0 * (self.steps == 9))


class _RewardTurnsInfinite(Good):
    def reward(self) -> Any:
        return float("inf") if self.steps == 9 else 0.0


class _DriftsOverEpisodes(Good):
    """From the eighth step on, rewards count the steps of the instance's whole life."""

    life = 0

    def reward(self) -> Any:
        self.life += 1
        return float(self.life) if self.steps > 7 else 0.0


class _DrawsGlobally(Good):
    def reward(self) -> Any:
        np.random.rand()
        random.random()
        return 0.0


class _ForgetsAField(Good):
    state_fields = ("position",)

    def flags(self) -> tuple[Any, ...]:
        return self.steps >= 12, False


class _RaisesLate(Good):
    def reward(self) -> Any:
        if self.steps == 9:
            raise ZeroDivisionError("step nine")
        return 0.0


_BOX = (-1.0, 1.0, (2,), np.float32)
_METADATA = {"render_modes": ["rgb_array"], "render_fps": 10}

BROKEN: dict[str, Callable[[], Any]] = {
    "not-an-env": object,
    "wrapped-env": lambda: Wrapper(Good()),
    "missing-space": _missing_action_space,
    "space-type": lambda: spaces(action="Discrete(3)"),
    "space-shape": lambda: spaces(action=changed(Box(*_BOX), low=np.zeros(3))),
    "empty-space": lambda: spaces(action=changed(Discrete(3), n=np.int64(0))),
    "equal-bounds": lambda: spaces(Box(np.zeros(2), np.array([0.0, 1.0]), dtype=np.float64)),
    "inverted-bounds": lambda: _inverted(),
    "infinite-bounds": lambda: spaces(Box(-np.inf, 1.0, (2,), np.float32)),
    "action-not-normalized": lambda: spaces(action=Box(-2.0, 1.0, (2,), np.float32)),
    "seed-method": overriding(seed=lambda self, seed=None: None),
    "return-info": overriding(reset=_reset_with_return_info),
    "reset-no-seed": overriding(reset=_reset_without_seed),
    "reset-no-options": overriding(reset=_reset_without_options),
    "reset-seed-default": overriding(reset=_reset_seeded_by_default),
    "reset-arguments": overriding(reset=_reset_refusing_options),
    "reset-result": overriding(reset=_reset_observation_only),
    "reset-unseeded": overriding(reset=_reset_without_super, step=_step_without_noise),
    "reset-nondeterministic": lambda: with_spec(_counts_resets(0.1)),
    "reset-inexact": lambda: with_spec(_counts_resets(1e-8)),
    "obs-type": lambda: _discrete_as(np.int32),
    "obs-structure": lambda: _missing_key(),
    "obs-outside-space": lambda: _outside_at_reset(),
    "info-type": overriding(info=lambda self: None),
    "info-keys": overriding(info=lambda self: {1: 2}),
    "data-reuse": _Reuses,
    "step-result": overriding(step=lambda self, action: self.observe()),
    "step-old-api": overriding(flags=lambda self: (self.steps >= 15,)),
    "done-type": overriding(flags=lambda self: (int(self.steps >= 15), False)),
    "reward-type": lambda: _first_reward(np.zeros(1)),
    "reward-not-finite": lambda: _first_reward(float("inf")),
    "truncated-at-once": overriding(flags=lambda self: (False, True)),
    "step-nondeterministic": lambda: _fresh(_StepVariesInValue),
    "step-inexact": lambda: _fresh(_StepVariesInBits),
    "render-modes": lambda: type("Undeclared", (Good,), {"metadata": {}})("rgb_array"),
    "render-fps": overriding(metadata={"render_modes": ["rgb_array"]}, spec={}),
    "render-mode": lambda: _undeclared_mode(),
    "render-result": overriding(render=lambda self: [], metadata=_METADATA, spec={}),
    "render-untested": Good,
    "close-twice": lambda: with_spec(_CloseOnce()),
    "episode-obs-outside-space": _LeavesSpaceLate,
    "episode-reward": _RewardTurnsInfinite,
    "episode-nondeterministic": _DriftsOverEpisodes,
    "global-random": _DrawsGlobally,
    "obs-aliasing": _Aliases,
    "state-round-trip": _ForgetsAField,
    "raises": _RaisesLate,
}


def _inverted() -> Env:
    env = spaces(changed(Box(*_BOX), low=np.float32([1, -1]), high=np.float32([-1, 1])))
    env.observation_space.contains = lambda x: True  # type: ignore[method-assign]
    env.observe = Good.observe.__get__(env)  # type: ignore[attr-defined]
    return env


def _undeclared_mode() -> Env:
    env = overriding(render=lambda self: None)()
    env.render_mode = "human"
    return env


def _counts_resets(offset: float) -> Env:
    # A new class each time, for it counts in a class attribute.
    return type("Counts", (CountsResets,), {"offset": lambda self: offset})()


def _fresh(kind: type[Env]) -> Env:
    return type(kind.__name__, (kind,), {})()


def _discrete_as(dtype: type[np.generic]) -> Env:
    env = overriding(observe=lambda self: dtype(self.np_random.integers(5)))()
    env.observation_space = Discrete(5)
    return env


def _missing_key() -> Env:
    class MissingKey(Good):
        state_fields = ("position", "steps")

        def observe(self) -> Any:
            return {"a": self.position.copy(), **({"b": 1} if self.steps else {})}

    env = MissingKey()
    env.observation_space = Dict({"a": Box(-10, 10, (2,), np.float32)})
    return env


def _outside_at_reset() -> Env:
    return overriding(observe=lambda self: self.position + np.float32(50 * (self.steps == 0)))()


def _first_reward(value: Any) -> Env:
    return overriding(reward=lambda self: value if self.steps == 1 else 0.0)()


MORE_SPACES: dict[str, Callable[[], tuple[str, Any]]] = {
    "empty tuple": lambda: ("empty-space", Tuple(())),
    "empty dict": lambda: ("empty-space", Dict({})),
    "nested": lambda: ("space-type", changed(Dict({"a": Discrete(2)}), spaces={"a": 3})),
    "nvec": lambda: ("empty-space", changed(MultiDiscrete([2, 2]), nvec=np.array([2, 0]))),
    "nvec shape": lambda: ("space-shape", changed(MultiDiscrete([2, 2]), nvec=np.array([2]))),
    "multi binary": lambda: ("empty-space", changed(MultiBinary(3), _shape=(0,))),
    "discrete shape": lambda: ("space-shape", type("D", (Discrete,), {"shape": (1,)})(3)),
    "high": lambda: ("space-shape", changed(Box(*_BOX), high=np.ones(3))),
}
