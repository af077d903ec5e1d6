"""Export of research trajectories to the Agent Trajectory Interchange Format (ATIF)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ludus.errors import RecordDamaged
from ludus.research.agents.replies import reply_of
from ludus.research.running.conversation import RecordedCall
from ludus.research.running.trajectory import ResearchTrajectory, TrajectoryStep
from ludus.research.tools.calls import SHELL
from ludus.version import __version__

__all__ = ["VERSION", "to_atif", "write_atif"]

VERSION = "ATIF-v1.8"


def to_atif(trajectory: ResearchTrajectory, *, session: str | None = None) -> dict[str, Any]:
    """Return a trajectory in ATIF as JSON-ready data.

    The first step is the user's task. Each action is a step of the agent with one tool call and
    its result. Where the record has the conversation, steps tell what the model said, with its
    reasoning, tokens, log-probabilities and cost; a malformed reply is a step without a tool call,
    whose result is what the model was told. Data for which ATIF has no field is under ``extra``.

    Args:
        trajectory: The trajectory.
        session: Id of the episode.
    """
    asked = {"step_id": 1, "source": "user", "message": trajectory.instruction or trajectory.task}
    acted = [{"step_id": n, **step} for n, step in enumerate(_acted(trajectory), start=2)]
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
        "probes": sum(call.is_probe for call in trajectory.conversation) or None,
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
        RecordDamaged: The trajectory holds what no JSON does.
    """
    try:
        body = to_atif(trajectory, session=session)
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, indent=2)
        text.encode()
    except (AttributeError, RecursionError, TypeError, ValueError) as problem:
        raise RecordDamaged(f"The trajectory cannot be written: {problem!r:.200}.") from problem
    with Path(path).open("x", encoding="utf-8") as file:
        file.write(text + "\n")


def _acted(trajectory: ResearchTrajectory) -> Iterator[dict[str, Any]]:
    """Yield the agent's steps without their numbers."""
    asked = [call for call in trajectory.conversation if not call.is_probe]
    # What the model was told next is the end of the prompt after.
    told = [_last_text(call) for call in asked[1:]]
    said = list(zip(asked, [*told, ""], strict=False))
    for n, step in enumerate(trajectory.steps):
        mine = [one for one in said if one[0].n == n]
        for call, answer in mine[:-1]:
            yield _malformed(call, answer, trajectory.model)
        yield _step(step, n, trajectory, mine[-1][0] if mine else None)
    for call, answer in said:
        if call.n >= len(trajectory.steps):
            yield _malformed(call, answer, trajectory.model)


def _last_text(call: RecordedCall) -> str:
    return str(call.messages[-1].get("content") or "") if call.messages else ""


def _malformed(call: RecordedCall, told: str, model: str) -> dict[str, Any]:
    """Return the step of a reply that no action followed from."""
    step: dict[str, Any] = {"source": "agent", "model_name": model or None, **_said(call)}
    results = {"results": [{"content": told}]} if told else None
    return _known({**step, "observation": results, "extra": {"malformed": True}})


def _step(
    step: TrajectoryStep, n: int, trajectory: ResearchTrajectory, asked: RecordedCall | None
) -> dict[str, Any]:
    call_id = f"call_{n + 2}"
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
        "source": "agent",
        "message": step.response or step.thought,
        "model_name": trajectory.model or None,
        "reasoning_content": step.thought if step.response and step.thought else None,
        "llm_call_count": 0 if trajectory.conversation else None,
        **(_said(asked) if asked else {}),
        "tool_calls": [call],
        "observation": {"results": [{"source_call_id": call_id, "content": step.output}]},
        "extra": _known(extra) or None,
    }
    return _known(made)


def _said(call: RecordedCall) -> dict[str, Any]:
    """Return the fields of a step that tell of a call of the model."""
    reply = reply_of(call.reply, call.reasoning, call.finish)
    metrics = {
        "prompt_tokens": call.usage.get("prompt_tokens"),
        "completion_tokens": call.usage.get("completion_tokens"),
        "cached_tokens": call.usage.get("cached_tokens"),
        "cost_usd": call.usage.get("cost"),
        "prompt_token_ids": call.prompt_token_ids,
        "completion_token_ids": call.completion_token_ids,
        "logprobs": call.logprobs,
        "extra": {"seconds": call.seconds, "finish_reason": call.finish},
    }
    return {
        "message": reply.text,
        "reasoning_content": reply.reasoning or None,
        "metrics": _known(metrics),
        "llm_call_count": 1,
    }


def _call(action: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if isinstance(action, str):
        return SHELL, {"command": action}
    arguments = action.get("arguments")
    return str(action.get("tool")), dict(arguments) if isinstance(arguments, Mapping) else {}


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
