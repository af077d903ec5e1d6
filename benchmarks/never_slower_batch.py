"""Batches as learners use them, against Gymnasium: every compiled id that Gymnasium has as well.

Rows of an id:

  next step    step(), finished environments start again in the next step
  same step    step(), finished environments start again in the same step
  reset        reset(seed=...) of the whole batch
  statistics   step() through RecordEpisodeStatistics
  normalised   step() through NormalizeObservation
  both         step() through RecordEpisodeStatistics and NormalizeObservation
  stored       step(), and the observations copied into a buffer in C order

Ludus runs make_vec(id, n). Gymnasium runs what it has that is fastest: its own vector environment
where it has one for that row, SyncVectorEnv otherwise; wrappers are each library's own. Both get
the same actions in turns. A figure is that of the median round, in environment steps per second
(resets per second for `reset`).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from measure import Bar, Rate, Report, Side, console, progress, race, short, stepping, table

import ludus

IDS = (
    "CartPole-v1",
    "CartPole-v0",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
    "Acrobot-v1",
    "Blackjack-v1",
    "FrozenLake-v1",
    "FrozenLake8x8-v1",
    "CliffWalking-v1",
    "CliffWalkingSlippery-v1",
    "Taxi-v4",
    "phys2d/CartPole-v0",
    "phys2d/CartPole-v1",
    "phys2d/Pendulum-v0",
    "tabular/Blackjack-v0",
    "tabular/CliffWalking-v0",
)
NUM_ENVS = 1024
NEVER_SLOWER = 1.0
# Bars that are higher than "never slower", by id and row.
BARS = {
    ("CartPole-v1", "next step"): 12.0,
    ("CartPole-v1", "both"): 8.0,
    ("CartPole-v1", "stored"): 9.0,
    # Gymnasium seeds one stream for the whole batch, Ludus one for each environment.
    ("CartPole-v1", "reset"): 0.3,
    ("CartPole-v0", "reset"): 0.3,
}
SAME_STEP_COST = 1.3
"""How many times as long as a step that resets in the next one a CartPole's may take."""
EXAMPLES = """\
examples:
  never_slower_batch.py --quick                          a first look, in some minutes
  never_slower_batch.py --ids CartPole-v1                one id, all rows
  never_slower_batch.py --rows "same step" reset         two rows of every id
  never_slower_batch.py --processor-time                 on a machine that others use as well
  never_slower_batch.py --json batch.json                everything, figures kept
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One way to use a batch: how it is built, and what one call is."""

    name: str
    same_step: bool = False
    wrappers: tuple[str, ...] = ()
    use: str = "step"
    floats: bool = False
    """Whether it makes sense for observations of floats only."""


