"""Export of research trajectories to the Agent Trajectory Interchange Format (ATIF)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ludus.research.running.trajectory import ResearchTrajectory, TrajectoryStep
from ludus.research.tools.calls import SHELL
from ludus.version import __version__

__all__ = ["VERSION", "to_atif", "write_atif"]

VERSION = "ATIF-v1.7"


def to_atif(trajectory: ResearchTrajectory, *, session: str | None = None) -> dict[str, Any]:
    """Return a trajectory in ATIF as JSON-ready data.

    The first step is the user's task. Each action is a step of the agent with one tool call and
    its result. Data for which ATIF has no field is under ``extra``.

    Args:
        trajectory: The trajectory.
        session: Id of the episode.
    """
    asked = {"step_id": 1, "source": "user", "message": trajectory.instruction or trajectory.task}
    acted = [_step(step, n, trajectory) for n, step in enumerate(trajectory.steps, start=2)]
    agent = {
        "name": trajectory.agent or "unknown",
        "version": __version__ if trajectory.source == "ludus" else "unknown",
        "model_name": trajectory.model or None,
    }
    total = {
        "total_prompt_tokens": trajectory.prompt_tokens,
        "total_completion_tokens": trajectory.completion_tokens,
        "total_cost_usd": trajectory.cost,
        "total_steps": len(acted) + 1,
    }
    extra = {
        "task": trajectory.task,
        "recorded_by": trajectory.source,
        "outcome": trajectory.outcome or None,
        "graded": trajectory.graded or None,
        "scores": [dict(score) for score in trajectory.scores] or None,
        "normalised_score": trajectory.normalised,
        "model_calls": trajectory.calls,
    }
    return _known(
        {
            "schema_version": VERSION,
            "session_id": session,
            "agent": _known(agent),
            "steps": [asked, *acted],
            "final_metrics": _known(total),
            "extra": _known(extra),
        }
    )


def write_atif(
    trajectory: ResearchTrajectory, path: str | os.PathLike[str], *, session: str | None = None
) -> None:
    """Write a trajectory in ATIF to a new file.

    Raises:
        FileExistsError: The file exists.
        OSError: The file cannot be written.
    """
    body = to_atif(trajectory, session=session)
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, indent=2)
    with Path(path).open("x", encoding="utf-8") as file:
        file.write(text + "\n")


def _step(step: TrajectoryStep, n: int, trajectory: ResearchTrajectory) -> dict[str, Any]:
    call_id = f"call_{n}"
    name, arguments = _call(step.action)
    call = {"tool_call_id": call_id, "function_name": name, "arguments": arguments}
    extra = {
        "exit_code": step.exit_code,
        "seconds": step.seconds,
        "validation_score": step.validation,
        "state": dict(step.state) or None,
        "output_is_whole": None if step.is_whole else False,
    }
    made = {
        "step_id": n,
        "source": "agent",
        "message": step.response or step.thought,
        "model_name": trajectory.model or None,
        "reasoning_content": step.thought if step.response and step.thought else None,
        "tool_calls": [call],
        "observation": {"results": [{"source_call_id": call_id, "content": step.output}]},
        "extra": _known(extra) or None,
    }
    return _known(made)


def _call(action: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if isinstance(action, str):
        return SHELL, {"command": action}
    return str(action["tool"]), dict(action.get("arguments") or {})


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
