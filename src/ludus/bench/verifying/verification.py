"""Verifies a bench run: every record against the suite, and every result against its record.

Everything that a result must say is derived again: the units from suite and agents, the environment
from the suite and the registry of this machine, the episodes from the record's rows, which are
executed again. The verdicts are signed and kept beside the results, see
:mod:`ludus.bench.verifying.statement`; the results themselves are never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ludus.bench.faults import one_line, shown
from ludus.bench.outcome import with_counted
from ludus.bench.planning.plan import Unit, id_of, units_of
from ludus.bench.planning.suite import Suite
from ludus.bench.result import Result
from ludus.bench.running.folder import BenchFolder
from ludus.bench.verifying.claim import (
    FAULT_FIELDS,
    METRIC,
    RECORDS,
    SCORE_FIELDS,
    mean,
    record_of,
    result_of,
)
from ludus.bench.verifying.completeness import (
    chosen_seeds,
    left_out_although_here,
    without_siblings,
)
from ludus.bench.verifying.recount import environment_problems, recount, size_problems
from ludus.bench.verifying.statement import NO_RECORD, Finding
from ludus.bench.verifying.verifier import keeping_statements
from ludus.errors import Error, ReplayImpossible
from ludus.record import read_run
from ludus.record.format.event import MANIFEST
from ludus.record.format.keys import PublicKey, SigningKey
from ludus.record.format.limits import MAX_REPLAY_SECONDS
from ludus.record.run.reader import RunReader
from ludus.record.verify import Verification, verify

__all__ = [
    "Looked",
    "UnitVerification",
    "differences",
    "look",
    "planned_units",
    "verify_run",
    "verify_units",
]

_REMOVED = "the result was removed while the run was verified"


@dataclass(frozen=True, slots=True)
class UnitVerification:
    """The verification of one result.

    Attributes:
        result: With its standing from now on.
        problems: What is wrong with it; empty if nothing is.
        unchecked: What could not be checked; with that, it stays a claim.
    """

    result: Result
    problems: tuple[str, ...]
    unchecked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Looked:
    """The checks of one result and its record; see :class:`UnitVerification`."""

    problems: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    executed: str = ""


def verify_run(
    folder: BenchFolder,
    *,
    replay: bool = True,
    max_seconds: float = MAX_REPLAY_SECONDS,
    trusted_keys: Iterable[PublicKey] | None = None,
    key: SigningKey | None = None,
    store: Any = None,
) -> Iterator[UnitVerification]:
    """Check every result of a run, and write a signed statement of the verdicts.

    Infrastructure faults have nothing to check, and are skipped.

    Args:
        folder: Of the run.
        replay: Whether records are executed again.
        max_seconds: Time limit for executing one; beyond, its result stays a claim.
        trusted_keys: Keys that the records must be signed with; ``None`` asks for none.
        key: Signs the statement; by default the user's own key, made if there is none yet.
        store: A store that gets the statement too.

    Raises:
        BenchError: The folder is damaged, or cannot be written.
        RecordError: The key cannot be read or made.
        StoreError: The store does not take the statement.
    """
    keys = None if trusted_keys is None else tuple(trusted_keys)
    absent = {row.env for row in folder.missing}
    chosen = (*chosen_seeds(folder.suite), *left_out_although_here(folder.suite, absent))

    def check(unit: Unit, result: Result) -> Looked:
        record = folder.path / record_of(unit)
        # Before anything is built as the record says: it may say anything.
        reader = read_run(record, head=result.head, within=folder.path)
        problems = (*environment_problems(reader, unit), *size_problems(reader, unit))
        if problems:
            return Looked(problems)
        # All readings must be of the record that the result names; others may be writing to it.
        pinned: Any = {"head": result.head, "within": folder.path, "max_file_bytes": 0}
        pinned["max_seconds"] = max_seconds
        checked = verify(record, trusted_keys=keys, replay=replay, **pinned)
        found = look(checked, replay, lambda: _contradictions(folder, unit, result))
        unchecked = [*found.unchecked, *chosen]
        if result.extra.get("stopped") == "max_cost":
            unchecked.append("budget: its cost ended it early, and only the agent knows its cost")
        return replace(found, unchecked=tuple(unchecked))

    units = planned_units(folder, absent=absent)
    yield from verify_units(folder, units, check, key=key, store=store)


def planned_units(folder: BenchFolder, *, absent: Collection[str] = ()) -> tuple[Unit, ...]:
    """Return the units that suite and agents of a run make.

    None if their number is not that of the units that the run lists: a suite of a few lines can ask
    for billions.
    """
    count = sum(row.id not in absent for row in folder.suite.environments)
    if count * len(folder.suite.seeds) * len(folder.agents) != len(folder.unit_ids):
        return ()
    return units_of(folder.suite, [row.spec() for row in folder.agents], absent=absent)


def verify_units(
    folder: BenchFolder,
    units: Iterable[Unit],
    check: Callable[[Unit, Result], Looked],
    *,
    key: SigningKey | None,
    store: Any,
) -> Iterator[UnitVerification]:
    """Check the results of a run by ``check``, which is called with a unit and its result.

    Where results of an agent on an environment are missing, its others there stay claims. Other
    arguments are those of :func:`verify_run`.
    """
    expected = {unit.id: unit for unit in units}
    everywhere = tuple(_plan_problems(folder, list(expected)))
    there = {one.id: _finding(one, (_REMOVED,)) for one in _told_results(folder)}
    incomplete = without_siblings(folder.suite, expected.values(), expected.keys() - there.keys())
    with keeping_statements(folder, key, store) as verifier:
        for unit_id in folder.unit_ids:
            result = _told(folder, unit_id)
            if result is None:
                # Its siblings were judged as if it were there, so readers must miss it.
                if unit_id in there and verifier is not None and not everywhere:
                    verifier.add(there[unit_id])
                continue
            found = _looked(expected.get(unit_id), result, check)
            if unit_id in incomplete:
                found = replace(found, unchecked=(*found.unchecked, incomplete[unit_id]))
            problems = (*everywhere, *found.problems)
            if found.unchecked and not problems:
                yield UnitVerification(result.marked("claimed"), (), found.unchecked)
                continue
            if everywhere:
                # Not signed: the plan was changed, and the result may be a copy of somebody's.
                yield UnitVerification(result.marked("failed"), problems, found.unchecked)
                continue
            finding = _finding(result, problems, found.executed)
            if verifier is not None:
                verifier.add(finding)
            marked = result.marked(finding.verdict)
            yield UnitVerification(marked, problems, found.unchecked)


def look(
    checked: Verification, executes: bool, contradictions: Callable[[], Iterable[str]]
) -> Looked:
    """Return what the checks of a record, and ``contradictions`` between it and its result, show.

    ``executes`` tells whether a replay was asked for.
    """
    problems = [f"{one.name}: {one.detail}" for one in checked.checks if one.status == "failed"]
    # What is damaged cannot be read any further.
    problems += [] if problems else contradictions()
    skipped = [one for one in checked.checks if one.status == "skipped"]
    unchecked = [f"{one.name}: {one.detail}" for one in skipped if not one.optional]
    if not executes:
        unchecked.append("replay: not asked for")
    done = [one.detail for one in checked.checks if one.name == "replay" and one.status == "passed"]
    return Looked(tuple(problems), tuple(unchecked), " ".join(done))


def differences(claimed: Result, follows: Result, suite: Suite) -> Iterator[str]:
    """Yield the fields in which a result differs from the one that follows from its record."""
    env = follows.env
    counted = with_counted(follows, floor=suite.floors.get(env), lower=env in suite.lower)
    said, right = claimed.to_dict(), counted.to_dict()
    for name in right:
        if said[name] != right[name]:
            before, after = shown(said[name], 100), shown(right[name], 100)
            yield f"{name}: the result says {before}, the record {after}"


def _looked(unit: Unit | None, result: Result, check: Callable[[Unit, Result], Looked]) -> Looked:
    if unit is None:
        return Looked(("the suite and the agents of this run have no such unit",))
    if result.outcome == "infrastructure_fault":
        return Looked(("it claims an infrastructure fault, and has a record",))
    if result.record != record_of(unit):
        return Looked((f"the result names the record {result.record}, not its own",))
    try:
        return check(unit, result)
    except ReplayImpossible as problem:
        return Looked(unchecked=(f"environment: {one_line(problem)}",))
    except (Error, OSError) as problem:
        return Looked((one_line(problem),))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        return Looked((f"the record is not that of a unit: {problem!r:.200}",))


def _told(folder: BenchFolder, unit_id: str) -> Result | None:
    """Return the result of a unit unless there is nothing to check: no record of a fault."""
    result = folder.result(unit_id)
    if result is None or result.outcome != "infrastructure_fault":
        return result
    record = folder.path / RECORDS / result.id / MANIFEST
    return result if record.exists() else None


def _told_results(folder: BenchFolder) -> Iterator[Result]:
    for unit_id in dict.fromkeys(folder.unit_ids):
        if (result := _told(folder, unit_id)) is not None:
            yield result


def _finding(result: Result, problems: tuple[str, ...], executed: str = "") -> Finding:
    return Finding(
        id=result.id,
        result=result.digest,
        record=result.head or NO_RECORD,
        source=result.source_hash,
        executed=executed,
        verdict="failed" if problems else "verified",
        problems=problems,
    )


def _plan_problems(folder: BenchFolder, expected: list[str]) -> Iterator[str]:
    """Yield how the units that a run lists differ from those that suite and agents make."""
    yield from _left_out_problems(folder)
    names = [row.name for row in folder.agents]
    if len(set(names)) != len(names):
        yield "bench.json lists several agents under one name"
    listed = list(folder.unit_ids)
    if listed == expected:
        return
    extra, lacking = len(set(listed) - set(expected)), len(set(expected) - set(listed))
    twice = len(listed) - len(set(listed))
    told = [f"{extra} extra", f"{lacking} missing", f"{twice} listed twice"]
    counts = ", ".join(text for text in told if not text.startswith("0 ")) or "in another order"
    yield f"bench.json lists other units than its suite and agents make: {counts}"


def _left_out_problems(folder: BenchFolder) -> Iterator[str]:
    known = {row.id for row in folder.suite.environments}
    strange = sorted({row.env for row in folder.missing} - known)
    if strange or len(folder.missing) != len({row.env for row in folder.missing}):
        yield f"bench.json leaves out environments that the suite does not have: {strange!r:.200}"


def _contradictions(folder: BenchFolder, unit: Unit, result: Result) -> Iterator[str]:
    """Yield what a result or its record say otherwise than suite, rows and registry do."""
    reader = read_run(folder.path / record_of(unit), head=result.head, within=folder.path)
    # Once more, of the manifest that this reading's head is about.
    yield from environment_problems(reader, unit)
    claims = list(_claims(reader))
    if len(claims) != 1:
        yield f"the record makes {len(claims)} claims about its outcome, not one"
        return
    kind, claim = claims[0]
    is_fault = kind == "note"
    if claim.keys() != (FAULT_FIELDS if is_fault else SCORE_FIELDS):
        yield f"the record's claim has the fields {', '.join(sorted(claim))!r:.200}"
        return
    if id_of(claim["unit"]) != unit.id:
        yield "the record's claim is about another unit"
        return
    counted = recount(reader, unit, stopped=claim["stopped"], whole=not is_fault)
    yield from counted.problems
    if is_fault:
        yield from _fault_problems(claim, counted.returns, counted.steps, reader, unit)
        returns = counted.returns[: claim["counted"]]
    else:
        yield from _score_problems(claim, counted.returns, counted.steps)
        returns = counted.returns
    curve = counted.curve[: claim["counted"]] if claim["learns"] else None
    follows = result_of(unit, folder.name, reader.head, claim, returns, curve)
    yield from differences(result, follows, folder.suite)


def _claims(reader: RunReader) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield kind and data of every event that claims an outcome of the unit."""
    for event in reader.events:
        if event.kind == "result" or (event.kind == "note" and "agent_fault" in event.data):
            yield event.kind, event.data


