"""The process backend against Gymnasium's AsyncVectorEnv and against stepping in one process.

Cheap environments show the cost of signalling, one-millisecond environments show what running in
parallel brings. All sides take turns in one run.
"""

from __future__ import annotations

import statistics
import time
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np

import ludus
import ludus.vector

ROUNDS, SECONDS = 5, 0.6


def environment(library: ModuleType, milliseconds: float) -> Any:
    class Work(library.Env):  # type: ignore[name-defined, misc]
        observation_space = library.spaces.Box(-1.0, 1.0, (4,), np.float32)
        action_space = library.spaces.Discrete(2)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return np.zeros(4, np.float32), {}

        def step(self, action: int) -> Any:
            end = time.perf_counter() + milliseconds / 1e3 if milliseconds else 0.0
            while milliseconds and time.perf_counter() < end:
                sum(range(50))
            return np.zeros(4, np.float32), 1.0, False, False, {}

    return Work


def rate(envs: Any) -> float:
    actions = np.zeros(envs.num_envs, np.int64)
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        envs.step(actions)
        count += envs.num_envs
    return count / (time.perf_counter() - start)


def compare(title: str, sides: dict[str, Any], goal: str) -> None:
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for envs in sides.values():
        envs.reset(seed=0)
        for _ in range(20):
            envs.step(np.zeros(envs.num_envs, np.int64))
    for _ in range(ROUNDS):
        for name, envs in sides.items():
            rates[name].append(rate(envs))
    for envs in sides.values():
        envs.close()
    medians = [statistics.median(values) for values in rates.values()]
    print(title)
    for name, median in zip(rates, medians, strict=True):
        print(f"  {name:<28} {median:12,.0f} steps/s")
    print(f"  ratio {medians[0] / medians[1]:.2f}  (goal {goal})")


def main() -> None:
    for n in (8, 64):
        sides = {
            "ludus AsyncVectorEnv": ludus.vector.AsyncVectorEnv([environment(ludus, 0)] * n),
            "gymnasium AsyncVectorEnv": gymnasium.vector.AsyncVectorEnv(
                [environment(gymnasium, 0)] * n
            ),
        }
        compare(f"{n} cheap environments", sides, "≥ 10")
    work = [environment(ludus, 1.0)] * 8
    sides = {
        "ludus AsyncVectorEnv": ludus.vector.AsyncVectorEnv(work),
        "ludus SyncVectorEnv": ludus.vector.SyncVectorEnv(work),
    }
    compare("8 environments of 1 ms of Python work", sides, "≥ 1.8 on two processors")


if __name__ == "__main__":
    main()
