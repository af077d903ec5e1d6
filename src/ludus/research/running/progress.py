"""Progress of a run: a bar for all episodes, and a row or a line for each that is under way."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from ludus.bench.faults import one_line
from ludus.bench.result import Result
from ludus.bench.running.folder import read_from
from ludus.bench.running.progress import BarProgress, LineProgress, duration
from ludus.errors import Error
from ludus.record.format.disk import Handle
from ludus.record.format.folder import Folder
from ludus.terminal_text import printable

__all__ = [
    "EpisodeLines",
    "EpisodeProgress",
    "Standing",
    "describe_episode",
    "standing",
    "standing_table",
]

_EVERY = 0.5
_TAIL, _MOST = 1 << 19, 1 << 25
_COUNTING = ("step", "end", "earlier")
_MANIFEST = 1 << 22
_LINE = 200
_SHORT = 60
_LINES_EVERY = 15.0
_AROUND = 6
"""Lines of a terminal that the table of episodes leaves to what stands around it."""
_DOING = {
    "act": "works",
    "ask": "thinks",
    "close": "is over",
    "end": "is over",
    "fault": "failed",
    "grading": "is graded",
    "result": "is over",
    "step": "thinks",
}


class _Watcher:
    """Looks at the records of a run from time to time, in a thread, while its context is entered.

    Args:
        folder: Of the run.
        every: Seconds between two looks.
        show: Is given what there is to show: the episodes under way.
    """

    def __init__(self, folder: Path, every: float, show: Callable[[list[Standing]], None]) -> None:
        self._folder, self._every, self._show = folder, every, show
        self._since = time.time()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            with suppress(OSError):
                records = sorted((self._folder / "records").iterdir())
                found = [self._look(record) for record in records]
                self._show([one for one in found if one is not None])

    def _look(self, record: Path) -> Standing | None:
        """Return how far an episode is that this process lets run."""
        if (self._folder / "results" / f"{record.name}.json").exists():
            return None
        with suppress(OSError):
            if (record / "events.jsonl").stat().st_mtime > self._since:
                return standing(record)
        return None


class EpisodeProgress(BarProgress):
    """Shows a bar for the run in ``folder`` and a table of its episodes on a ``rich`` console."""

    _units = "episodes"

    def __init__(self, console: Any, folder: Path) -> None:
        from rich.live import Live

        super().__init__(console)
        self._live = Live(self._bar, console=console, refresh_per_second=4, transient=True)
        self._watcher = _Watcher(folder, _EVERY, self._show)

    def finished(self, result: Result) -> None:
        """Advance the bar and print the result of an episode."""
        self._bar.update(self._task, advance=1)
        self.note(describe_episode(result))

    def __enter__(self) -> Self:
        self._live.start()
        self._watcher.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._watcher.__exit__(*error)
        self._live.update(self._bar)
        self._live.stop()

    def _show(self, found: list[Standing]) -> None:
        from rich.console import Group

        most = max(1, (self._console.height - _AROUND) // 2)
        shown = Group(standing_table(found, most), self._bar) if found else self._bar
        self._live.update(shown)


class EpisodeLines(LineProgress):
    """Prints a line per finished episode, and from time to time one for each under way."""

    _units = "episodes"

    def __init__(self, console: Any, folder: Path | None = None) -> None:
        super().__init__(console)
        self._told_of: dict[str, int] = {}
        self._watcher = None if folder is None else _Watcher(folder, _LINES_EVERY, self._show)

    def __enter__(self) -> Self:
        if self._watcher is not None:
            self._watcher.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._watcher is not None:
            self._watcher.__exit__(*error)

    def _show(self, found: list[Standing]) -> None:
        for one in found:
            # Nothing is said twice of a step, however long it takes.
            if self._told_of.get(one.episode) != one.steps:
                self._told_of[one.episode] = one.steps
                self.note(one.line)

    def _told(self, result: Result) -> str:
        return describe_episode(result)


def standing_table(found: Sequence[Standing], most: int) -> Any:
    """Return a table of at most so many episodes, two lines each, for 80 columns or more."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
    table.add_column("step", justify="right", no_wrap=True)
    table.add_column("task, seed, agent; last action", ratio=1, no_wrap=True, overflow="ellipsis")
    for name in ("valid.", "cost", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found[:most]:
        table.add_row(
            f"{one.steps}/{one.most}",
            Text(f"{one.task} {one.seed} {one.agent}"),
            "" if one.validation is None else f"{one.validation:.4g}",
            f"{one.cost:.3g}" if one.cost else "",
            duration(one.seconds),
        )
        shown = one.action if one.doing == "works" else f"{one.doing} ({one.action or 'no action'})"
        table.add_row("", Text(f"  {shown}", style="dim"))
    if len(found) > most:
        table.add_row("", f"and {len(found) - most} more")
    return table


def describe_episode(result: Result) -> str:
    """Return an episode and its result in one line."""
    head = f"{result.agent} on {result.env}, seed {result.seed}: "
    reason = one_line(result.reason or "")
    if result.outcome == "infrastructure_fault":
        return f"{head}infrastructure fault: {reason}"
    normalised = float(result.extra["normalised"])  # type: ignore[arg-type]
    count = result.extra["validations"]
    rest = f"{result.steps} steps, {count} validations, {duration(result.seconds)}"
    rest += "" if result.lives == 1 else f", in {result.lives} lives"
    counted = result.extra.get("counted", result.score)
    told = "no score" if counted is None else f"{counted:g}"
    worth = f"{told}, normalised {normalised:.3f}"
    if result.outcome == "agent_fault":
        return f"{head}agent fault, counts as {worth}: {reason} ({rest})"
    return f"{head}{worth} ({rest})"


@dataclass(frozen=True, slots=True)
class Standing:
    """How far an episode is.

    Attributes:
        agent: Its name.
        task: Its id.
        seed: Of the episode.
        doing: What it does, in a word or two.
        steps: Actions taken, the one that is being carried out included.
        most: Actions allowed.
        action: The last action, in one line.
        validation: Score of the last validation.
        cost: Money spent.
        seconds: Of the episode, up to now.
    """

    agent: str
    task: str
    seed: int
    doing: str
    steps: int
    most: int
    action: str = ""
    validation: float | None = None
    cost: float = 0.0
    seconds: float = 0.0

    @property
    def episode(self) -> str:
        """Which episode it is."""
        return f"{self.agent} on {self.task}, seed {self.seed}"

    @property
    def line(self) -> str:
        """All of it in one line."""
        told = [f"step {self.steps} of {self.most}", self.doing]
        told += [] if self.validation is None else [f"validation {self.validation:.4g}"]
        told += [f"cost {self.cost:.3g}"] if self.cost else []
        told += [duration(self.seconds)]
        action = f": {self.action[:_SHORT]}" if self.action else ""
        return f"{self.episode}: {', '.join(told)}{action}"

    def __str__(self) -> str:
        return f"{self.episode}: {self.doing}"

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def standing(record: Path) -> Standing | None:
    """Return how far the record of an episode is; ``None`` if it cannot be read.

    Only its end is read, and nothing is verified: an agent's output can make it long.
    """
    try:
        manifest = json.loads(read_from(record, "manifest.json", _MANIFEST) or b"")
        with Folder(record) as folder, folder.open("events.jsonl") or nullcontext() as file:
            events = [] if file is None else _last_events(file)
        return _standing(manifest["subject"], events, manifest["created"])
    except (Error, OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _last_events(file: Handle) -> list[dict[str, Any]]:
    """Return the events at the end of a record, back to one that says what was spent till then.

    An action may be longer than what is read at first.
    """
    size, events = _TAIL, list[dict[str, Any]]()
    while True:
        tail = bytes(file.read(max(0, file.size - size), size))
        # The first line is cut, or the event that opens the record.
        events = [json.loads(line) for line in tail.split(b"\n")[1:-1] if line]
        if size >= min(file.size, _MOST) or any(one["kind"] in _COUNTING for one in events):
            return events
        size *= 4


def _standing(subject: dict[str, Any], events: list[dict[str, Any]], created: str) -> Standing:
    cost, pending, spent, since = 0.0, 0.0, 0.0, created
    validation: float | None = None
    action, steps = "", 0
    for event in events:
        kind, data = event["kind"], event["data"]
        if "n" in data:
            steps = int(data["n"]) + (kind == "step")
        if kind == "ask":
            pending += float(data["usage"]["cost"])
        elif kind == "act":
            pending, action = float(data["cost"]), _in_line(data)
        elif kind == "earlier":
            cost, spent = float(data["cost"]), float(data["seconds"])
        elif kind == "resume":
            since = event["time"]
        elif kind in ("step", "end"):
            cost, pending = float(data["cost"]), 0.0
            spent, since = float(data["spent"]), event["time"]
            validation = validation if data["validation"] is None else float(data["validation"])
    last = events[-1]["kind"] if events else ""
    if last not in ("close", "end", "result"):
        spent += max(0.0, (datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds())
    return Standing(
        agent=str(subject["agent"]),
        task=str(subject["task"]),
        seed=int(subject["seed"]),
        doing=_DOING.get(last, "begins"),
        steps=steps,
        most=int(subject["unit"]["budget"]["max_steps"]),
        action=action,
        validation=validation,
        cost=cost + pending,
        seconds=spent,
    )


def _in_line(act: dict[str, Any]) -> str:
    """Return an action, or why the agent stopped, in one line."""
    action = act.get("action", act.get("stop", ""))
    if isinstance(action, dict):
        action = " ".join([str(action["tool"]), *map(str, action.get("arguments", {}).values())])
    return printable(str(action), _LINE)
