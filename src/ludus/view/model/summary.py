"""Runs and their episodes in a line each: what lists show, filter and sort."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ludus.bench.outcome import counted_score, normalised_score
from ludus.bench.planning.plan import Unit
from ludus.bench.planning.suite import Suite
from ludus.bench.result import Result
from ludus.bench.running.folder import BenchFolder
from ludus.bench.verifying.verification import planned_units
from ludus.errors import Error, RecordError
from ludus.record.format.event import read_manifest
from ludus.research.running.progress import Standing, standing
from ludus.view.episodes.episode import open_episode
from ludus.view.episodes.locks import is_written
from ludus.view.episodes.trajectory import number_of, text_of
from ludus.view.library import ITSELF, Found, Library

__all__ = ["EpisodeRow", "RunSummary", "Summaries", "sorted_rows"]

_MOST_KEPT = 2000
_FRESH = 1.0
_STATES = {"running": "running", "complete": "scored", "interrupted": "interrupted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRow:
    """One unit of work of a run: an episode of research, or some of an environment.

    Attributes:
        run: Name of the run in addresses.
        unit: Of the unit in addresses.
        outcome: ``scored``, ``agent_fault``, ``infrastructure_fault``, or without a result
            ``running``, ``interrupted`` or ``waiting``.
        score: What the outcome counts as.
        normalised: The same between baseline and threshold.
        has_steps: Whether it is an episode of research, which has pages of its own.
    """

    run: str
    unit: str
    suite: str = ""
    agent: str = ""
    model: str = ""
    task: str = ""
    seed: int | None = None
    outcome: str = "waiting"
    score: float | None = None
    normalised: float | None = None
    cost: float | None = None
    seconds: float | None = None
    steps: int | None = None
    date: str = ""
    reason: str = ""
    verified: str = "claimed"
    doing: str = ""
    has_steps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run, or a single record, in a line.

    Attributes:
        found: Where it is.
        rows: Its units.
        is_live: Whether a process is writing it.
        problem: Why nothing is known of it.
        lower: Tasks where lower scores are better.
        suite: The suite of a run of many units.
        results: Its results.
    """

    found: Found
    title: str
    kind: str
    date: str = ""
    rows: tuple[EpisodeRow, ...] = ()
    is_live: bool = False
    problem: str = ""
    suite: Suite | None = None
    results: tuple[Result, ...] = ()
    missing: tuple[Any, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def done(self) -> int:
        """Units with a result."""
        return sum(row.outcome in ("scored", "agent_fault") for row in self.rows)

    @property
    def normalised(self) -> float | None:
        """Mean of the normalised scores."""
        known = [row.normalised for row in self.rows if row.normalised is not None]
        return sum(known) / len(known) if known else None

    @property
    def cost(self) -> float:
        """Of all units."""
        return sum(row.cost or 0.0 for row in self.rows)

    def names(self, what: str) -> list[str]:
        """Return the different values of a field of the units."""
        return sorted({text for row in self.rows if (text := getattr(row, what))})


class Summaries:
    """Summaries of all runs, read anew when their files have changed. For several threads."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Any, RunSummary, float]] = {}

    def all(self) -> Iterator[RunSummary]:
        """Yield the summaries of everything in the library."""
        for found in self._library.all():
            if found.kind != "file":
                yield self.of(found)

    def stamps(self) -> list[Any]:
        """Return what changes when the list of runs does."""
        return [
            (_stamp(found), _is_held(found, "lock" if found.kind == "run" else "events.jsonl"))
            for found in self._library.all()
            if found.kind != "file"
        ]

    def of(self, found: Found) -> RunSummary:
        """Return the summary of a run or record; what is wrong with it is in the summary."""
        key = _stamp(found)
        with self._lock:
            kept = self._kept.get(found.name)
        if kept is not None and kept[0] == key:
            _, summary, moment = kept
            # How far running episodes are is in other files.
            is_old = summary.is_live and time.monotonic() - moment > _FRESH
            if not is_old:
                return summary
        try:
            made = _of_run(found) if found.kind == "run" else _of_record(found)
        except (Error, OSError) as problem:
            made = _damaged(found, self._library.told(problem))
        except Exception as problem:  # one odd run among many must not hide the others
            made = _damaged(found, f"It cannot be read: {type(problem).__name__}.")
        made = replace(made, counts=Counter(row.outcome for row in made.rows))
        with self._lock:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[found.name] = key, made, time.monotonic()
        return made


def _damaged(found: Found, problem: str) -> RunSummary:
    return RunSummary(found=found, title=found.place, kind="damaged", problem=problem)


def _stamp(found: Found) -> tuple[Any, ...]:
    """Return what changes when the files of a run do, records of live episodes excepted."""
    stamps: list[tuple[int, int, int] | None] = []
    for name in ("bench.json", "manifest.json", "events.jsonl", "results", "verifications"):
        try:
            status = (found.path / name).lstat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return (str(found.path), *stamps)


def _of_run(found: Found) -> RunSummary:
    found.open().close()
    folder = BenchFolder.open(found.path)
    suite, results = folder.suite, {one.id: one for one in folder.results()}
    units = {unit.id: unit for unit in planned_units(folder, absent=_absent(folder))}
    models = {row.name: str(row.options.get("model") or "") for row in folder.agents}
    is_live = _is_held(found, "lock")
    is_research = (found.path / "research.json").is_file()
    rows = []
    for name in folder.unit_ids:
        result = results.get(name)
        if result is None:
            row = _open_row(found, name, units.get(name), is_live)
        else:
            row = _row(found, result, suite)
        model = models.get(row.agent, "")
        rows.append(replace(row, model=model, suite=suite.name, has_steps=is_research))
    return RunSummary(
        found=found,
        title=folder.name,
        kind="research" if is_research else "bench",
        date=folder.created,
        rows=tuple(rows),
        is_live=is_live,
        suite=suite,
        results=tuple(results[name] for name in folder.unit_ids if name in results),
        missing=folder.missing,
    )


def _absent(folder: BenchFolder) -> set[str]:
    return {one.env for one in folder.missing}


def _row(found: Found, result: Result, suite: Suite) -> EpisodeRow:
    floor, lower = suite.floors.get(result.env), result.env in suite.lower
    return EpisodeRow(
        run=found.name,
        unit=result.id,
        agent=result.agent,
        task=_task(result.env),
        seed=result.seed,
        outcome=result.outcome,
        score=counted_score(result.outcome, result.score, floor=floor, lower=lower),
        normalised=_normalised(result, suite),
        cost=result.cost,
        seconds=result.seconds,
        steps=result.steps,
        date=result.created,
        reason=result.reason or "",
        verified=result.verified,
    )


def _normalised(result: Result, suite: Suite) -> float | None:
    scale = suite.references.get(result.env)
    if scale is not None:
        return normalised_score(
            result.outcome, result.score, zero=scale.worst, one=scale.best, floor=scale.floor
        )
    return number_of(result.extra.get("normalised")) if result.outcome == "scored" else None


def _open_row(found: Found, name: str, unit: Unit | None, is_live: bool) -> EpisodeRow:
    """Return the row of a unit without a result."""
    row = EpisodeRow(run=found.name, unit=name)
    if unit is not None:
        row = replace(row, agent=unit.agent.name, task=_task(unit.env), seed=unit.seed)
    record = found.path / "records" / name
    if not record.is_dir() or record.is_symlink():
        return row
    far: Standing | None = standing(record)
    held = is_live and _is_held(replace(found, path=record), "events.jsonl")
    row = replace(row, outcome="running" if held else "interrupted")
    if far is None:
        return row
    doing = far.doing if held else ""
    return replace(row, steps=far.steps, cost=far.cost, seconds=far.seconds, doing=doing)


def _of_record(found: Found) -> RunSummary:
    with found.open() as folder:
        manifest, _ = read_manifest(folder)
    kind, created = text_of(manifest.get("kind")), text_of(manifest.get("created"))
    if kind != "research":
        subject = manifest["subject"]
        spec = subject.get("spec") if isinstance(subject.get("spec"), dict) else {}
        name = text_of(subject.get("env")) or text_of(spec.get("id")) or text_of(subject.get("id"))
        row = EpisodeRow(run=found.name, unit=ITSELF, task=name, outcome="recorded", date=created)
        live = _is_held(found, "events.jsonl")
        return RunSummary(
            found=found, title=found.place, kind="record", date=created, rows=(row,), is_live=live
        )
    with open_episode(found) as episode:
        subject, result = episode.subject, episode.result
        outcome = text_of(result.get("outcome")) or _STATES[episode.state]
        row = EpisodeRow(
            run=found.name,
            unit=ITSELF,
            agent=subject.agent,
            model=subject.model,
            task=subject.task,
            seed=subject.seed,
            outcome=outcome if result or episode.state != "complete" else "no result",
            score=number_of(result.get("value")),
            normalised=number_of(result.get("normalised")),
            cost=number_of(result.get("cost")),
            seconds=number_of(result.get("seconds")),
            steps=episode.count,
            date=created,
            reason=text_of(result.get("reason")),
            has_steps=True,
        )
        return RunSummary(
            found=found,
            title=found.place,
            kind="episode",
            date=created,
            rows=(row,),
            is_live=episode.state == "running",
        )


def _is_held(found: Found, name: str) -> bool:
    try:
        with found.open() as folder:
            handle = folder.open(name)
    except RecordError:
        return False
    if handle is None:
        return False
    with handle:
        return is_written(handle)


def _task(env: str) -> str:
    return env.removeprefix("mlgym/").removesuffix("-v0") if env.startswith("mlgym/") else env


def sorted_rows(rows: Sequence[Any], by: str) -> list[Any]:
    """Return rows by a field, a minus before it for descending order; unknown values come last."""
    name, descending = by.removeprefix("-"), by.startswith("-")
    known = [row for row in rows if getattr(row, name) not in (None, "")]
    rest = [row for row in rows if getattr(row, name) in (None, "")]
    return sorted(known, key=lambda row: getattr(row, name), reverse=descending) + rest