def _score_problems(
    claim: Mapping[str, Any], returns: tuple[float, ...], steps: int
) -> Iterator[str]:
    if claim.get("metric") != METRIC:
        yield f"the record claims {claim.get('metric')!r:.40}, and {METRIC} is expected"
    if not returns or mean(returns) != claim["score"]:
        yield "the score is not the mean of the record's episodes"
    if claim["counted"] != len(returns) or claim["steps"] != steps:
        yield (
            f"{claim['counted']!r:.20} episodes and {claim['steps']!r:.20} steps are claimed, and "
            f"there are {len(returns)} and {steps}"
        )


def _fault_problems(
    claim: Mapping[str, Any], returns: tuple[float, ...], steps: int, reader: RunReader, unit: Unit
) -> Iterator[str]:
    """Yield what is wrong with a fault's claim; a killed worker has counted nothing."""
    killed = (0, reader.rows * (unit.agent.num_envs or 1))
    if (claim["counted"], claim["steps"]) not in (killed, (len(returns), steps)):
        yield "the claim of a fault counts other episodes or steps than were recorded"
    stopped = claim["stopped"]
    limits = [name for name in ("max_cost", "max_steps") if getattr(unit.budget, name) is not None]
    if stopped is not None and stopped not in limits:
        yield f"{stopped!r:.40} is said to have ended it, which is no limit of this unit"
