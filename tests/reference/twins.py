"""One environment, written once and built on either library, to compare the two step by step."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

OBSERVATION_KINDS = ("box", "image", "dict", "tuple", "discrete", "int_box")
ACTION_KINDS = ("discrete", "box", "multi_discrete")


def _space(lib: ModuleType, kind: str) -> Any:
    s = lib.spaces
    return {
        "box": lambda: s.Box(-2.0, 2.0, (3,), np.float32),
        "int_box": lambda: s.Box(0, 9, (2, 2), np.int64),
        "image": lambda: s.Box(0, 255, (12, 10, 3), np.uint8),
        "dict": lambda: s.Dict({"a": s.Box(-1.0, 1.0, (2,), np.float32), "n": s.Discrete(5)}),
        "tuple": lambda: s.Tuple((s.Discrete(3), s.Box(0.0, 1.0, (2,), np.float64))),
        "discrete": lambda: s.Discrete(7),
        "multi_discrete": lambda: s.MultiDiscrete([3, 4]),
    }[kind]()


def twin_env(
    lib: ModuleType,
    observation: str = "box",
    action: str = "discrete",
    *,
    render_mode: str | None = None,
    mean_length: int = 7,
) -> Any:
    """Build the environment on ``lib`` (ludus or gymnasium): same seeds, same trajectories.

    Observations, rewards, endings and infos are drawn from ``np_random``; the action shifts the
    reward, so that a wrapper that changes actions shows.
    """
    actions = {
        "discrete": lambda: lib.spaces.Discrete(4),
        "box": lambda: lib.spaces.Box(-1.0, 1.0, (2,), np.float32),
        "multi_discrete": lambda: _space(lib, "multi_discrete"),
    }

    class TwinEnv(lib.Env):  # type: ignore[name-defined, misc]
        metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 20}
        state_fields = ("steps", "total")

        def __init__(self, render_mode: str | None = None) -> None:
            self.render_mode = render_mode
            self.observation_space = _space(lib, observation)
            self.action_space = actions[action]()
            self.steps = 0
            self.total = 0.0

        def _draw(self, space: Any) -> Any:
            name = type(space).__name__
            if name == "Discrete":
                return np.int64(self.np_random.integers(space.n))
            if name == "Dict":
                return {key: self._draw(sub) for key, sub in space.spaces.items()}
            if name == "Tuple":
                return tuple(self._draw(sub) for sub in space.spaces)
            if np.issubdtype(space.dtype, np.integer):
                high = space.high.astype(np.int64) + 1
                return self.np_random.integers(space.low, high).astype(space.dtype)
            return self.np_random.uniform(space.low, space.high).astype(space.dtype)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.steps = 0
            self.total = 0.0
            return self._draw(self.observation_space), {"start": float(self.np_random.random())}

        def step(self, act: Any) -> Any:
            self.steps += 1
            reward = float(self.np_random.normal()) + float(np.sum(act)) * 0.25
            self.total += reward
            ended = self.np_random.random() < 1.0 / mean_length
            cut = self.np_random.random() < 0.2 / mean_length
            info: dict[str, Any] = {"count": self.steps, "total": np.float32(self.total)}
            if self.steps % 3 == 0:
                info["third"] = np.arange(3) + self.steps
            return self._draw(self.observation_space), reward, bool(ended), bool(cut), info

        def render(self) -> Any:
            if self.render_mode == "ansi":
                return f"step {self.steps}\n"
            frame = np.zeros((16, 20, 3), np.uint8)
            frame[: self.steps % 16] = 10 * self.steps % 256
            return frame

    return TwinEnv(render_mode)


def assert_same(left: Any, right: Any, where: str = "value") -> None:
    """Fail unless both are equal in structure, type of container, dtype, shape and value."""
    if isinstance(left, dict):
        assert isinstance(right, dict), where
        assert set(left) == set(right), f"{where}: {sorted(left)} != {sorted(right)}"
        for key in left:
            assert_same(left[key], right[key], f"{where}[{key!r}]")
    elif isinstance(left, (tuple, list)):
        assert isinstance(right, (tuple, list)), where
        assert len(left) == len(right), where
        for i, (a, b) in enumerate(zip(left, right, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(left, np.ndarray) and left.dtype == object:
        assert left.shape == right.shape, where
        for i, (a, b) in enumerate(zip(left.flat, right.flat, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    else:
        a, b = np.asarray(left), np.asarray(right)
        assert a.dtype == b.dtype, f"{where}: dtype {a.dtype} != {b.dtype}"
        assert a.shape == b.shape, f"{where}: shape {a.shape} != {b.shape}"
        np.testing.assert_array_equal(a, b, err_msg=where)
