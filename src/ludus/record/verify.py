"""Verification: every check that can be made of a run folder."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ludus.errors import (
    CodecError,
    DependencyNotInstalled,
    Error,
    RecordDamaged,
    RecordError,
    ReplayImpossible,
)
from ludus.record.format import canonical
from ludus.record.format.keys import PublicKey
from ludus.record.format.limits import MAX_HASHED_BYTES, MAX_REPLAY_SECONDS
from ludus.record.replay.episode_table import METRICS, Totals, totals
from ludus.record.replay.provenance import env_source
from ludus.record.replay.rebuild import find_registered
from ludus.record.replay.replay import EPISODES, replay_reader
from ludus.record.replay.subject import registered_fields
from ludus.record.run.fsck import FsckReport, fsck
from ludus.record.run.reader import RunReader, read_run
from ludus.version import __version__

__all__ = ["RecordCheck", "Status", "Verification", "claim_problem", "verify"]


Status = Literal["passed", "failed", "skipped"]
_FILES = {"manifest.json": "manifest", "events.jsonl": "chain", "blocks.bin": "blocks"}
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class RecordCheck:
    """One check of a run and its outcome."""

    name: str
    status: Status
    detail: str
    optional: bool = False
    """Whether nothing is missing if it was skipped."""


@dataclass(frozen=True, slots=True)
class Verification:
    """All checks of one run."""

    path: Path
    checks: tuple[RecordCheck, ...]

    @property
    def failed(self) -> bool:
        """Whether something is wrong."""
        return any(check.status == "failed" for check in self.checks)

    @property
    def passed(self) -> bool:
        """Whether everything that was asked for was checked and is right."""
        unchecked = any(check.status == "skipped" and not check.optional for check in self.checks)
        return not self.failed and not unchecked

    @property
    def verdict(self) -> Literal["passed", "failed", "unchecked"]:
        """``unchecked`` if nothing is wrong but something could not be checked."""
        return "failed" if self.failed else "passed" if self.passed else "unchecked"

    def __getitem__(self, name: str) -> RecordCheck:
        """Return a check by its name."""
        return next(check for check in self.checks if check.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict and the checks as plain data."""
        checks = [
            {"name": check.name, "status": check.status, "detail": check.detail}
            for check in self.checks
        ]
        return {"path": str(self.path), "verdict": self.verdict, "checks": checks}


def verify(
    path: str | os.PathLike[str],
    *,
    trusted_keys: Iterable[PublicKey] | None = None,
    require_signature: bool = False,
    replay: bool = True,
    progress: Callable[[int, int], None] | None = None,
    head: str | None = None,
    within: str | os.PathLike[str] | None = None,
    max_file_bytes: int = MAX_HASHED_BYTES,
    max_seconds: float = MAX_REPLAY_SECONDS,
) -> Verification:
    """Check a run folder, which may come from an attacker.

    The checks: ``manifest``, ``chain``, ``blocks`` and ``files`` are intact; ``closed``: the run
    was ended properly; ``signature``: a trusted key signed all of it; ``spec`` and ``source``: the
    id has the same registration and source here; ``replay``: executed again, every value is the
    same, bit for bit; ``results``: every claim follows from the rows.

    Args:
        path: Of the folder.
        trusted_keys: Keys whose signatures count; a run without one of them fails. By default any
            genuine signature passes, and so does a run without one.
        require_signature: Fail a run without a signature.
        replay: Execute the recording again.
        progress: As for :func:`~ludus.record.replay.replay`.
        head: The chain head that the run must have; see :func:`~ludus.record.read_run`.
        within: A folder above it, below which no symbolic link is followed.
        max_file_bytes: Most bytes of free files to read; with more, ``files`` is skipped.
        max_seconds: Time limit for executing it again; beyond, ``replay`` is skipped.

    Raises:
        RecordError: There is no run folder.
    """
    report = fsck(path, head=head, within=within, max_file_bytes=max_file_bytes)
    checks = list(_whole(report))
    by_name = {check.name: check.status for check in checks}
    if by_name["manifest"] == "failed":
        return Verification(Path(path), tuple(checks))
    if report.ok and not report.being_written:
        # What is read from now on must be the run that was found whole and closed.
        head = report.head
    reader = read_run(path, head=head, within=within)
    keys = None if trusted_keys is None else tuple(trusted_keys)
    checks.append(_closed(report))
    checks.append(_signature(report, reader, keys, required=require_signature or keys is not None))
    is_readable = "failed" not in (by_name["chain"], by_name["blocks"])
    again = (lambda reader: _replay(reader, progress, max_seconds)) if replay else None
    checks += _of_the_recording(reader, is_readable=is_readable, again=again)
    return Verification(Path(path), tuple(checks))


