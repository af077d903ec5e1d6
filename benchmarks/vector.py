"""Compiled batches against Gymnasium, EnvPool, gymnax and C, on the same action arrays.

What is not installed is left out. All sides take turns in one run; of several rounds the fastest
counts. Everything is single-threaded unless it says otherwise.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import ludus

SIZES = (1, 64, 1024, 8192)
ROUNDS, SECONDS = 5, 0.25


def available(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) is not None for module in modules)


def stepper(envs: Any, actions: Any) -> Callable[[int], None]:
    """Return a function that makes some number of steps, each with the next batch of actions."""
    envs.reset(seed=0)
    count = len(actions)

    def run(steps: int) -> None:
        step = envs.step
        for k in range(steps):
            step(actions[k % count])

    run(4)
    return run


def rate(run: Callable[[int], None], n: int) -> float:
    steps = 2
    while True:
        start = time.perf_counter()
        run(steps)
        took = time.perf_counter() - start
        if took > SECONDS / 4:
            return n * steps / took
        steps = max(steps * 2, int(steps * SECONDS / 3 / max(took, 1e-6)))


def sides(env_id: str, n: int, actions: Any) -> dict[str, Callable[[int], None]]:
    found: dict[str, Callable[[int], None]] = {}
    found["ludus"] = stepper(ludus.make_vec(env_id, n, copy=False), actions)
    if available("gymnasium"):
        import gymnasium

        if n <= 64:
            sync = gymnasium.make_vec(env_id, n, vectorization_mode="sync")
            found["gymnasium sync"] = stepper(sync, actions)
        if gymnasium.spec(env_id).vector_entry_point is not None:
            native = gymnasium.make_vec(env_id, n, vectorization_mode="vector_entry_point")
            found["gymnasium native"] = stepper(native, actions)
    if available("envpool"):
        import envpool

        if env_id in envpool.list_all_envs():
            pool = envpool.make_gymnasium(env_id, num_envs=n, num_threads=1)
            pool.reset()
            batches = [
                np.asarray(batch, np.int32 if batch.dtype.kind == "i" else np.float32)
                for batch in actions
            ]
            found["envpool"] = _envpool_stepper(pool, batches)
    return found


def _envpool_stepper(pool: Any, batches: list[Any]) -> Callable[[int], None]:
    def run(steps: int) -> None:
        for k in range(steps):
            pool.step(batches[k % len(batches)])

    run(2)
    return run


def compare(env_id: str, sizes: tuple[int, ...]) -> None:
    print(env_id)
    for n in sizes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            space = ludus.make_vec(env_id, n).action_space
            space.seed(0)
            actions = [space.sample() for _ in range(64)]
            runs = sides(env_id, n, actions)
            best = dict.fromkeys(runs, 0.0)
            for _ in range(ROUNDS):
                for name, run in runs.items():
                    best[name] = max(best[name], rate(run, n))
        ours = best.pop("ludus")
        others = "  ".join(
            f"{name} {theirs / 1e6:.3f}M (ratio {ours / theirs:.1f})"
            for name, theirs in best.items()
        )
        print(f"  {n:>6} envs  ludus {ours / 1e6:8.2f}M steps/s   {others}")


def threads(env_id: str, n: int = 65_536) -> None:
    space = ludus.make_vec(env_id, n).action_space
    space.seed(0)
    actions = [space.sample() for _ in range(4)]
    runs = {
        k: stepper(ludus.make_vec(env_id, n, copy=False, num_threads=k), actions) for k in (1, 2)
    }
    best = dict.fromkeys(runs, 0.0)
    for _ in range(ROUNDS):
        for k, run in runs.items():
            best[k] = max(best[k], rate(run, n))
    print(f"{env_id}, {n} envs: two threads / one thread = {best[2] / best[1]:.2f}  (goal ≥ 1.7)")


def single(env_id: str) -> None:
    """One environment through make, default wrappers included."""
    import gymnasium

    fastest = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        envs = {"ludus": ludus.make(env_id), "gymnasium": gymnasium.make(env_id)}
        space = ludus.make(env_id).action_space
        space.seed(0)
        actions = [space.sample() for _ in range(200)]
        for _ in range(40):
            for name, env in envs.items():
                env.reset(seed=0)
                start, steps = time.perf_counter(), 0
                for action in actions:
                    steps += 1
                    _, _, terminated, truncated, _ = env.step(action)
                    if terminated or truncated:
                        env.reset()
                took = (time.perf_counter() - start) / steps
                fastest[name] = min(fastest.get(name, 1.0), took)
    ratio = fastest["gymnasium"] / fastest["ludus"]
    print(
        f"  {env_id:<28} {fastest['ludus'] * 1e6:6.2f} µs per step, ratio {ratio:.1f}  (goal ≥ 4)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", default=["CartPole-v1"], help="environments to compare")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    arguments = parser.parse_args()
    for env_id in arguments.ids:
        compare(env_id, tuple(arguments.sizes))
    threads(arguments.ids[0])
    if available("gymnasium"):
        print("One environment through make, against Gymnasium:")
        for env_id in arguments.ids:
            single(env_id)


if __name__ == "__main__":
    main()
