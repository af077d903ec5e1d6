"""Verifies records of episodes by grading their submissions again."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ludus.bench.planning.plan import Unit
from ludus.bench.planning.suite import Suite
from ludus.bench.result import Result
from ludus.bench.running.folder import BenchFolder
from ludus.bench.verifying.verification import (
    Looked,
    UnitVerification,
    differences,
    look,
    planned_units,
    verify_units,
)
from ludus.errors import RecordError, SandboxError, TaskError
from ludus.record import Verification, read_run, verify
from ludus.record.format.keys import PublicKey, SigningKey
from ludus.record.format.limits import MAX_HASHED_BYTES
from ludus.record.run.reader import RunReader
from ludus.record.verify import RecordCheck
from ludus.registration.table import registry
from ludus.research.running.job import EpisodeJob
from ludus.research.running.options import RunFile
from ludus.research.running.regrading import Regrader
from ludus.research.running.results import claim_of, failed_claim, result_of_record, reward_problem
from ludus.research.running.story import KIND, Story, Used, abandoned_records, tell, used_before
from ludus.research.task.discovery import load_task
from ludus.research.task.outcome import Outcome
from ludus.research.task.task import Task
from ludus.version import __version__

__all__ = ["is_episode", "verify_episode", "verify_research_run"]

_IS_ID = re.compile(r"(?!.*\.ya?ml)[A-Za-z0-9][A-Za-z0-9_.-]*").fullmatch
_UNTRUSTED = (
    "the run names the file {!r:.100}, which brings code. If you trust it, name it yourself: "
    "tasks=[...], or --task PATH"
)
_UNREGISTERED = "the class {!r:.100} is not registered here; if you trust it, call register_task"
_OURS = ("spec", "source", "replay", "draws", "results")
# What follows from settings of the machine where it was played.
_MACHINE = {"command_seconds", "gpus"}


def is_episode(path: str | os.PathLike[str]) -> bool:
    """Whether a folder holds the record of a research episode."""
    try:
        return bool(read_run(path).manifest["kind"] == KIND)
    except RecordError:
        return False


def verify_episode(
    path: str | os.PathLike[str],
    *,
    trusted_keys: Iterable[PublicKey] | None = None,
    require_signature: bool = False,
    regrade: bool = True,
    task: str | Path | None = None,
    backend: str | None = None,
    unlimited: bool = False,
    progress: Callable[[int, int], None] | None = None,
    head: str | None = None,
    within: str | os.PathLike[str] | None = None,
    max_file_bytes: int = MAX_HASHED_BYTES,
) -> Verification:
    """Verify the record of an episode, which may be forged.

    Beyond what :func:`ludus.record.verify` checks of every run: ``spec``: the task is here, and
    unchanged; ``source``: so is the version of Ludus; ``replay``: the submission, graded again, has
    the same scores; ``draws``: it also scores as expected with other draws; ``results``: rewards
    and result follow from the scores.

    Args:
        path: Of the folder.
        trusted_keys: As for :func:`ludus.record.verify`.
        require_signature: Likewise.
        regrade: Grade again, in sandboxes of this machine.
        task: Path of the task, unless it is found by its id.
        backend: Of the sandboxes.
        unlimited: Do not limit memory and processors.
        progress: Called with the number of finished gradings, and of all.
        head: The chain head that the record must have; see :func:`ludus.record.read_run`.
        within: A parent folder below which no symbolic link is followed.
        max_file_bytes: Most bytes of the record's files that are read.

    Raises:
        RecordError: There is no run folder.
    """
    signed: dict[str, Any] = {"trusted_keys": trusted_keys}
    signed["require_signature"] = require_signature
    signed |= {"within": within, "max_file_bytes": max_file_bytes}
    base = verify(path, **signed, replay=False, head=head)
    kept = [check for check in base.checks if check.name not in _OURS]
    if any(check.status == "failed" and check.name != "signature" for check in kept):
        reason = "the record is damaged, or did not end"
        ours = [RecordCheck(name, "skipped", reason) for name in _OURS]
        return Verification(Path(path), (*kept, *ours))
    reader = read_run(path, head=head, within=within)
    found: list[Task] = []
    story, results = _told(reader)
    checks = {
        "spec": _guarded("spec", lambda: _spec(reader, task, found)),
        "source": _source(reader),
        "replay": RecordCheck("replay", "skipped", "not asked for", optional=True),
        "draws": RecordCheck("draws", "skipped", "nothing was graded again", optional=not regrade),
        "results": results,
    }
    if regrade:
        sandboxes = {"backend": backend, "unlimited": unlimited}
        checks |= _graded_again(reader, story, found, progress, sandboxes)
    return Verification(Path(path), (*kept, *checks.values()))


def _told(reader: RunReader) -> tuple[Story | None, RecordCheck]:
    """Return what the events tell, ``None`` if it makes no sense, and the check ``results``."""
    try:
        story = tell(reader.events)
    except RecordError as problem:
        return None, RecordCheck("results", "failed", str(problem))
    return story, _guarded("results", partial(_results, reader, story))


def _graded_again(
    reader: RunReader,
    story: Story | None,
    found: list[Task],
    progress: Callable[[int, int], None] | None,
    sandboxes: dict[str, Any],
) -> dict[str, RecordCheck]:
    """Return ``replay``, ``draws`` if that passed, and ``spec`` if the task is another one here."""
    if story is None or not found:
        reason = "there is nothing to grade, or to grade with"
        return {"replay": RecordCheck("replay", "skipped", reason)}
    try:
        grader = Regrader(reader, story, found[0], **sandboxes)
    except TaskError as moved:
        reason = "the task is another one here"
        return {
            "replay": RecordCheck("replay", "skipped", reason),
            "spec": RecordCheck("spec", "failed", str(moved)),
        }
    except SandboxError as missing:
        reason = f"it cannot be graded here: {missing}"
        return {"replay": RecordCheck("replay", "skipped", reason)}
    replay = _guarded("replay", lambda: grader.check(progress))
    if replay.status != "passed":
        return {"replay": replay}
    return {"replay": replay, "draws": _guarded("draws", grader.check_draws)}


def verify_research_run(
    folder: BenchFolder,
    *,
    regrade: bool = True,
    trusted_keys: Iterable[PublicKey] | None = None,
    key: SigningKey | None = None,
    store: Any = None,
    backend: str | None = None,
    unlimited: bool = False,
    tasks: Iterable[str | Path] = (),
) -> Iterator[UnitVerification]:
    """Verify every result of a run against its record, as :func:`ludus.bench.verify_run` does.

    Args:
        folder: Of the run.
        regrade: Whether submissions are graded again.
        trusted_keys: Whose signatures the records must have; ``None`` requires none.
        key: Signs the statement; by default the user's own key.
        store: A store that gets the statement too.
        backend: Of the sandboxes.
        unlimited: Do not limit memory and processors.
        tasks: Paths of tasks that are not found by their ids. Tasks contain code that is run, so
            that paths in the run itself are not followed.

    Raises:
        BenchError: The folder is damaged, or cannot be written.
        ResearchError: It is not a research run.
        StoreError: The store does not accept the statement.
    """
    file = RunFile.read(folder.path)
    keys = None if trusted_keys is None else tuple(trusted_keys)
    options: dict[str, Any] = {"regrade": regrade, "trusted_keys": keys}
    options |= {"backend": backend, "unlimited": unlimited, "within": folder.path}
    trusted = {load_task(path).digest(): str(path) for path in tasks}

    def check(unit: Unit, result: Result) -> Looked:
        row = file.tasks[unit.env]
        if row.entry_point is not None and unit.env not in registry:
            # Its class is code that the run names; nobody imports it for that.
            return Looked((), (f"task: {_UNREGISTERED.format(row.entry_point)}",), "")
        if not _IS_ID(row.task):
            if row.digest not in trusted:
                return Looked((), (f"task: {_UNTRUSTED.format(row.task)}",), "")
            row = row.model_copy(update={"task": trusted[row.digest]})
        job = EpisodeJob(unit, folder.name, str(folder.path), task=row, options=file.options)
        checked = verify_episode(job.record_path, task=row.task, head=result.head, **options)
        found = look(checked, regrade, lambda: _contradictions(job, result, folder.suite))
        return replace(found, unchecked=(*found.unchecked, *_unranked(job, result.head)))

    yield from verify_units(folder, planned_units(folder), check, key=key, store=store)


def _contradictions(job: EpisodeJob, result: Result, suite: Suite) -> Iterator[str]:
    """Name what a result or its record say otherwise than suite and task do."""
    reader = read_run(job.record_path, head=result.head, within=job.folder)
    if reader.head != result.head:  # reads all of it: the subject is that of the verified record
        yield "the record is another one than the result was made from"
    subject, unit = reader.manifest["subject"], job.unit
    task = load_task(job.task.task)
    expected = job.subject(task)
    for name in sorted((expected.keys() | subject.keys()) - _MACHINE):
        if subject.get(name) != expected.get(name):
            yield (
                f"the record is of another episode than the suite's: {name} is "
                f"{subject.get(name)!r:.100}, and the suite's is {expected.get(name)!r:.100}"
            )
    if unit.kwargs.get("task_digest") != job.task.digest:
        yield "the suite is about another version of the task"
    if unit.kwargs.get("draws", "private") != subject.get("draws"):
        yield f"its draws were {subject.get('draws')!r:.40}, and the suite asks for others"
    image = "none" if job.task.image is None else job.task.image.digest
    if task.config.image is not None and unit.kwargs.get("image") != image:
        yield f"its image was {image:.80}, and the suite asks for another"
    if unit.kwargs.get("working_time") != job.options.working_time:
        yield f"its working time was {job.options.working_time}, and the suite has another"
    options, budget = job.options, unit.budget
    gpus = task.config.resources.gpu if options.gpus is None else options.gpus
    if (had := len(subject.get("gpus") or ())) != gpus:
        yield f"its agent had {had} GPUs, and {gpus} were asked for"
    limits = {
        "max_steps": (options.max_steps or budget.max_steps, budget.max_steps),
        "time_limit": (options.time_limit, budget.max_seconds),
        "cost_limit": (options.cost_limit, budget.max_cost),
    }
    for name, (played, asked) in limits.items():
        if played != asked:
            yield f"it was played with {name}={played}, and the suite has {asked}"
    if budget.max_steps is None or result.steps > budget.max_steps:
        yield f"{result.steps} steps were taken, and the suite allows {budget.max_steps}"
    yield from _lives_problems(job, tell(reader.events).earlier)
    yield from differences(result, result_of_record(job), suite)


def _lives_problems(job: EpisodeJob, said: Used) -> Iterator[str]:
    """Compare the earlier lives in a record with the abandoned records."""
    here = used_before(job.folder, job.unit.id)
    if here.lives > said.lives or (here.lives == said.lives and here != said):
        yield (
            f"{here.lives} earlier lives of the episode were put aside, and the record does not "
            "count on from them"
        )


def _unranked(job: EpisodeJob, head: str | None) -> Iterator[str]:
    """Say why a result is not comparable with others, although nothing is wrong with it."""
    if job.options.unlimited:
        yield "limits: its sandboxes had no limits of memory and processors"
    reader = read_run(job.record_path, head=head, within=job.folder)
    said = tell(reader.events).earlier.lives
    here = len(abandoned_records(job.folder, job.unit.id))
    if here < said:
        yield f"lives: the episode began anew {said} times, and {here} of these records are here"


def _guarded(name: str, check: Callable[[], RecordCheck]) -> RecordCheck:
    """Return what a check says; a record that it cannot even be made of has failed it."""
    try:
        return check()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        return RecordCheck(name, "failed", f"nobody records an episode like this: {problem!r:.200}")


def _spec(reader: RunReader, task: str | Path | None, found: list[Task]) -> RecordCheck:
    """Find the task; if it is the right one, add it to the findings."""
    subject = reader.manifest["subject"]
    unit, name, digest = (subject.get(key) for key in ("unit", "task", "task_digest"))
    if not isinstance(unit, dict) or not isinstance(name, str) or not isinstance(digest, str):
        return RecordCheck("spec", "failed", "the manifest does not say which task it was")
    if task is None and not _IS_ID(name):
        # A record does not get to name a file of this machine.
        return RecordCheck("spec", "failed", f"{name!r:.100} is no task's id")
    try:
        here = load_task(name if task is None else task)
    except TaskError as problem:
        return RecordCheck("spec", "skipped", str(problem))
    if here.grades_itself:
        return RecordCheck("spec", "skipped", "its score is the sum of its class's rewards")
    if here.config.code_beside_tests:
        return RecordCheck("spec", "skipped", "submitted code runs beside its tests")
    if here.id != name or unit["kwargs"]["task_digest"] != digest:
        return RecordCheck("spec", "failed", "the record is of several tasks at once")
    if here.digest() != digest:
        detail = f"task {here.id} was {digest!r:.13}…, here it is {here.digest():.12}…"
        return RecordCheck("spec", "failed", detail)
    if subject["evaluation"] != here.config.evaluation.model_dump():
        return RecordCheck("spec", "failed", "scores are measured otherwise than the task says")
    if type(subject["seed"]) is not int or subject["seed"] != unit["seed"]:
        return RecordCheck("spec", "failed", "the record has another seed than its unit")
    if contradiction := _image_problem(subject, here):
        return RecordCheck("spec", "failed", contradiction)
    found.append(here)
    if here.config.image is not None and subject.get("image") is None:
        detail = f"it was played without the task's image {here.config.image}"
        return RecordCheck("spec", "skipped", detail)
    return RecordCheck("spec", "passed", f"task {here.id} is here as it was there")


def _image_problem(subject: Mapping[str, Any], task: Task) -> str | None:
    """Return what a record says of its image that the task cannot have had."""
    image, options = subject.get("image"), subject.get("options")
    if image is None:
        without = isinstance(options, dict) and options.get("without_image") is True
        if task.config.image is None or without:
            return None
        return "it does not say in which image it was played, and the task has one"
    if not isinstance(image, dict) or not isinstance(image.get("digest"), str):
        return "it does not say in which image it was played"
    if image.get("name") != task.config.image:
        return f"it was played in the image {image.get('name')!r:.100}, which is not the task's"
    return None


def _source(reader: RunReader) -> RecordCheck:
    origin = reader.manifest.get("provenance")
    try:
        version = origin["ludus"]["version"]  # type: ignore[index]
    except (KeyError, TypeError):
        return RecordCheck("source", "failed", "the manifest does not say what code was recorded")
    if version != __version__:
        detail = f"recorded with Ludus {version!r:.50}, this is {__version__}"
        return RecordCheck("source", "failed", detail)
    return RecordCheck("source", "passed", f"Ludus {version}")


def _results(reader: RunReader, story: Story) -> RecordCheck:
    subject, claim = reader.manifest["subject"], story.result
    if claim is None:
        return RecordCheck("results", "failed", "the record does not say what it came to")
    if story.is_over:
        expected = claim_of(story, subject)
    else:
        expected = failed_claim(story, subject, str(claim.get("reason")))
    for name in sorted(expected.keys() | claim.keys()):
        said, follows = claim.get(name), expected.get(name)
        if said != follows:
            detail = f"{name} is said to be {said!r:.80}, and {follows!r:.80} follows"
            return RecordCheck("results", "failed", detail)
    if subject.get("task_class") is not None:
        reason = f"the rewards are those of the class {subject['task_class']!r:.100}"
        return RecordCheck("results", "skipped", reason)
    if problem := _test_problem(story) or reward_problem(story, subject):
        return RecordCheck("results", "failed", problem)
    return RecordCheck(
        "results", "passed", f"result and {len(story.steps)} rewards follow from scores"
    )


def _test_problem(story: Story) -> str | None:
    """Return how an episode's end differs from the test that was recorded before it."""
    if story.handed_in is None or story.final is None:
        # A worker that the agent ended during the test has no last step, and its result no score.
        return None
    if story.final.files != story.handed_in["files"]:
        return "it does not end with the test of what was handed in"
    if story.tested is not None:
        tested, final = Outcome.from_plain(story.tested), story.final.outcome
        if (tested.kind, tested.score) != (final.kind, final.score):
            return "the test has two outcomes"
    return None