ROWS = (
    Row("next step"),
    Row("same step", same_step=True),
    Row("reset", use="reset"),
    Row("statistics", wrappers=("RecordEpisodeStatistics",)),
    Row("normalised", wrappers=("NormalizeObservation",), floats=True),
    Row("both", wrappers=("RecordEpisodeStatistics", "NormalizeObservation"), floats=True),
    Row("stored", use="store"),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """A row's figures."""

    env_id: str
    row: str
    ludus: Rate
    gymnasium: Rate
    peer: str
    bar: float

    @property
    def times(self) -> float:
        """How many times as fast Ludus is."""
        return self.ludus.median / self.gymnasium.median


# --- sides ------------------------------------------------------------------------------------


def draw_actions(env_id: str, n: int) -> list[Any]:
    """Return batches of random actions that both libraries take."""
    space = ludus.make_vec(env_id, n).action_space
    space.seed(0)
    return [space.sample() for _ in range(64)]


def side_of(package: Any, env_id: str, n: int, row: Row, mode: str | None, actions: Any) -> Side:
    """Return one library's side of a row."""
    options: dict[str, Any] = {} if mode is None else {"vectorization_mode": mode}
    if row.same_step:
        chosen = {"autoreset_mode": package.vector.AutoresetMode.SAME_STEP}
        options |= chosen if package is ludus else {"vector_kwargs": chosen}
    envs = package.make_vec(env_id, n, **options)
    for name in row.wrappers:
        envs = getattr(package.wrappers.vector, name)(envs)
    seen, _ = envs.reset(seed=0)
    if row.use == "reset":
        return stepping(lambda seed: envs.reset(seed=seed), list(range(64)), n)
    if row.use == "store":
        return stepping(storing(envs, seen, len(actions)), list(enumerate(actions)), n)
    return stepping(envs.step, actions, n)


def storing(envs: Any, seen: Any, steps: int) -> Callable[[tuple[int, Any]], None]:
    """Return a step that also stores the observations, as rollout buffers do."""

    def parts_of(observations: Any) -> tuple[Any, ...]:
        return observations if isinstance(observations, tuple) else (observations,)

    def buffer_of(part: Any) -> Any:
        dtype = np.dtype(part.dtype)
        return np.zeros((steps, *part.shape), np.float32 if dtype.kind == "f" else dtype)

    buffers = [buffer_of(part) for part in parts_of(seen)]

    def step(turn: tuple[int, Any]) -> None:
        at, actions = turn
        found = envs.step(actions)[0]
        for buffer, part in zip(buffers, parts_of(found), strict=True):
            buffer[at] = part

    return step


def peer_mode(env_id: str, row: Row) -> str:
    """Return Gymnasium's fastest way to run a row."""
    own = gymnasium.spec(env_id).vector_entry_point is not None
    # Its own vector environments reset in the next step only.
    return "vector_entry_point" if own and not row.same_step else "sync"


def peer_problem(env_id: str) -> str | None:
    """Return why Gymnasium cannot run an id here, if it cannot."""
    try:
        for row in (ROWS[0], ROWS[1]):
            gymnasium.make_vec(env_id, 1, vectorization_mode=peer_mode(env_id, row)).close()
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return None


def has_floats(env_id: str) -> bool:
    space = ludus.make_vec(env_id, 1).single_observation_space
    return isinstance(space, ludus.spaces.Box) and space.dtype.kind == "f"


# --- races ------------------------------------------------------------------------------------


def measure_row(env_id: str, row: Row, options: argparse.Namespace) -> Measured:
    n, mode = options.num_envs, peer_mode(env_id, row)
    actions = draw_actions(env_id, n)
    sides = {
        "ludus": side_of(ludus, env_id, n, row, None, actions),
        "gymnasium": side_of(gymnasium, env_id, n, row, mode, actions),
    }
    clock = time.process_time if options.processor_time else time.perf_counter
    rates = race(sides, rounds=options.rounds, seconds=options.seconds, clock=clock)
    bar = BARS.get((env_id, row.name), NEVER_SLOWER) if n == NUM_ENVS else NEVER_SLOWER
    peer = "native" if mode != "sync" else "sync"
    return Measured(env_id, row.name, rates["ludus"], rates["gymnasium"], peer, bar)


def measure_id(env_id: str, options: argparse.Namespace) -> list[Measured]:
    floats = has_floats(env_id)
    rows = [row for row in ROWS if row.name in options.rows and (floats or not row.floats)]
    found = []
    with progress(env_id, len(rows)) as advance:
        for row in rows:
            found.append(measure_row(env_id, row, options))
            advance()
    return found


def show(env_id: str, found: list[Measured]) -> None:
    headings = ("row", "ludus", "gymnasium", "peer", "times", "bar", "")
    shown = table(env_id, headings)
    for one in found:
        holds = one.times >= one.bar
        mark = "[green]✓[/]" if holds else "[bold red]✗[/]"
        rates = short(one.ludus.median), short(one.gymnasium.median)
        shown.add_row(one.row, *rates, one.peer, f"{one.times:.3g}×", f"≥ {one.bar:g}", mark)
    console.print(shown)


def race_modes(options: argparse.Namespace, report: Report) -> None:
    """Race a CartPole's two autoreset modes against one another."""
    actions = draw_actions("CartPole-v1", options.num_envs)
    sides = {
        row.name: side_of(ludus, "CartPole-v1", options.num_envs, row, None, actions)
        for row in ROWS[:2]
    }
    clock = time.process_time if options.processor_time else time.perf_counter
    rates = race(sides, rounds=2 * options.rounds, seconds=options.seconds, clock=clock)
    cost = rates["next step"].median / rates["same step"].median
    report.bars.append(Bar("CartPole-v1: same step / next step", cost, at_most=SAME_STEP_COST))


def parse() -> argparse.Namespace:
    form = partial(argparse.RawDescriptionHelpFormatter, max_help_position=28)
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=form)
    names = [row.name for row in ROWS]
    add = parser.add_argument
    add("--ids", nargs="+", default=IDS, choices=IDS, metavar="ID", help="environments")
    add("--rows", nargs="+", default=names, choices=names, metavar="ROW", help="rows")
    add("--num-envs", type=int, default=NUM_ENVS, metavar="N", help="environments of a batch")
    add("--processor-time", action="store_true", help="count processor time, not time on the clock")
    add("--quick", action="store_true", help="fewer and shorter rounds")
    add("--json", type=Path, metavar="OUT", help="write all figures there")
    options = parser.parse_args()
    options.rounds, options.seconds = (7, 0.02) if options.quick else (25, 0.03)
    return options


def main() -> None:
    options, report = parse(), Report()
    warnings.simplefilter("ignore")
    for env_id in options.ids:
        problem = peer_problem(env_id)
        if problem is not None:
            console.print(f"{env_id} is left out: Gymnasium cannot run it here.\n  {problem}")
            continue
        found = measure_id(env_id, options)
        show(env_id, found)
        for one in found:
            report.figures.append({**asdict(one), "times": one.times})
            claim = f"{one.env_id}, {one.row}"
            report.bars.append(Bar(claim, one.times, at_least=one.bar))
        report.write(options.json)
    if "CartPole-v1" in options.ids:
        race_modes(options, report)
    report.finish(options.json)


if __name__ == "__main__":
    main()