def _of_the_recording(
    reader: RunReader, *, is_readable: bool, again: Callable[[RunReader], RecordCheck] | None
) -> Iterator[RecordCheck]:
    """Yield ``spec``, ``source``, ``replay`` and ``results``; ``again`` executes it once more."""
    if reader.manifest["kind"] != EPISODES:
        reason = f"a run of the kind {reader.manifest['kind']!r:.50} cannot be executed again"
        if isinstance(why := reader.manifest["subject"].get("unreplayable"), str):
            reason += f": {why:.500}"
        for name in ("spec", "source", "replay"):
            yield RecordCheck(name, "skipped", reason)
        yield RecordCheck("results", "skipped", "what it claims cannot be computed")
        return
    yield _guarded("spec", _spec, reader)
    yield _guarded("source", _source, reader)
    if not is_readable:
        for name in ("replay", "results"):
            yield RecordCheck(name, "skipped", "the recording is damaged")
        return
    if again is None:
        yield RecordCheck("replay", "skipped", "not asked for", optional=True)
    else:
        yield _guarded("replay", again, reader)
    yield _guarded("results", _results, reader)


def _guarded(
    name: str, check: Callable[[RunReader], RecordCheck], reader: RunReader
) -> RecordCheck:
    try:
        return check(reader)
    except (ReplayImpossible, DependencyNotInstalled) as problem:
        return RecordCheck(name, "skipped", str(problem))
    except (RecordError, CodecError) as problem:
        return RecordCheck(name, "failed", str(problem))


def _whole(report: FsckReport) -> Iterator[RecordCheck]:
    """Yield the checks of the files themselves."""
    found: dict[str, list[str]] = {}
    for problem in report.problems:
        if problem.file != "signature.json":
            name = "manifest" if problem.file is None else _FILES.get(problem.file, "files")
            found.setdefault(name, []).append(problem.message)
    good = {
        "manifest": "describes a run",
        "chain": f"{report.events} events follow from each other",
        "blocks": f"{report.rows} rows match their hashes",
        "files": "all match their hashes",
    }
    if report.unlisted:
        good["files"] = f"not part of the record: {', '.join(report.unlisted[:_SHOWN])}"
    for name, detail in good.items():
        messages = found.get(name, [])
        if name == "files" and report.unread and not messages:
            yield RecordCheck(name, "skipped", report.unread)
            continue
        if messages:
            yield RecordCheck(name, "failed", " ".join(messages[:_SHOWN]))
        elif "manifest" in found:
            yield RecordCheck(name, "skipped", "the manifest is damaged")
        else:
            yield RecordCheck(name, "passed", detail)


def _closed(report: FsckReport) -> RecordCheck:
    if report.being_written:
        return RecordCheck("closed", "failed", "another process is writing it")
    if report.outcome is None:
        detail = "its last event does not close it: it was killed, or cut"
        return RecordCheck("closed", "failed", detail)
    return RecordCheck("closed", "passed", report.outcome)


def _signature(
    report: FsckReport, reader: RunReader, keys: tuple[PublicKey, ...] | None, *, required: bool
) -> RecordCheck:
    try:
        found = reader.signature()
        if found is None:
            if required:
                return RecordCheck("signature", "failed", "it is not signed")
            return RecordCheck("signature", "skipped", "it is not signed", optional=True)
        if not found.is_genuine():
            return RecordCheck("signature", "failed", "the signature is forged or damaged")
        ledger = reader.ledger
    except DependencyNotInstalled as problem:
        return RecordCheck("signature", "skipped", str(problem))
    except RecordDamaged as problem:
        return RecordCheck("signature", "failed", str(problem))
    whose = found.key.fingerprint
    if not found.covers(reader.manifest_hash, ledger.head, ledger.events):
        return RecordCheck("signature", "failed", f"{whose} has signed another run than this")
    if any("signature" in (problem.file or "") for problem in report.problems):
        return RecordCheck("signature", "failed", "the signature does not belong to this run")
    if keys is None:
        return RecordCheck("signature", "passed", f"signed by {whose}; no trusted keys were given")
    if found.key not in keys:
        return RecordCheck("signature", "failed", f"signed by {whose}, who is not trusted")
    return RecordCheck("signature", "passed", f"signed by {whose}, who is trusted")


