"""Reader of untrusted MLGym trajectory files (``.traj``).

A file is one JSON object: ``trajectory`` has the steps, ``history`` the conversation with the
model, ``info`` the result. Versions of MLGym differ, so a field that is missing or has an
unexpected type counts as unknown.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ludus.errors import ResearchError
from ludus.record.format.disk import read_small
from ludus.research.running.trajectory import ResearchTrajectory, TrajectoryStep

__all__ = ["mlgym_trajectory", "read_mlgym_traj"]

MAX_BYTES = 2**28
MAX_STEPS = 10_000
MAX_TEXT = 2**22
"""Characters of one text; longer ones are truncated."""


def read_mlgym_traj(path: str | os.PathLike[str]) -> ResearchTrajectory:
    """Read a ``.traj`` file.

    Raises:
        ResearchError: The file cannot be read, is too large, or is not a trajectory.
    """
    path = Path(path)
    try:
        content, _ = read_small(path, MAX_BYTES)
    except OSError as problem:
        raise ResearchError(f"The trajectory {path} cannot be read: {problem}") from problem
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise ResearchError(f"{path} is not an MLGym trajectory: {problem}") from problem
    return mlgym_trajectory(body, path)


def mlgym_trajectory(body: Any, path: Path) -> ResearchTrajectory:
    """Return the trajectory of a ``.traj`` file whose JSON was read; ``path`` is for messages.

    Raises:
        ResearchError: It is not a trajectory.
    """
    steps = body.get("trajectory") if isinstance(body, dict) else None
    if not isinstance(steps, list) or len(steps) > MAX_STEPS:
        raise ResearchError(
            f"{path} is not an MLGym trajectory: expected an object whose field 'trajectory' is a "
            f"list of at most {MAX_STEPS} steps."
        )
    return _trajectory(body, steps, path)


def _trajectory(body: Mapping[str, Any], steps: list[Any], path: Path) -> ResearchTrajectory:
    info = _object(body.get("info"))
    stats = _object(info.get("model_stats"))
    told = [turn for turn in _list(body.get("history")) if isinstance(turn, dict)]
    real = [turn for turn in told if turn.get("is_demo") is not True]
    asked = next((turn for turn in real if turn.get("role") == "user"), {})
    cost = _number(stats.get("instance_cost"))
    return ResearchTrajectory(
        task=_text(body.get("environment")) or path.stem,
        steps=tuple(_step(step, n, path) for n, step in enumerate(steps)),
        source="mlgym",
        instruction=_text(asked.get("content")),
        agent=next((_text(turn["agent"]) for turn in told if turn.get("agent")), ""),
        outcome=_text(info.get("exit_status")),
        scores=tuple(_score(score) for score in _list(info.get("score"))[:MAX_STEPS]),
        prompt_tokens=_count(stats.get("tokens_sent")),
        completion_tokens=_count(stats.get("tokens_received")),
        calls=_count(stats.get("api_calls")),
        cost=cost if cost is not None else _number(stats.get("cost", stats.get("total_cost"))),
    )


def _step(step: Any, n: int, path: Path) -> TrajectoryStep:
    if not isinstance(step, dict) or not isinstance(step.get("action"), str):
        raise ResearchError(f"{path}: step {n} is not an object with a string 'action'.")
    output = _text(step.get("observation"))
    return TrajectoryStep(
        action=_text(step["action"]).strip("\n"),
        thought=_text(step.get("thought")),
        response=_text(step.get("response")),
        output=output,
        is_whole=len(output) < MAX_TEXT,
        seconds=_number(step.get("execution_time")),
        state=_state(step.get("state")),
    )


def _state(state: Any) -> dict[str, str]:
    """Return the shell's state, which is an object or its JSON text."""
    if isinstance(state, str) and len(state) < MAX_TEXT:
        try:
            state = json.loads(state)
        except (ValueError, RecursionError):
            state = None
    found = _object(state)
    return {_clean(name): _text(value) for name, value in found.items() if isinstance(value, str)}


def _score(score: Any) -> dict[str, float]:
    """Return metrics by name; a single number gets the name ``score``."""
    named = score if isinstance(score, dict) else {"score": score}
    numbers = {_clean(name): _number(value) for name, value in named.items()}
    return {name: value for name, value in numbers.items() if value is not None}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return _clean(value[:MAX_TEXT]) if isinstance(value, str) else ""


def _clean(text: str) -> str:
    """Replace lone surrogates, which JSON allows and UTF-8 does not."""
    return text.encode("utf-8", "replace").decode()


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _count(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and 0 <= number < 2**53 else None
