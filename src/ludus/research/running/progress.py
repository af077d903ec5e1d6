"""Progress of a run: a bar for all episodes, and a line for each running one."""

from __future__ import annotations

import json
import threading
import time
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
from ludus.record.format.folder import Folder
from ludus.terminal_text import printable

__all__ = ["EpisodeLines", "EpisodeProgress", "Standing", "describe_episode", "standing"]

_EVERY = 0.5
_TAIL = 1 << 19
_MANIFEST = 1 << 22
_LINE = 200
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


class EpisodeProgress(BarProgress):
    """Shows the progress of the run in ``folder`` and of its episodes on a ``rich`` console."""

    _units = "episodes"

    def __init__(self, console: Any, folder: Path) -> None:
        super().__init__(console)
        self._folder = folder
        self._since = time.time()
        self._rows: dict[str, Any] = {}
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def finished(self, result: Result) -> None:
        """Advance the bar and print the result of an episode."""
        self._bar.update(self._task, advance=1)
        self._drop(result.id)
        self.note(describe_episode(result))

    def __enter__(self) -> Self:
        super().__enter__()
        self._watcher.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stop.set()
        self._watcher.join()
        for name in list(self._rows):
            self._drop(name)
        super().__exit__(*error)

    def _watch(self) -> None:
        while not self._stop.wait(_EVERY):
            with suppress(OSError):
                for record in (self._folder / "records").iterdir():
                    self._look(record)

    def _look(self, record: Path) -> None:
        finished = (self._folder / "results" / f"{record.name}.json").exists()
        try:
            is_new = (record / "events.jsonl").stat().st_mtime > self._since
        except OSError:
            return
        if finished or not is_new:
            return
        found = standing(record)
        if found is None:
            return
        if record.name not in self._rows:
            self._rows[record.name] = self._bar.add_task("")
        row, text = self._rows[record.name], str(found)
        self._bar.update(row, description=text, completed=found.steps, total=found.most)

    def _drop(self, name: str) -> None:
        if (row := self._rows.pop(name, None)) is not None:
            self._bar.remove_task(row)


class EpisodeLines(LineProgress):
    """Prints a line per episode."""

    _units = "episodes"

    def _told(self, result: Result) -> str:
        return describe_episode(result)


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

    def __str__(self) -> str:
        return f"{self.agent} on {self.task}, seed {self.seed}: {self.doing}"

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
            tail = b"" if file is None else bytes(file.read(max(0, file.size - _TAIL), _TAIL))
        # The first line is cut, or the event that opens the record.
        events = [json.loads(line) for line in tail.split(b"\n")[1:-1] if line]
        return _standing(manifest["subject"], events, manifest["created"])
    except (Error, OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


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
