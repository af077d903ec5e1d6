"""Trajectories: what an agent did in an episode, independent of the record's format."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ludus.errors import RecordDamaged, RecordError
from ludus.record.format.event import file_name_problem
from ludus.record.format.folder import Folder
from ludus.record.run.reader import RunReader, read_run
from ludus.research.running.conversation import RecordedCall, read_calls
from ludus.research.running.results import scale_of

__all__ = ["ResearchTrajectory", "TrajectoryStep", "trajectory_of_run"]

MAX_STEPS = 100_000
_LONGEST = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryStep:
    """One action and its result; ``None`` and empty texts stand for what is not known."""

    action: str | Mapping[str, Any]
    """A line for the shell, or a tool call ``{"tool": name, "arguments": {…}}``."""
    thought: str = ""
    response: str = ""
    """All that the model said, of which thought and action are parts."""
    output: str = ""
    is_whole: bool = True
    """Whether the output is all there was."""
    exit_code: int | None = None
    seconds: float | None = None
    state: Mapping[str, Any] = field(default_factory=dict)
    """Of the shell, after the action: folder, open file and the like."""
    validation: float | None = None
    """The score, if the action had the work validated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchTrajectory:
    """An episode from the agent's side."""

    task: str
    """Its id, or its name in the record."""
    steps: tuple[TrajectoryStep, ...]
    source: str
    """The form it was read from: ``ludus``, ``mlgym``, …"""
    instruction: str = ""
    """What the agent was told at the beginning."""
    agent: str = ""
    model: str = ""
    outcome: str = ""
    """How it ended, as the record says."""
    graded: str = ""
    """Outcome of the grading: ``scored``, ``agent_fault``; empty if unknown."""
    scores: tuple[Mapping[str, float], ...] = ()
    """Validations and the end, each as metrics by name; the last one is the last claimed. An
    agent's fault counts as the floor of its task."""
    normalised: float | None = None
    """The last score between the task's baseline (0) and threshold (1)."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    calls: int | None = None
    cost: float | None = None
    conversation: tuple[RecordedCall, ...] = ()
    """Calls of the model; each names the step that was decided on."""


def trajectory_of_run(
    path: str | os.PathLike[str],
    *,
    head: str | None = None,
    within: str | os.PathLike[str] | None = None,
) -> ResearchTrajectory:
    """Return the trajectory of a run folder of kind ``research``, which need not be trusted.

    Args:
        path: Of the folder.
        head: The chain head that the record must have; see :func:`ludus.record.read_run`.
        within: A parent folder below which no symbolic link is followed.

    Raises:
        RecordDamaged: The folder is broken.
        RecordError: It holds no run of that kind, or too many steps.
    """
    run = read_run(path, head=head, within=within)
    kind = run.manifest.get("kind")
    if kind != "research":
        raise RecordError(f"{path} holds a run of kind {kind!r}; a trajectory needs 'research'.")
    subject = run.manifest.get("subject")
    subject = subject if isinstance(subject, Mapping) else {}
    steps: list[TrajectoryStep] = []
    claim: Mapping[str, Any] = {}
    for event in run.events:
        if event.kind == "step":
            steps.append(_step(run, event.data, len(steps)))
        elif event.kind == "result":
            claim = event.data
        if len(steps) > MAX_STEPS:
            raise RecordError(f"{path} has more than {MAX_STEPS} steps.")
    usage = claim.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    graded, value, normalised = _counted(claim, subject)
    metric = claim.get("metric")
    return ResearchTrajectory(
        task=_text(subject.get("task")),
        steps=tuple(steps),
        source="ludus",
        instruction=_text(subject.get("description")),
        agent=_text(subject.get("agent")),
        model=_text(subject.get("model")),
        outcome=_text(claim.get("end")) or _text(run.outcome),
        graded=graded,
        scores=({metric: value},) if isinstance(metric, str) and value is not None else (),
        normalised=normalised,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        calls=_count(usage.get("calls")),
        cost=_number(claim.get("cost")),
        conversation=tuple(read_calls(run)),
    )


def _step(run: RunReader, data: Mapping[str, Any], n: int) -> TrajectoryStep:
    action = data.get("action")
    if not isinstance(action, str | Mapping):
        raise RecordError(f"Step {n} of the run has no action; it may be of a newer version.")
    whole = data.get("output", _seen_output(run, data))
    head, tail = _text(data.get("head")), _text(data.get("tail"))
    code, seconds, score = (data.get(name) for name in ("exit_code", "seconds", "validation"))
    return TrajectoryStep(
        action=action,
        thought=_text(data.get("thought")),
        output=whole if isinstance(whole, str) else f"{head}\n[…]\n{tail}" if tail else head,
        is_whole=isinstance(whole, str) or not tail,
        exit_code=code if type(code) is int else None,
        seconds=_number(seconds),
        validation=_number(score),
    )


def _seen_output(run: RunReader, data: Mapping[str, Any]) -> str | None:
    """Return the output in a file of the record, if it is what the agent saw."""
    name = data.get("output_file")
    if not isinstance(name, str) or file_name_problem(name):
        return None
    with Folder(run.path) as folder:
        try:
            content = folder.read(name, _LONGEST)
        except RecordDamaged:
            return None  # it is longer than anything that an agent sees
    if content is None or hashlib.sha256(content).hexdigest() != data.get("digest"):
        return None
    return content.decode("utf-8", "replace")


def _counted(
    claim: Mapping[str, Any], subject: Mapping[str, Any]
) -> tuple[str, float | None, float | None]:
    """Return the outcome of the grading, and its raw and normalised score."""
    graded, value = claim.get("outcome"), _number(claim.get("value"))
    if graded not in ("scored", "agent_fault"):
        return "", value if graded is None else None, None
    try:
        scale = scale_of(subject)
        return graded, scale.counted(graded, value), scale.normalised(graded, value)
    except (TypeError, ValueError):
        return graded, value if graded == "scored" else None, None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) <= sys.float_info.max else None
