"""Computes the result and the rewards of an episode from its record, to write and verify them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ludus.bench.result import Result
from ludus.bench.running.execute import UnitJob
from ludus.errors import ResearchError
from ludus.record import read_run
from ludus.research.running.story import KIND, Story, tell
from ludus.research.task.outcome import Outcome
from ludus.research.task.reward import RewardTotals, Scale

__all__ = [
    "claim_of",
    "failed_claim",
    "last_reward",
    "result_of_record",
    "reward_problem",
    "scale_of",
]


def claim_of(story: Story, subject: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of the event ``result`` of a finished episode.

    Raises:
        ValueError: The episode is not over, or was not graded.
    """
    if story.final is None:
        raise ValueError("the episode is not over")
    made = story.final.outcome
    if made.kind not in ("scored", "agent_fault"):
        raise ValueError(f"the work was not graded: {made.kind!r:.40}")
    return _claim(story, subject, made, story.steps[-1]["end"])


def failed_claim(story: Story, subject: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """Return the same for an episode that the agent made an end of before it could be graded."""
    return _claim(story, subject, Outcome("agent_fault", reason=reason), "agent")


def scale_of(subject: Mapping[str, Any]) -> Scale:
    """Return the scale of a record's scores.

    Raises:
        ValueError: The record lacks it.
    """
    told = subject.get("evaluation")
    if not isinstance(told, Mapping):
        raise ValueError("the record does not say how scores are measured")
    fields = ("threshold", "baseline", "floor", "direction")
    version = subject.get("scale", 1)
    return Scale(**{name: told.get(name) for name in fields}, version=version)  # type: ignore[arg-type]


def _claim(story: Story, subject: Mapping[str, Any], made: Outcome, end: str) -> dict[str, Any]:
    last, scale = story.steps[-1] if story.steps else {}, scale_of(subject)
    return {
        "outcome": made.kind,
        "value": made.score,
        "reason": made.reason,
        "normalised": scale.of(made),
        "end": end,
        "metric": subject["evaluation"]["metric"],
        "best": _best(story, scale),
        "rewards": math.fsum(story.rewards),
        "steps": story.earlier.steps + sum("action" in step for step in story.steps),
        "validations": story.earlier.validations + len(story.validations),
        "cost": last.get("cost", story.earlier.cost),
        "usage": last.get("model_usage", {}),
        "seconds": last.get("spent", story.earlier.seconds),
        # Records of earlier versions lack it.
        **({"waited": last["waited"]} if "waited" in last else {}),
        "unit": subject["unit"],
    }


def _best(story: Story, scale: Scale) -> float | None:
    """Return the best score of a validation or of the end."""
    graded = [made for _, made in story.validations]
    graded += [] if story.final is None else [story.final]
    scores = [score for made in graded if (score := made.outcome.score) is not None]
    pick = max if scale.direction == "higher" else min
    return pick(scores, default=None)


_TOLERANCE = 1e-9


def last_reward(story: Story, subject: Mapping[str, Any], final: Outcome) -> float:
    """Return the reward of a grading on the test split after the recorded steps.

    Raises:
        ValueError: The record lacks the scale of its scores.
    """
    u = scale_of(subject).of(final)
    return 0.0 if u is None else u - math.fsum(story.rewards)


def reward_problem(story: Story, subject: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the rewards of an episode, if anything.

    Raises:
        ValueError: The record lacks the scale of its scores.
    """
    scale, ledger = scale_of(subject), RewardTotals()
    for step in story.steps:
        graded, final = step["graded"], step["final"]
        reward = 0.0
        if final is not None:
            u = scale.of(Outcome.from_plain(final))
            if u is not None:
                reward, ledger = ledger.settled(u)
        elif graded is not None and graded["score"] is not None:
            reward, ledger = ledger.improved(scale.normalise(graded["score"]))
        if not math.isclose(step["reward"], reward, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            return f"step {step['n']} is said to be worth {step['reward']!r:.40}, not {reward!r}"
        if graded is not None and step["validation"] != graded["score"]:
            return f"step {step['n']} has two scores of one validation"
    return None


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
    scores = [(n, made.outcome.score) for n, made in story.validations]
    scored = [(n, score) for n, score in scores if score is not None]
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
    if "waited" in claim:
        extra["working_seconds"] = round(max(0.0, float(claim["seconds"]) - claim["waited"]), 6)
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