def _spec(reader: RunReader) -> RecordCheck:
    subject = reader.manifest["subject"]
    recorded = subject.get("registered")
    if subject.get("unreplayable") is not None:
        return RecordCheck("spec", "skipped", f"{subject['unreplayable']!r:.500}")
    here = registered_fields(find_registered(subject))
    if not isinstance(recorded, dict) or recorded.get("id") != subject["id"]:
        return RecordCheck("spec", "failed", "the manifest does not say how the id was registered")
    different = [name for name in here.keys() | recorded.keys() if _differs(here, recorded, name)]
    if different:
        name = min(different)
        was, now = recorded.get(name), here.get(name)
        detail = f"{subject['id']} was registered with {name}={was!r:.100}, here it is {now!r:.100}"
        return RecordCheck("spec", "failed", detail)
    return RecordCheck("spec", "passed", f"{subject['id']} is registered here as it was there")


def _differs(here: dict[str, Any], recorded: dict[str, Any], name: str) -> bool:
    # Their forms count too: a list is no tuple, and True is not 1.
    return canonical.dumps(here.get(name)) != canonical.dumps(recorded.get(name))


def _source(reader: RunReader) -> RecordCheck:
    origin = reader.manifest.get("provenance")
    try:
        version, source = origin["ludus"]["version"], origin["env"]["source"]  # type: ignore[index]
    except (KeyError, TypeError):
        return RecordCheck("source", "failed", "the manifest does not say what code was recorded")
    if version != __version__:
        detail = f"recorded with Ludus {version!r:.50}, this is {__version__}"
        return RecordCheck("source", "failed", detail)
    try:
        here = env_source(find_registered(reader.manifest["subject"]))
    except (Error, ImportError, AttributeError) as problem:
        return RecordCheck("source", "skipped", str(problem))
    if here is None:
        return RecordCheck("source", "skipped", "the environment's code has no source file")
    if here != source:
        detail = f"the environment's source was {source!r:.13}…, here it is {here:.12}…"
        return RecordCheck("source", "failed", detail)
    return RecordCheck("source", "passed", f"Ludus {version}, environment {here:.12}…")


def _replay(
    reader: RunReader, progress: Callable[[int, int], None] | None, max_seconds: float
) -> RecordCheck:
    found = replay_reader(reader, progress=progress, max_seconds=max_seconds)
    if found.difference is not None:
        return RecordCheck("replay", "failed", str(found.difference))
    return RecordCheck("replay", "passed", f"{found.rows} rows came out the same, bit for bit")


def _results(reader: RunReader) -> RecordCheck:
    claims = [event for event in reader.events if event.kind == "result"]
    if not claims:
        return RecordCheck("results", "passed", "nothing is claimed")
    found = totals(reader)
    problems = [text for event in claims if (text := claim_problem(event.data, found))]
    if problems:
        return RecordCheck("results", "failed", "; ".join(problems[:_SHOWN]))
    return RecordCheck("results", "passed", f"{len(claims)} claims follow from the rows")


_TOLERANCE = 1e-9  # for sums in another order


def claim_problem(claim: Mapping[str, Any], found: Totals) -> str | None:
    """Return what is wrong with the data of an event ``result``, if anything.

    A claim has a ``metric`` of :data:`~ludus.record.replay.episode_table.METRICS`, its ``value``,
    and perhaps the number of ``episodes``, in the order in which they ended; by default all of
    them.
    """
    metric, value, count = claim.get("metric"), claim.get("value"), claim.get("episodes")
    if not isinstance(metric, str) or metric not in METRICS:
        return f"{metric!r:.100} is no metric that can be computed from episodes"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{metric} is said to be {value!r:.100}, which is no number"
    if count is not None and (type(count) is not int or count < 1):
        return f"{metric} is said to be over {count!r:.100} episodes"
    there = len(found.returns)
    if count is not None and count > there:
        return f"{metric} is said to be over {count} episodes, but only {there} were finished"
    actual = found.value(metric, count)
    if actual is None:
        return f"{metric} is said to be {value!r}, but no episode was finished"
    if not math.isclose(value, actual, rel_tol=_TOLERANCE, abs_tol=1e-12):
        over = there if count is None else count
        return f"{metric} is said to be {value!r}, but {over} episodes give {actual!r}"
    return None
