"""One environment through `make`, default wrappers included, against `gymnasium.make`.

Every classic-control and toy-text id that both have. Both get the same random actions, drawn
beforehand, and are reset when an episode ends; they take turns. A figure is microseconds per step,
resets included, in the fastest and in the median round.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
from measure import Bar, Report, Side, console, progress, race, stepping, table

import ludus

AT_LEAST = 4.0
FAMILIES = ("classic_control", "toy_text")
ACTIONS = 2_000


def shared_ids() -> list[str]:
    return [
        spec.id
        for spec in ludus.registry.values()
        if spec.family in FAMILIES and spec.id in gymnasium.registry
    ]


def side(library: ModuleType, env_id: str, actions: list[Any]) -> Side:
    env = library.make(env_id)
    env.reset(seed=0)
    make_step, start_again = env.step, env.reset

    def step(action: Any) -> None:
        _, _, terminated, truncated, _ = make_step(action)
        if terminated or truncated:
            start_again()

    return stepping(step, actions, 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ids", nargs="+", default=shared_ids(), metavar="ID")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    options, report = parser.parse_args(), Report()
    rounds, seconds = (20, 0.005) if options.quick else (100, 0.01)
    warnings.simplefilter("ignore")
    shown = table(
        "One environment, µs per step: fastest round (median)",
        ["id", "ludus", "gymnasium", "times as fast"],
    )
    with progress("ludus.make / gymnasium.make", len(options.ids) * rounds) as advance:
        for env_id in options.ids:
            space = gymnasium.make(env_id).action_space
            space.seed(0)
            actions = [space.sample() for _ in range(ACTIONS)]
            sides = {lib.__name__: side(lib, env_id, actions) for lib in (ludus, gymnasium)}
            rates = race(sides, rounds=rounds, seconds=seconds, advance=advance)
            times = rates["ludus"].fastest / rates["gymnasium"].fastest
            cells = (f"{1e6 / r.fastest:.2f} ({1e6 / r.median:.2f})" for r in rates.values())
            shown.add_row(env_id, *cells, f"{times:.2f}×")
            report.add_rates({"id": env_id}, rates)
            claim = f"{env_id}: ludus.make / gymnasium.make"
            report.bars.append(Bar(claim, times, at_least=AT_LEAST))
    console.print(shown)
    report.finish(options.json)


if __name__ == "__main__":
    main()
