"""Robots, landers and games on their engines: 64 at once against EnvPool, one against Gymnasium.

All sides of a race get the same random actions, drawn beforehand, and take turns:

  ludus      make_vec(..., num_threads=2)
  envpool    make_gymnasium(..., num_threads=2), all environments in every step
  bare step  nothing but mj_step on as many robots, by as many threads; two of them also wait for
             Python's lock, so one on each side is raced, too
  make       one environment with its default wrappers, of Ludus and of Gymnasium

A cell shows steps per second in the fastest round, in brackets in the median round.
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import Bar, Rate, Report, Side, console, progress, race, short, stepping, table
from single_env import side as one_env

import ludus

NUM_ENVS, BATCHES = 64, 256
# The id elsewhere, what makes the games the same, and the bars.
MANY: dict[str, dict[str, Any]] = {
    "LunarLander-v3": {"bars": {"envpool": 1.0}},
    "BipedalWalker-v3": {"bars": {"envpool": 1.0}},
    "HalfCheetah-v5": {"bars": {"envpool": 1.1, "bare step": 0.85}},
    "Ant-v5": {"bars": {"envpool": 1.1, "bare step": 0.85}},
    "ALE/Pong-v5": {
        "envpool": "Pong-v5",
        "options": {"repeat_action_probability": 0.0},
        "bars": {"envpool": 1.0},
    },
}
# Robots are put back where their episodes would end.
HEALTHY = {"Ant-v5": (0.2, 1.0)}
ONE = {
    1.3: ("LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3", "CarRacing-v3"),
    1.0: tuple(
        f"{name}-v5"
        for name in (
            *("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedPendulum"),
            *("InvertedDoublePendulum", "Pusher", "Reacher", "Swimmer", "Walker2d"),
        )
    ),
}


def many_sides(env_id: str, threads: int) -> Iterator[tuple[str, Side]]:
    """Yield what is there of the sides of a race, each with its name."""
    about = MANY[env_id]
    envs = ludus.make_vec(env_id, NUM_ENVS, num_threads=threads, **about.get("options", {}))
    envs.reset(seed=0)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(BATCHES)]
    yield "ludus", stepping(envs.step, actions, NUM_ENVS)
    if importlib.util.find_spec("envpool"):
        import envpool

        name = about.get("envpool", env_id)
        pool = envpool.make_gymnasium(name, num_envs=NUM_ENVS, num_threads=threads, seed=0)
        pool.reset()
        kind = pool.action_space.dtype
        yield "envpool", stepping(pool.step, [one.astype(kind) for one in actions], NUM_ENVS)
    if "bare step" in about["bars"]:
        yield "bare step", bare_steps(env_id, actions, threads)


def bare_steps(env_id: str, actions: list[Any], threads: int) -> Side:
    """Return the side that does nothing but simulate: no observations, rewards or batches."""
    import mujoco

    robot: Any = ludus.make(env_id).unwrapped
    model, skip = robot.model, robot.frame_skip
    low, high = HEALTHY.get(env_id, (-np.inf, np.inf))
    robots = [mujoco.MjData(model) for _ in range(NUM_ENVS)]
    shares = np.array_split(np.arange(NUM_ENVS), threads)
    pool = ThreadPoolExecutor(threads)

    def walk(batch: Any, share: Any) -> None:
        for index in share:
            data = robots[index]
            data.ctrl[:] = batch[index]
            mujoco.mj_step(model, data, skip)
            if not low <= data.qpos[2] <= high:
                mujoco.mj_resetData(model, data)

    def step(batch: Any) -> None:
        if threads == 1:
            walk(batch, shares[0])
        else:
            list(pool.map(partial(walk, batch), shares))

    return stepping(step, actions, NUM_ENVS)


def one_sides(env_id: str) -> dict[str, Side]:
    """Return one environment of each library."""
    import gymnasium

    space = gymnasium.make(env_id).action_space
    space.seed(0)
    actions = [space.sample() for _ in range(BATCHES)]
    return {library.__name__: one_env(library, env_id, actions) for library in (ludus, gymnasium)}


def compare(shown: Any, report: Report, name: str, rates: dict[str, Rate], bars: Any) -> None:
    """Add the figures of a race to a table and a report."""
    cells = [f"{short(r.fastest)} ({short(r.median)})" for r in rates.values()]
    ratios = []
    for peer, bar in bars.items():
        if peer in rates:
            times = rates["ludus"].fastest / rates[peer].fastest
            ratios.append(f"{times:.2f}× {peer}")
            report.bars.append(Bar(f"{name}: ludus / {peer}", times, at_least=bar))
    shown.add_row(name, ", ".join(ratios), *cells)
    report.add_rates({"id": name}, rates)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ids", nargs="+", metavar="ID", help="only these")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    options, report = parser.parse_args(), Report()
    rounds, seconds = (10, 0.1) if options.quick else (40, 0.25)
    warnings.simplefilter("ignore")
    many = [
        (env_id, threads)
        for env_id, about in MANY.items()
        for threads in ((2, 1) if "bare step" in about["bars"] else (2,))
        if not options.ids or env_id in options.ids
    ]
    one = {
        env_id: bar
        for bar, ids in ONE.items()
        for env_id in ids
        if not options.ids or env_id in options.ids
    }
    batch = table(
        f"{NUM_ENVS} environments: steps per second",
        ["id, threads", "times as fast", "ludus", "envpool", "bare step"],
    )
    single = table(
        "One environment: steps per second", ["id", "times as fast", "ludus", "gymnasium"]
    )
    with progress("engines", (len(many) + len(one)) * rounds) as advance:
        for env_id, threads in many:
            sides = dict(many_sides(env_id, threads))
            rates = race(sides, rounds=rounds, seconds=seconds, advance=advance)
            compare(batch, report, f"{env_id}, {threads}", rates, MANY[env_id]["bars"])
        console.print(batch)
        for env_id, bar in one.items():
            rates = race(one_sides(env_id), rounds=rounds, seconds=seconds / 5, advance=advance)
            compare(single, report, env_id, rates, {"gymnasium": bar})
    console.print(single)
    report.finish(options.json)


if __name__ == "__main__":
    main()
