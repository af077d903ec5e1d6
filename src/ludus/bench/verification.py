"""Checking a bench run: every record, and that every result says what its record shows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ludus.bench.budget import Budget
from ludus.bench.execute import METRIC
from ludus.bench.faults import one_line
from ludus.bench.folder import BenchFolder
from ludus.bench.result import Result, Verified
from ludus.bench.unit import id_of
from ludus.errors import Error
from ludus.record import read_run
from ludus.record.episode_table import Episode, episodes
from ludus.record.verify import verify
from ludus.seeding import derive_seed

__all__ = ["UnitVerification", "verify_run"]


@dataclass(frozen=True, slots=True)
class UnitVerification:
    """What came of checking one result.

    Attributes:
        result: With its new mark.
        problems: What is wrong with it; empty if nothing is.
        unchecked: What could not be checked; with that, it stays unverified.
    """

    result: Result
    problems: tuple[str, ...]
    unchecked: tuple[str, ...]


def verify_run(
    folder: BenchFolder,
    *,
    replay: bool = True,
    trusted_keys: Iterable[Any] | None = None,
    store: Any = None,
) -> Iterator[UnitVerification]:
    """Check every result of a run, and mark it in its folder, and in a store if one is given.

    Faults of the infrastructure have nothing to check, and are passed over.

    Args:
        folder: Of the run.
        replay: Whether records are executed again.
        trusted_keys: Whose signatures are asked for; ``None`` asks for none.
        store: A store that has the results.

    Raises:
        BenchError: The folder is damaged.
        StoreError: The store does not have a result.
    """
    keys = None if trusted_keys is None else tuple(trusted_keys)
    for result in folder.results():
        if result.outcome == "infrastructure_fault":
            continue
        problems, unchecked = _look(folder, result, replay, keys)
        mark: Verified = "failed" if problems else "unverified" if unchecked else "verified"
        marked = replace(result, verified=mark)
        folder.write(marked)
        if store is not None:
            store.mark_verified(result.run, result.id, mark, head=result.head)
        yield UnitVerification(marked, problems, unchecked)


def _look(
    folder: BenchFolder, result: Result, replay: bool, keys: tuple[Any, ...] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is wrong with a result, and what could not be checked."""
    if result.record != f"records/{result.id}":
        return (f"the result names the record {result.record}, not its own",), ()
    path = folder.path / result.record
    try:
        checked = verify(path, trusted_keys=keys, replay=replay)
        problems = [f"{one.name}: {one.detail}" for one in checked.checks if one.status == "failed"]
        # What is damaged cannot be read any further.
        problems += [] if problems else _contradictions(folder, result, read_run(path))
    except (Error, OSError) as problem:
        return (one_line(problem),), ()
    skipped = [one for one in checked.checks if one.status == "skipped"]
    unchecked = [f"{one.name}: {one.detail}" for one in skipped if not one.optional]
    if not replay:
        unchecked.append("replay: not asked for")
    return tuple(problems), tuple(unchecked)


def _contradictions(folder: BenchFolder, result: Result, reader: Any) -> Iterator[str]:
    if reader.head != result.head:
        yield "the record is another one than the result was made from"
    claim = _last_claim(reader)
    if claim is None:
        yield "the record does not say what it came to"
        return
    yield from _differences(result, claim, folder)
    yield from _counted(result, claim, reader)


def _last_claim(reader: Any) -> dict[str, Any] | None:
    claim = None
    for event in reader.events:
        about_unit = event.kind in ("result", "note") and "unit" in event.data
        claim = {"kind": event.kind, **event.data} if about_unit else claim
    return claim


def _differences(result: Result, claim: dict[str, Any], folder: BenchFolder) -> Iterator[str]:
    """Compare the result's own words with what was written into the record when it was made."""
    unit = claim["unit"]
    pairs = {
        "id": (result.id, id_of(unit)),
        "suite": (result.suite, unit.get("suite")),
        "suite_digest": (result.suite_digest, unit.get("suite_digest")),
        "agent": (result.extra.get("agent"), unit.get("agent")),
        "agent's name": (result.agent, (unit.get("agent") or {}).get("name")),
        "seed": (result.seed, unit.get("seed")),
        "budget": (json.loads(result.budget), unit.get("budget")),
        "reason": (result.reason, claim.get("agent_fault")),
        "score": (result.score, claim.get("score")),
        "suite of the run": (folder.suite.digest, unit.get("suite_digest")),
    }
    for name, (said, recorded) in pairs.items():
        if said != recorded:
            yield f"{name}: the result says {said!r:.100}, the record {recorded!r:.100}"
    if result.outcome == "scored" and claim.get("metric") != METRIC:
        yield "the result is scored, and the record has no score"


def _counted(result: Result, claim: dict[str, Any], reader: Any) -> Iterator[str]:
    """Count the episodes again: which count, what they returned, and how they were seeded."""
    subject, unit = reader.manifest["subject"], claim["unit"]
    count = subject.get("num_envs")
    if subject.get("id") != result.env:
        yield f"the record is of {subject.get('id')}, the result of {result.env}"
    if (unit.get("agent") or {}).get("num_envs") != count:
        yield f"the record is of {count} environments at once"
    counts = _Counting(Budget.model_validate(unit["budget"]), count)
    returns = []
    for episode in episodes(reader):
        if counts.take(episode):
            returns.append(episode.total_reward)
        number = episode.number if count is None else episode.env_index
        expected = derive_seed(result.seed, "env", result.env, number)
        first = count is None or episode.number == 0
        if first and episode.seed != expected:
            yield f"episode {episode.number} was not seeded as this unit is"
            return
    if result.outcome != "scored":
        return
    if returns != result.extra.get("returns"):
        yield "the record's episodes returned something else than the result says"
    if not returns or math.fsum(returns) / len(returns) != result.score:
        yield "the score is not the mean of the record's episodes"


class _Counting:
    """Tells which episodes of a batch count: those within the share of their environment."""

    def __init__(self, budget: Budget, num_envs: int | None) -> None:
        total, count = budget.episodes or budget.steps or 0, num_envs or 1
        self._by_steps = budget.steps is not None
        self._shares = [total // count + (i < total % count) for i in range(count)]
        self._steps = [0] * count
        self._single = num_envs is None

    def take(self, episode: Episode) -> bool:
        """Tell whether the next episode counts."""
        index = episode.env_index
        played = self._steps[index] if self._by_steps else episode.number
        self._steps[index] += episode.length
        return self._single or played < self._shares[index]
