"""Stable-Baselines3 on Ludus's batches, against SB3's `DummyVecEnv` over Gymnasium.

Both are built by a function `make_vec_env` with the same arguments and stepped through SB3's
interface, `vec.step(actions)`, without learning; they take turns. Both get the same random actions,
drawn beforehand. A figure is environment steps per second, resets and episode infos included.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from measure import Bar, Report, console, progress, race, short, stepping, table
from stable_baselines3.common.env_util import make_vec_env as make_dummy_vec_env

from ludus.interop.sb3 import make_vec_env

NUM_ENVS = 64
BATCHES = 256
AT_LEAST = {"CartPole-v1": 15.0}
IDS = ("CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "LunarLander-v3", "Hopper-v5")


def actions_for(env_id: str, num_envs: int) -> list[Any]:
    space = gymnasium.make(env_id).action_space
    space.seed(0)
    return [np.stack([space.sample() for _ in range(num_envs)]) for _ in range(BATCHES)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ids", nargs="+", default=IDS, metavar="ID")
    parser.add_argument("--num-envs", type=int, default=NUM_ENVS, metavar="N")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    options, report = parser.parse_args(), Report()
    rounds, seconds = (9, 0.02) if options.quick else (41, 0.05)
    warnings.simplefilter("ignore")
    shown = table(
        f"SB3's VecEnv.step, {options.num_envs} environments: steps per second, median round",
        ["id", "LudusVecEnv", "DummyVecEnv", "times as fast"],
    )
    with progress("LudusVecEnv / DummyVecEnv", len(options.ids) * rounds) as advance:
        for env_id in options.ids:
            actions = actions_for(env_id, options.num_envs)
            sides = {}
            for name, build in (("ludus", make_vec_env), ("dummy", make_dummy_vec_env)):
                vec = build(env_id, options.num_envs, seed=0)
                vec.reset()
                sides[name] = stepping(vec.step, actions, options.num_envs)
            rates = race(sides, rounds=rounds, seconds=seconds, advance=advance)
            times = rates["ludus"].median / rates["dummy"].median
            shown.add_row(env_id, *(short(rate.median) for rate in rates.values()), f"{times:.1f}×")
            report.add_rates({"id": env_id, "num_envs": options.num_envs}, rates)
            if env_id in AT_LEAST:
                claim = f"{env_id}, {options.num_envs} envs: LudusVecEnv / DummyVecEnv"
                report.bars.append(Bar(claim, times, at_least=AT_LEAST[env_id]))
    console.print(shown)
    report.finish(options.json)


if __name__ == "__main__":
    main()
