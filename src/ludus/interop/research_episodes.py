"""Export of a research run's episodes: one JSON line per episode, or one ATIF file per episode."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludus.atomic import replacing
from ludus.bench.result import Result
from ludus.bench.running.folder import BenchFolder
from ludus.bench.statistics.passing import is_success
from ludus.errors import RecordDamaged, ResearchError
from ludus.interop.atif import write_atif
from ludus.record.run.reader import RunReader, read_run
from ludus.research.running.conversation import RecordedCall, read_calls
from ludus.research.running.trajectory import trajectory_of_run

__all__ = ["FORMAT", "Exported", "episode_row", "export_atif", "export_jsonl"]

FORMAT = "ludus.episode/1"
_OF_STEPS = (
    "action", "cwd", "end", "exit_code", "output", "reward", "seconds", "stop", "terminated",
    "thought", "truncated", "validation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes:
        path: The file, or the folder.
        episodes: How many.
        left_out: Ids of the episodes without a result or a record.
    """

    path: Path
    episodes: int
    left_out: tuple[str, ...]


def export_jsonl(folder: BenchFolder, path: str | os.PathLike[str]) -> Exported:
    """Write the finished episodes of a run to a new file, a line each; see :func:`episode_row`.

    Raises:
        FileExistsError: The file exists.
        OSError: It cannot be written.
        RecordError: A record is damaged.
    """
    target = _vacant(path)
    finished, left_out = _finished(folder)
    with replacing(target) as file:
        for result in finished:
            file.write(_line(episode_row(folder, result)))
    return Exported(target, len(finished), left_out)


def export_atif(folder: BenchFolder, path: str | os.PathLike[str]) -> Exported:
    """Write the finished episodes of a run to a new folder, a trajectory ``ID.json`` each.

    Raises:
        FileExistsError: The folder exists.
        OSError: It cannot be written.
        RecordError: A record is damaged.
    """
    target = _vacant(path)
    finished, left_out = _finished(folder)
    target.mkdir()
    for result in finished:
        record = _record(folder, result)
        trajectory = trajectory_of_run(record, head=result.head, within=folder.path)
        write_atif(trajectory, target / f"{result.id}.json", session=result.id)
    return Exported(target, len(finished), left_out)


def episode_row(folder: BenchFolder, result: Result) -> dict[str, Any]:
    """Return an episode as JSON-ready data; ``docs/research.md`` tells of the fields.

    Raises:
        RecordError: Its record is damaged.
        ResearchError: It has none.
    """
    reader = read_run(_record(folder, result), head=result.head, within=folder.path)
    messages, calls, tools = _conversation(reader)
    return {
        "format": FORMAT,
        "id": result.id,
        "run": folder.name,
        "task": reader.manifest["subject"].get("task"),
        "env": result.env,
        "agent": result.agent,
        "model": reader.manifest["subject"].get("model"),
        "seed": result.seed,
        "outcome": result.outcome,
        "reason": result.reason,
        "verified": result.verified,
        "end": result.extra.get("end"),
        "score": result.score,
        "best_score": result.best_score,
        "normalised": result.extra.get("normalised"),
        "success": is_success(result, folder.suite.references),
        "seconds": result.seconds,
        "working_seconds": result.extra.get("working_seconds"),
        "cost": result.cost,
        "usage": result.extra.get("usage"),
        "record": {"path": result.record, "head": result.head},
        "tools": tools,
        "messages": messages,
        "calls": calls,
        "steps": list(_steps(reader)),
    }


def _line(row: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, sort_keys=True)
    except (RecursionError, TypeError, ValueError) as problem:
        told = f"The record of {row['id']} holds what no JSON does: {problem!r:.200}."
        raise RecordDamaged(told) from problem
    return text.encode("utf-8", "replace") + b"\n"


def _conversation(reader: RunReader) -> tuple[list[Any], list[dict[str, Any]], Any]:
    """Return all different messages, the calls with places among these, and the tools."""
    messages: list[Any] = []
    places: dict[str, int] = {}
    calls, tools = [], list[Any]()

    def place(message: Mapping[str, Any]) -> int:
        key = json.dumps(message, sort_keys=True)
        if key not in places:
            places[key] = len(messages)
            messages.append(message)
        return places[key]

    for call in read_calls(reader):
        calls.append({**_call(call), "prompt": [place(one) for one in call.messages]})
        tools = list(call.tools) or tools
    return messages, calls, tools


def _call(call: RecordedCall) -> dict[str, Any]:
    told = {
        "reasoning": call.reasoning or None,
        "prompt_token_ids": call.prompt_token_ids,
        "completion_token_ids": call.completion_token_ids,
        "logprobs": call.logprobs,
        "probe": call.is_probe or None,
    }
    return {
        "step": call.n,
        "reply": call.reply,
        "finish": call.finish,
        "usage": call.usage,
        "seconds": call.seconds,
        **{name: value for name, value in told.items() if value is not None},
    }


def _steps(reader: RunReader) -> Iterator[dict[str, Any]]:
    for event in reader.events:
        if event.kind not in ("step", "end"):
            continue
        data = dict(event.data)
        is_whole = "output" in data
        if not is_whole:
            data["output"] = f"{data.get('head', '')}\n[…]\n{data.get('tail', '')}"
        told = {name: data[name] for name in _OF_STEPS if data.get(name) is not None}
        yield {"step": data["n"], "output_is_whole": is_whole, **told}


def _finished(folder: BenchFolder) -> tuple[list[Result], tuple[str, ...]]:
    results = {one.id: one for one in folder.own_results() if one.record is not None}
    order = [one for one in folder.unit_ids if one in results]
    return [results[one] for one in order], tuple(set(folder.unit_ids) - results.keys())


def _record(folder: BenchFolder, result: Result) -> Path:
    if result.record is None:
        raise ResearchError(f"The episode {result.id} has no record.")
    return folder.path / result.record


def _vacant(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    if target.exists():
        raise FileExistsError(f"{target} exists; name another file with --out, or remove it.")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
