"""Is Ludus ever slower than Gymnasium?

Parts, each over every id that Gymnasium's registry holds and Ludus can make:

  make      `make(id)` itself
  step      `make(id)`, then steps with the same random actions, resets at the end of episodes
  reset     `reset(seed=n)` with a new seed each time
  frame     `render()` with render_mode="rgb_array", after a step that is not counted
  wrapper   a step through each of Gymnasium's wrappers, over the same trivial environment
  batch     steps and resets of batches, see batch_rows.py; figures are per environment

Both libraries run in this process and take turns. A figure is the median round in microseconds of
the process's own processor time, so that other programs on the machine disturb little; "times" is
the median of the ratios of neighbouring rounds. Where an engine or another
library takes about 95 % of the time (MuJoCo, Atari, OpenCV …) the bar is 0.97. With more than a
thousand rows some fall short by chance: such a row is measured again with four times the rounds,
and the longer measurement counts, better or worse.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("MUJOCO_GL", "egl")

import gymnasium
from batch_rows import USES, bar_of, batch_side, suits, transitions_per_call
from measure import Bar, Report, Side, console, progress, race, stepping, table
from trivial_env import LIBRARY_BOUND, WRAPPERS, wrapped

import ludus

PARTS = ("make", "step", "reset", "frame", "wrapper", "batch")
ENGINES = ("mujoco", "atari")
DRAWN = ("classic_control", "toy_text", "box2d")
ACTIONS, WARM_UP = 1_000, 60
"""Actions per environment, and steps before the first frame: races begin with another picture."""
COMPILED_MAKE = 0.3
"""Bar of `make` where an environment gets memory for compiled code, about 0.1 ms more of work."""
SAME_STEP_COST = 1.3
"""How many times as long as one that resets in the next step a step that resets at once may take:
per call where episodes are long, per transition everywhere. A call that resets in the next step
makes no transition in the environments that it resets, one that resets at once makes one in each.
"""
AUTORESET_IDS = (
    *("CartPole-v1", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1", "CliffWalking-v1"),
    *("Taxi-v4", "FrozenLake8x8-v1", "FrozenLake-v1", "Blackjack-v1"),
)
RENDERS = {"atari": 16}
"""Frames after one step. Both libraries read the emulator's screen anew at each call, which takes
a hundredth of the time of a step: with one frame after each step a line would take a minute."""
LONG = 0.95
"""Transitions per environment and call from which episodes count as long."""
SEEDS = 300
"""How many seeds each side resets with, in turn."""


@dataclass(frozen=True)
class Row:
    """One line of a table: the two sides are built when its turn comes."""

    part: str
    name: str
    bar: float
    build: Callable[[ModuleType], Side]


def shared_ids(*, quick: bool) -> Iterator[str]:
    """Yield Gymnasium's ids that both libraries can make; of Atari one game if it is quick."""
    try:
        import ale_py
    except ImportError:
        console.print("ale-py is not installed: Atari is left out.")
    else:
        gymnasium.register_envs(ale_py)
    for spec in list(gymnasium.registry.values()):
        if callable(spec.entry_point) or str(spec.entry_point).startswith("ludus."):
            continue  # ids that only raise an error; Ludus's own plugin
        atari = "ale_py" in str(spec.entry_point)
        if not (quick and atari and "Pong" not in spec.id):
            yield spec.id


def family(env_id: str) -> str:
    """Return the family of an id, or what is wrong with it."""
    spec = ludus.registry.get(env_id)
    return "missing" if spec is None else str(spec.family)


