"""Trajectories of other systems, shown as episodes: MLGym's ``.traj`` files, and ATIF.

A file may come from anybody. How large it is, and of how many values, is checked before it is
decoded; what has another type than expected counts as missing; a file that is no trajectory is
refused. Its format is found by its content, not by its name.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ludus.errors import RecordError, ResearchError
from ludus.interop.mlgym_traj import mlgym_trajectory
from ludus.record.format.disk import Handle, open_outside
from ludus.research.running.trajectory import ResearchTrajectory, TrajectoryStep
from ludus.research.tools.calls import SHELL
from ludus.view.episodes.episode import action_of
from ludus.view.episodes.trajectory import (
    ListedTrajectory,
    Step,
    Subject,
    count_of,
    number_of,
    text_of,
)

__all__ = ["MAX_BYTES", "MAX_STEPS", "MAX_VALUES", "read_imported"]

MAX_BYTES = 1 << 26
"""Of a file."""
MAX_VALUES = 2_000_000
"""Elements and fields in a file, where three bytes can be a list of fifty; and twice its texts."""
MAX_STEPS = 10_000
_SHOWN = 70_000  # characters of each end of an output
_MOST_KEPT = 2
_TEXT = re.compile(rb'"[^"]*"?')
_TOKENS = {"prompt": "prompt_tokens", "completion": "completion_tokens", "cached": "cached_tokens"}

_lock = threading.Lock()
_kept: OrderedDict[tuple[str, int, int, int, int], ListedTrajectory] = OrderedDict()


def read_imported(path: Path) -> ListedTrajectory:
    """Return the trajectory in a file; the last ones are remembered until the file changes.

    Raises:
        RecordError: It cannot be read, is too large, or is no trajectory.
    """
    try:
        with open_outside(path) as handle:
            status = os.fstat(handle.number)
            key = (
                str(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
            )  # fmt: skip
            # One at a time: decoding takes several times the memory of the file.
            with _lock:
                if key not in _kept:
                    _kept[key] = _read(handle, path)
                _kept.move_to_end(key)
                while len(_kept) > _MOST_KEPT:
                    _kept.popitem(last=False)
                return _kept[key]
    except OSError as problem:
        raise RecordError(f"{path.name} cannot be read: {problem.strerror}.") from problem


def _read(handle: Handle, path: Path) -> ListedTrajectory:
    content = bytes(handle.read(0, min(handle.size, MAX_BYTES) + 1))
    if len(content) > MAX_BYTES:
        raise RecordError(f"{path.name} has more than {MAX_BYTES:,} bytes, too many to be shown.")
    if _has_too_many_values(content):
        raise RecordError(
            f"{path.name} holds more than {MAX_VALUES:,} values, too many to be shown."
        )
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise RecordError(f"{path.name} is no JSON: {problem!s:.200}.") from problem
    if isinstance(body, dict) and isinstance(body.get("trajectory"), list):
        try:
            return _of_mlgym(mlgym_trajectory(body, Path(path.name)))
        except ResearchError as problem:
            raise RecordError(str(problem)) from problem
    version = text_of(body.get("schema_version")) if isinstance(body, dict) else ""
    steps = body.get("steps") if version.startswith("ATIF") else None
    if not isinstance(steps, list):
        raise RecordError(
            f"{path.name} is no trajectory: expected MLGym's format, an object with a list "
            "'trajectory', or ATIF, an object with 'schema_version' and a list 'steps'."
        )
    if len(steps) > MAX_STEPS:
        raise RecordError(f"{path.name} has more than {MAX_STEPS:,} steps, too many to be shown.")
    return _of_atif(body, version, [one for one in steps if isinstance(one, dict)], path)


def _has_too_many_values(content: bytes) -> bool:
    """Whether decoding would make more objects than allowed; counts as fast as bytes are read."""
    content = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    if content.count(b'"') > MAX_VALUES:
        return True
    bare = _TEXT.sub(b"", content)
    return sum(bare.count(one) for one in (b",", b"[", b"{")) > MAX_VALUES


def _of_mlgym(read: ResearchTrajectory) -> ListedTrajectory:
    scores = [next(iter(named.values()), None) for named in read.scores]
    asked = [n for n, step in enumerate(read.steps) if step.action == "validate"]
    # The score of the end comes after those of validations, if there is one.
    is_clear = len(asked) <= len(scores) <= len(asked) + 1
    validated = dict(zip(asked, scores, strict=False)) if is_clear else {}
    steps = [_mlgym_step(n, step, validated.get(n)) for n, step in enumerate(read.steps)]
    result = {
        "outcome": read.outcome or None,
        "value": scores[-1] if scores else None,
        "cost": read.cost,
        "validations": len(asked) or None,
    }
    subject = Subject(
        task=read.task,
        agent=read.agent,
        model=read.model,
        instruction=read.instruction,
        source="MLGym",
        metric=next(iter(read.scores[-1]), "") if read.scores else "",
        details={
            "prompt_tokens": read.prompt_tokens,
            "completion_tokens": read.completion_tokens,
            "calls": read.calls,
        },
    )
    return ListedTrajectory(subject=subject, listed=steps, result=_known(result))


def _mlgym_step(n: int, step: TrajectoryStep, validation: float | None) -> Step:
    tool, action = action_of(step.action)
    return Step(
        n=n,
        thought=step.thought or (step.response if step.response != step.action else ""),
        tool=tool,
        action=action,
        **_ends(step.output),
        exit_code=step.exit_code,
        seconds=step.seconds,
        validation=validation,
        cwd=text_of(step.state.get("working_dir")),
    )


def _of_atif(
    body: Mapping[str, Any], version: str, steps: list[Mapping[str, Any]], path: Path
) -> ListedTrajectory:
    agent, extra = _object(body.get("agent")), _object(body.get("extra"))
    first = next((n for n, one in enumerate(steps) if one.get("source") == "agent"), len(steps))
    told = {name: _texts(steps[:first], name) for name in ("system", "user")}
    total = _object(body.get("final_metrics"))
    scores = extra.get("scores")
    last = _object(scores[-1]) if isinstance(scores, list) and scores else {}
    metric, value = next(iter(last.items()), ("", None))
    result = {
        "outcome": _text(extra.get("graded")) or _text(extra.get("outcome")) or None,
        "end": _text(extra.get("outcome")) or None,
        "value": number_of(value),
        "normalised": number_of(extra.get("normalised_score")),
        "cost": number_of(total.get("total_cost_usd")),
    }
    subject = Subject(
        task=_text(extra.get("task")) or path.stem,
        agent=_text(agent.get("name")),
        model=_text(agent.get("model_name")),
        instruction=told["user"],
        source=_text(version),
        metric=_text(metric),
        created=_text(steps[0].get("timestamp")) if steps else "",
        details={
            "session_id": _text(body.get("session_id")),
            "agent_version": _text(agent.get("version")),
            "system": told["system"],
            "notes": _text(body.get("notes")),
            **{
                f"total_{name}": count_of(total.get(f"total_{key}"))
                for name, key in _TOKENS.items()
            },
        },
    )
    listed = [_atif_step(n, one) for n, one in enumerate(steps[first:])]
    return ListedTrajectory(subject=subject, listed=listed, result=_known(result))


def _atif_step(n: int, step: Mapping[str, Any]) -> Step:
    extra, metrics = _object(step.get("extra")), _object(step.get("metrics"))
    said, source = _content(step.get("message")), _text(step.get("source"))
    tool, action = _calls(step.get("tool_calls"))
    thought = "\n\n".join(one for one in (_text(step.get("reasoning_content")), said) if one)
    if source != "agent":
        # What somebody else says in the middle of an episode.
        tool, action, thought = source or "unknown", said, ""
    code = extra.get("exit_code")
    tokens = {name: count_of(metrics.get(key)) for name, key in _TOKENS.items()}
    return Step(
        n=n,
        time=_text(step.get("timestamp")),
        thought=thought,
        tool=tool,
        action=action,
        **_ends(_results(step.get("observation"))),
        exit_code=code if type(code) is int else None,
        seconds=number_of(extra.get("seconds")),
        cost=number_of(metrics.get("cost_usd")),
        tokens={name: count for name, count in tokens.items() if count is not None},
        calls=count_of(step.get("llm_call_count")) or 0,
        validation=number_of(extra.get("validation_score")),
        cwd=_text(_object(extra.get("state")).get("cwd")),
    )


def _calls(value: Any) -> tuple[str, str]:
    """Return tool and action of a step; several calls are one action."""
    calls = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    made = []
    for one in calls:
        name = _text(one.get("function_name"))
        tool, action = action_of({"tool": name, "arguments": one.get("arguments")})
        made.append(("" if tool == SHELL else tool, _clean(action)))
    if len(made) == 1:
        return made[0]
    return "", "\n".join(f"{tool}: {action}" if tool else action for tool, action in made)


def _results(value: Any) -> str:
    results = _object(value).get("results")
    rows = results if isinstance(results, list) else []
    return "\n".join(_content(one.get("content")) for one in rows if isinstance(one, dict))


def _content(value: Any) -> str:
    """Return a text, or the texts of a list of parts; of what is no text, its kind."""
    if not isinstance(value, list):
        return _text(value)
    return "\n".join(_parts(value))


def _parts(parts: list[Any]) -> Iterator[str]:
    for one in parts:
        part = _object(one)
        yield _text(part.get("text")) or f"[{_text(part.get('type')) or 'unknown'}]"


def _texts(steps: list[Mapping[str, Any]], source: str) -> str:
    return "\n\n".join(_content(one.get("message")) for one in steps if one.get("source") == source)


def _ends(output: str) -> dict[str, Any]:
    whole = len(output) <= 2 * _SHOWN
    return {
        "output": output if whole else output[:_SHOWN],
        "tail": "" if whole else output[-_SHOWN:],
        "characters": len(output),
    }


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return _clean(text_of(value))


def _clean(text: str) -> str:
    """Replace lone surrogates, which JSON allows and UTF-8 does not."""
    return text.encode("utf-8", "replace").decode()
