"""From the record of an episode to a result of the bench."""

from __future__ import annotations

import json
from typing import Any

from ludus.bench.result import Result
from ludus.bench.running.execute import UnitJob
from ludus.errors import ResearchError
from ludus.record import read_run
from ludus.research.running.story import KIND, tell

__all__ = ["result_of_record"]


def result_of_record(job: UnitJob) -> Result:
    """Return the result in a complete record; the same record always gives the same result.

    Raises:
        RecordError: The record is damaged.
        ResearchError: It holds no result.
    """
    reader = read_run(job.record_path)
    story = tell(reader.events)
    subject, claim = reader.manifest["subject"], story.result
    if reader.manifest["kind"] != KIND or claim is None or story.closed is None:
        raise ResearchError(f"{job.record_path} does not say what an episode came to.")
    unit = job.unit
    scored = [(n, made["score"]) for n, made in story.validations if made["score"] is not None]
    extra: dict[str, Any] = {
        "agent": unit.agent.identity(),
        "task_digest": subject["task_digest"],
        "normalised": claim["normalised"],
        "end": claim["end"],
        "validations": claim["validations"],
        "curve": [[n + 1, score] for n, score in scored],
        "usage": dict(claim["usage"]),
        "lives": story.earlier.lives + 1,
        "resumed": story.resumed,
        "faults": story.faults,
        "validation_faults": story.validation_faults,
        "backend": subject["options"]["backend"],
        "draws": subject["draws"],
    }
    if not scored:
        del extra["curve"]
    return Result(
        id=unit.id,
        run=job.run,
        suite=unit.suite,
        suite_digest=unit.suite_digest,
        agent=unit.agent.name,
        env=unit.env_id,
        seed=unit.seed,
        outcome=claim["outcome"],
        score=claim["value"],
        best_score=claim["best"],
        episodes=1,
        steps=claim["steps"],
        seconds=round(float(claim["seconds"]), 6),
        cost=float(claim["cost"]),
        budget=json.dumps(unit.budget.model_dump()),
        reason=claim["reason"] or None,
        source_hash=subject["task_digest"],
        record=job.record,
        head=reader.head,
        created=f"{story.closed[:19]}Z",
        extra=extra,
    )
