"""What `make`'s default wrappers add to a step of a trivial environment, in both libraries.

Both run in this process, taking turns; the overhead is the step through `make` minus the step of
the bare environment. Of many short runs the fastest counts: what disturbs a run only adds to it.
"""

from __future__ import annotations

import timeit
import warnings
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np

import ludus

STEPS, ROUNDS = 1_000, 1_500


def build(library: ModuleType) -> Any:
    class Trivial(library.Env):  # type: ignore[name-defined, misc]
        observation_space = library.spaces.Box(0.0, 1.0, (4,), np.float32)
        action_space = library.spaces.Discrete(2)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return np.zeros(4, np.float32), {}

        def step(self, action: int) -> Any:
            return ZEROS, 1.0, False, False, {}

    ZEROS = np.zeros(4, np.float32)
    library.register("Trivial-v0", Trivial, max_episode_steps=10**9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = library.make("Trivial-v0")
        env.reset(seed=0)
        for _ in range(3):
            env.step(0)
    return env


def nanoseconds(env: Any) -> float:
    return timeit.timeit("step(0)", globals={"step": env.step}, number=STEPS) / STEPS * 1e9


def main() -> None:
    envs = {library.__name__: build(library) for library in (ludus, gymnasium)}
    fastest: dict[tuple[str, str], float] = {}
    for _ in range(ROUNDS):
        for name, env in envs.items():
            for part, subject in (("made", env), ("bare", env.unwrapped)):
                key = name, part
                fastest[key] = min(fastest.get(key, float("inf")), nanoseconds(subject))
    overhead = {name: fastest[name, "made"] - fastest[name, "bare"] for name in envs}
    for name, env in envs.items():
        bare = fastest[name, "bare"]
        print(f"{name:<10} {overhead[name]:5.0f} ns added to {bare:.0f} ns by {env}")
    print(f"ratio ludus / gymnasium: {overhead['ludus'] / overhead['gymnasium']:.2f}  (goal ≤ 0.5)")


if __name__ == "__main__":
    main()
