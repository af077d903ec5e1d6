"""What the benchmarks share: races in which all sides take turns, tables, and bars to be held.

Of several rounds the fastest counts, since what disturbs a run only adds to it; the median stands
beside it and says how disturbed the machine was. A claim is a ratio of two figures of one race.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

__all__ = [
    "Bar",
    "Rate",
    "Report",
    "Side",
    "balancing",
    "console",
    "progress",
    "race",
    "short",
    "stepping",
    "table",
]

# Benchmarks measure compiled code, in the processes that they start as well.
os.environ.setdefault("LUDUS_COMPILE", "wait")

FEW = 5
# Tables are wider than the 80 columns that rich takes for granted where there is no terminal.
console = Console(width=None if sys.stdout.isatty() else 140)


@dataclass(frozen=True, slots=True)
class Side:
    """One contestant: ``run(calls)`` makes that many calls, each worth so many steps.

    ``run`` may return the seconds that count, if it does more than what is measured.
    """

    run: Callable[[int], float | None]
    steps_per_call: int


@dataclass(frozen=True, slots=True)
class Rate:
    """Steps per second: in the fastest round, in the median round, and in each of them."""

    fastest: float
    median: float
    rounds: tuple[float, ...] = ()

    def over(self, other: Rate) -> float:
        """Return the median ratio of rounds that were run next to each other in one race.

        What slows the machine down for a while slows both rounds of a pair, so this ratio varies
        less than that of the medians.
        """
        pairs = zip(self.rounds, other.rounds, strict=False)
        return statistics.median(mine / its for mine, its in pairs)


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure and what it should be at least, or at most."""

    claim: str
    measured: float
    at_least: float | None = None
    at_most: float | None = None
    unit: str = "×"

    @property
    def held(self) -> bool:
        """Whether the figure is on the right side."""
        if self.at_least is not None:
            return self.measured >= self.at_least
        return self.at_most is None or self.measured <= self.at_most

    def row(self) -> tuple[str, str, str, str]:
        """Return the claim, the figure, the bar and the mark, as text."""
        sign, bar = ("≥", self.at_least) if self.at_least is not None else ("≤", self.at_most)
        mark = "[green]✓ holds[/]" if self.held else "[bold red]✗ fails[/]"
        return self.claim, f"{self.measured:.3g} {self.unit}", f"{sign} {bar:g} {self.unit}", mark


@dataclass
class Report:
    """Figures and bars of one script: shown at the end, and written as JSON if asked for."""

    figures: list[dict[str, Any]] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)

    def show_bars(self) -> None:
        """Print every bar with its measured figure and whether it holds."""
        shown = table("Bars", ("claim", "measured", "bar", ""))
        for bar in self.bars:
            shown.add_row(*bar.row())
        if self.bars:
            console.print(shown)

    def add_rates(self, about: dict[str, Any], rates: Mapping[str, Rate]) -> None:
        """Keep the figures of one race."""
        self.figures += [
            {**about, "side": name, "fastest": rate.fastest, "median": rate.median}
            for name, rate in rates.items()
        ]

    def write(self, path: Path | None) -> None:
        """Write everything so far as JSON, if there is a path."""
        if path is not None:
            bars = [{**asdict(bar), "held": bar.held} for bar in self.bars]
            path.write_text(json.dumps({"figures": self.figures, "bars": bars}, indent=1))

    def finish(self, path: Path | None) -> None:
        """Print the bars and write everything."""
        self.show_bars()
        self.write(path)


def stepping(step: Callable[[Any], Any], batches: Sequence[Any], steps_per_call: int) -> Side:
    """Return the side that calls ``step`` with one batch of actions after the other."""
    supply = cycle(batches)

    def run(calls: int) -> None:
        for _, batch in zip(range(calls), supply, strict=False):
            step(batch)

    return Side(run, steps_per_call)


def balancing(env: Any) -> Side:
    """Return the side that balances the pole by a simple rule, so that episodes are long."""
    seen, _ = env.reset(seed=0)

    def run(calls: int) -> None:
        nonlocal seen
        step = env.step
        for _ in range(calls):
            _, _, angle, turning = seen.tolist()
            seen, _, terminated, truncated, _ = step(1 if angle + 0.5 * turning > 0 else 0)
            if terminated or truncated:
                seen, _ = env.reset()

    return Side(run, 1)


def race(
    sides: Mapping[str, Side],
    *,
    rounds: int,
    seconds: float,
    advance: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Rate]:
    """Let all sides take turns, ``rounds`` times, each for about ``seconds``.

    Who begins changes from round to round. Sides that take longer than ``seconds`` for a single
    call, and so average over disturbances anyway, have a few turns only. With
    ``time.process_time`` as the clock, time that other programs take from this one does not count.
    """
    calls = {name: _calls_for(side, seconds, clock) for name, side in sides.items()}
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(rounds):
        order = list(sides.items())
        for name, side in order if turn % 2 == 0 else reversed(order):
            if calls[name] == 1 and turn >= FEW:
                continue
            took = _seconds(side, calls[name], clock)
            rates[name].append(calls[name] * side.steps_per_call / took)
        advance()
    return {
        name: Rate(max(found), statistics.median(found), tuple(found))
        for name, found in rates.items()
    }


def _seconds(side: Side, calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    counted = side.run(calls)
    return clock() - start if counted is None else counted


def _calls_for(side: Side, seconds: float, clock: Callable[[], float]) -> int:
    """Return how many calls take about so long; what is made at the first call is made here."""
    side.run(1)
    calls = 1
    while (took := _seconds(side, calls, clock)) < seconds / 4:
        calls *= 4
    return max(1, round(calls * seconds / took))


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar while the block runs; what is yielded moves it on by one."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as shown:
        task = shown.add_task(title, total=total)
        yield lambda: shown.advance(task)


def short(number: float) -> str:
    """Return a number with three digits and k, M or G."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def table(title: str, headings: Iterable[str]) -> Table:
    """Return an empty table: names on the left, figures on the right."""
    first, *others = headings
    made = Table(first, title=title, title_justify="left")
    for heading in others:
        made.add_column(heading, justify="right", no_wrap=True)
    return made