def quiet_make(library: ModuleType, env_id: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library.make(env_id, **options)


def actions_of(env_id: str) -> list[Any]:
    env = quiet_make(gymnasium, env_id)
    env.action_space.seed(0)
    drawn = [env.action_space.sample() for _ in range(ACTIONS)]
    env.close()
    return drawn


def builds(env_id: str, library: ModuleType) -> Side:
    """Return the side that makes environments."""

    def run(calls: int) -> None:
        for _ in range(calls):
            library.make(env_id)

    quiet_make(library, env_id)
    return Side(run, 1)


def steps(env_id: str, library: ModuleType) -> Side:
    """Return the side that steps and resets."""
    return stepping(player(quiet_make(library, env_id)), actions_of(env_id), 1)


def player(env: Any) -> Callable[[Any], None]:
    env.reset(seed=0)
    make_step, start_again = env.step, env.reset

    def step(action: Any) -> None:
        _, _, terminated, truncated, _ = make_step(action)
        if terminated or truncated:
            start_again()

    return step


def resets(env_id: str, library: ModuleType) -> Side:
    """Return the side that resets with one seed after the other."""
    env, seed = quiet_make(library, env_id), 0

    def run(calls: int) -> None:
        nonlocal seed
        for _ in range(calls):
            seed = (seed + 1) % SEEDS
            env.reset(seed=seed)

    return Side(run, 1)


def frames(env_id: str, library: ModuleType) -> Side:
    """Return the side that renders; the step before each frame is not counted."""
    env = quiet_make(library, env_id, render_mode="rgb_array")
    step, actions, turn = player(env), actions_of(env_id), 0
    renders = range(RENDERS.get(family(env_id), 1))
    for action in actions[:WARM_UP]:
        step(action)
    render, clock = env.render, time.process_time

    def run(calls: int) -> float:
        nonlocal turn
        took = 0.0
        for _ in range(calls):
            turn = (turn + 1) % ACTIONS
            step(actions[turn])
            start = clock()
            for _ in renders:
                render()
            took += clock() - start
        return took

    return Side(run, len(renders))


def draws(env_id: str) -> bool:
    """Tell whether Gymnasium's environment gives frames; one that cannot be loaded is tried."""
    try:
        spec = gymnasium.registry[env_id]
        loaded = gymnasium.envs.registration.load_env_creator(spec.entry_point)
    except ImportError:
        return True
    return "rgb_array" in loaded.metadata.get("render_modes", ())


def rows(parts: list[str], *, quick: bool) -> Iterator[Row]:
    """Yield every line to be measured."""
    ids = list(shared_ids(quick=quick)) if set(parts) - {"wrapper"} else []
    for part in parts:
        if part == "wrapper":
            for name in gymnasium_wrappers():
                bar = 0.97 if name in LIBRARY_BOUND else 1.0
                yield Row(part, name, bar, partial(wrapped, name))
            continue
        if part == "batch":
            yield from batch_rows(ids)
            continue
        build = {"make": builds, "step": steps, "reset": resets, "frame": frames}[part]
        for env_id in ids:
            kind = family(env_id)
            if part == "frame" and not draws(env_id):
                continue
            yield Row(part, env_id, single_bar(part, kind), partial(build, env_id))


def single_bar(part: str, kind: str) -> float:
    """Return how many times as fast as Gymnasium's a single environment of a family must be."""
    if kind in ENGINES:
        return 0.97
    if part == "make" and kind in ("classic_control", "toy_text"):
        return COMPILED_MAKE
    return 1.5 if part == "frame" and kind in DRAWN else 1.0


def batch_rows(ids: list[str]) -> Iterator[Row]:
    """Yield the lines about batches; Atari's are the emulator's own in both libraries."""
    for env_id in ids:
        if family(env_id) in ("atari", "missing"):
            continue
        for use in USES:
            if suits(env_id, use):
                build = partial(batch_side, env_id, use)
                yield Row("batch", f"{env_id} {use.name}", bar_of(env_id, use), build)


def race_autoreset_modes(rounds: int, seconds: float, report: Report) -> None:
    """Race autoreset modes of Ludus's batches against one another."""
    shown = table(
        "same step: µs, median round",
        ["", "same step", "next step", "per call", "transitions", "per transition"],
    )
    for env_id in AUTORESET_IDS:
        sides = {use.name: batch_side(env_id, use, ludus, per_call=True) for use in USES[:2]}
        rates = race(sides, rounds=rounds, seconds=seconds, clock=time.process_time)
        made = transitions_per_call(env_id)
        cost = rates["next step"].over(rates["same step"])
        if made >= LONG:
            claim = f"{env_id}: same step / next step, per call"
            report.bars.append(Bar(claim, cost, at_most=SAME_STEP_COST))
        claim = f"{env_id}: same step / next step, per transition"
        report.bars.append(Bar(claim, cost * made, at_most=SAME_STEP_COST))
        report.add_rates({"part": "autoreset", "name": env_id, "transitions": made}, rates)
        cells = (f"{1e6 / rates[name].median:.4g}" for name in ("same step", "next step"))
        shown.add_row(env_id, *cells, f"{cost:.2f}", f"{made:.3f}", f"{cost * made:.2f}")
    console.print(shown)


def gymnasium_wrappers() -> list[str]:
    """Return the names of Gymnasium's wrappers, each with a case in the table of cases.

    Raises:
        SystemExit: There is a wrapper without one.
    """
    names = [name for name in gymnasium.wrappers.__all__ if name != "vector"]
    if missing := [name for name in names if name not in WRAPPERS]:
        raise SystemExit(f"trivial_env.WRAPPERS has no case for {', '.join(missing)}")
    return names


def measure(
    row: Row, rounds: int, seconds: float, report: Report, skipped: list[str]
) -> tuple[str, ...] | None:
    """Race the two sides of a line; return its cells, unless one library cannot make it."""
    sides: dict[str, Side] = {}
    for library in (gymnasium, ludus):
        try:
            sides[library.__name__] = row.build(library)
        except Exception as problem:
            if library is ludus:
                report.bars.append(Bar(f"{row.part} {row.name}", 0.0, at_least=row.bar))
            reason = f"{type(problem).__name__}: {problem}".split("\n")[0]
            skipped.append(f"{row.part} {row.name}, {library.__name__}: {reason}")
            return None
    for count in (rounds, 4 * rounds):
        rates = race(sides, rounds=count, seconds=seconds, clock=time.process_time)
        times = rates["ludus"].over(rates["gymnasium"])
        if times >= row.bar:
            break
    report.add_rates({"part": row.part, "name": row.name, "times": times}, rates)
    report.bars.append(bar := Bar(f"{row.part} {row.name}", times, at_least=row.bar))
    mark = "[green]✓[/]" if bar.held else "[bold red]✗[/]"
    cells = (f"{1e6 / rates[name].median:.4g}" for name in ("ludus", "gymnasium"))
    return row.name, *cells, f"{times:.2f}", f"≥ {row.bar:g} {mark}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--only", nargs="+", metavar="TEXT", help="ids, families and wrappers that contain a text"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer, shorter rounds; of Atari's games Pong only"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    options, report = parser.parse_args(), Report()
    rounds, seconds = (9, 0.01) if options.quick else (25, 0.03)
    warnings.simplefilter("ignore")
    chosen = [
        row
        for row in rows(options.part, quick=options.quick)
        if not options.only
        or any(text in f"{row.name} {family(row.name.split()[0])}" for text in options.only)
    ]
    tables = {
        part: table(f"{part}: µs, median round", ["", "ludus", "gymnasium", "times", "bar"])
        for part in options.part
    }
    skipped: list[str] = []
    with progress("ludus / gymnasium", len(chosen)) as advance:
        for row in chosen:
            if cells := measure(row, rounds, seconds, report, skipped):
                tables[row.part].add_row(*cells)
            report.write(options.json)
            advance()
    if "batch" in options.part and not options.only:
        race_autoreset_modes(2 * rounds, seconds, report)
    for shown in tables.values():
        if shown.row_count:
            console.print(shown)
    for line in skipped:
        console.print(f"not measured: {line}"[:79], markup=False)
    failed = [bar for bar in report.bars if not bar.held]
    console.print(f"{len(report.bars) - len(failed)} of {len(report.bars)} bars hold.")
    for bar in failed:
        console.print("  " + "  ".join(bar.row()))
    report.write(options.json)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
