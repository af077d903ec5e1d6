"""The record of a research episode as a trajectory: only the steps that are shown are decoded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ludus.errors import RecordError
from ludus.record.format.disk import Handle
from ludus.record.format.event import COMPLETE, read_manifest
from ludus.research.running.partial_output import PARTIAL
from ludus.view.episodes.index import Index, RawEvent, indexes, open_events
from ludus.view.episodes.locks import is_written
from ludus.view.episodes.trajectory import (
    State,
    Step,
    Subject,
    count_of,
    number_of,
    seconds_between,
    text_of,
)
from ludus.view.library import Found
from ludus.view.model.ansi import decoded

__all__ = ["EpisodeRecord", "action_of", "open_episode", "read_subject"]

_OVER = ("close",)
_LAST_PRINTED = 3000
_IN_LISTS, _MOST_CHANGES = 20_000, 1000
_TOKENS = {"prompt": "prompt_tokens", "completion": "completion_tokens", "cached": "cached_tokens"}


@contextmanager
def open_episode(record: Found) -> Iterator[EpisodeRecord]:
    """Open the record of an episode; nothing is verified.

    Raises:
        RecordError: It cannot be read, or its manifest is damaged.
    """
    with record.open() as folder:
        manifest, _ = read_manifest(folder)
    with open_events(record) as handle:
        yield EpisodeRecord(record, manifest, handle, indexes.read(record, handle))


class EpisodeRecord:
    """See :class:`ludus.view.episodes.trajectory.Trajectory`.

    Attributes:
        record: Where it is.
        manifest: Its manifest.
        index: Of its events.
        handle: Of its events.
    """

    def __init__(
        self, record: Found, manifest: Mapping[str, Any], handle: Handle, index: Index
    ) -> None:
        self.record, self.manifest, self.handle, self.index = record, manifest, handle, index
        self.subject = read_subject(manifest)
        self.state: State = self._state()
        self.result: Mapping[str, Any] = self._last_data("result")

    @property
    def kind(self) -> str:
        """Of the record: ``research``, or that of recorded environments."""
        return text_of(self.manifest.get("kind"))

    @property
    def count(self) -> int:
        """Number of steps that have ended."""
        return len(self.index.steps)

    @property
    def head(self) -> str:
        """Hash of the last event, which names the record as it is now."""
        return self._event(len(self.index) - 1).hash if len(self.index) else ""

    def steps(self, first: int, last: int) -> list[Step]:
        """Return steps from ``first`` to before ``last``, as far as there are any.

        Of several, the long texts are cut: each of their events may be 4 MiB, or far more when it
        is decoded.
        """
        first, last = max(0, first), min(last, self.count)
        before = self._event(self.index.steps[first - 1]) if 0 < first < last else None
        found = []
        for n in range(first, last):
            event = self._event(self.index.steps[n])
            step = self._step(n, event, before)
            found.append(step if last - first == 1 else _short(step))
            before = event
        return found

    def pending(self) -> Step | None:
        """Return the step that is being made, or was when the episode was interrupted."""
        start = self._begin(self.count)
        if self.state == "complete" or self.result:
            return None
        before = self._event(start - 1) if self.count else None
        acts = self._numbers(start, len(self.index), "act")
        act = self._event(acts[-1]) if acts else None
        data = {} if act is None else act.data
        tool, action = action_of(data.get("action"))
        printed, so_far = self._printed() if act else (None, "")
        return Step(
            n=self.count,
            time="" if act is None else act.time,
            thought=text_of(data.get("thought")),
            tool=tool,
            action=action,
            stop=text_of(data.get("stop")),
            output=so_far,
            characters=printed,
            thinking=None if act is None or before is None
            else seconds_between(before.time, act.time),
            cost=number_of(data.get("cost")),
            calls=len(self._numbers(start, len(self.index), "ask")),
            faults=self._faults(start, len(self.index)),
            is_pending=True,
        )  # fmt: skip

    def _printed(self) -> tuple[int | None, str]:
        """Return the bytes that the running command has printed, and the end of them."""
        try:
            with self.record.open() as folder:
                handle = folder.open(PARTIAL)
        except RecordError:
            return None, ""
        if handle is None:
            return None, ""
        with handle:
            size = handle.size
            return size, decoded(handle.read(max(0, size - _LAST_PRINTED), _LAST_PRINTED))

    def find(self, n: int, mark: str) -> Step | None:
        """Return a step; ``None`` if there is none, or its hash begins otherwise than ``mark``."""
        found = self.steps(n, n + 1)
        return found[0] if found and found[0].hash.startswith(mark) else None

    def group(self, n: int) -> tuple[int, int]:
        """Return the numbers of the events that led to a step: the first, and one past the last."""
        end = self.index.steps[n] + 1 if n < self.count else len(self.index)
        return self._begin(n), end

    def _begin(self, n: int) -> int:
        return self.index.steps[n - 1] + 1 if n else 0

    def _event(self, number: int) -> RawEvent:
        return self.index.event(self.handle, number)

    def _numbers(self, first: int, last: int, kind: str) -> list[int]:
        if kind not in self.index.names:
            return []
        place = self.index.names.index(kind)
        return [number for number in range(first, last) if self.index.kinds[number] == place]

    def _last_data(self, kind: str) -> Mapping[str, Any]:
        if kind not in self.index.names:
            return {}
        place = self.index.names.index(kind)
        # Results stand at the end.
        for number in range(len(self.index) - 1, max(-1, len(self.index) - 16), -1):
            if self.index.kinds[number] == place:
                return self._event(number).data
        return {}

    def _faults(self, first: int, last: int) -> tuple[str, ...]:
        numbers = self._numbers(first, last, "fault")[:20]
        return tuple(text_of(self._event(number).data.get("reason")) for number in numbers)

    def _state(self) -> State:
        if len(self.index) and self.index.kind(len(self.index) - 1) in _OVER:
            is_complete = self._event(len(self.index) - 1).data.get("outcome") == COMPLETE
            return "complete" if is_complete else "interrupted"
        return "running" if is_written(self.handle) else "interrupted"

    def _step(self, n: int, event: RawEvent, before: RawEvent | None) -> Step:
        data, last = event.data, {} if before is None else before.data
        start, end = self.group(n)
        acts = self._numbers(start, end, "act")
        act = self._event(acts[-1]) if acts else None
        since = before or (self._event(0) if acts else None)
        tool, action = action_of(data.get("action"))
        whole = data.get("output")
        return Step(
            n=n,
            hash=event.hash,
            time=event.time,
            thought=text_of(data.get("thought")),
            tool=tool,
            action=action,
            stop=text_of(data.get("stop")) if event.kind == "end" else "",
            output=whole if isinstance(whole, str) else text_of(data.get("head")),
            tail="" if isinstance(whole, str) else text_of(data.get("tail")),
            characters=count_of(data.get("characters")),
            output_file=text_of(data.get("output_file")) or None,
            exit_code=data["exit_code"] if type(data.get("exit_code")) is int else None,
            seconds=number_of(data.get("seconds")),
            thinking=seconds_between(since.time, act.time) if act and since else None,
            spent=number_of(data.get("spent")),
            cost=_cost(data, last),
            total_cost=number_of(data.get("cost")),
            tokens=_tokens(data.get("model_usage"), last.get("model_usage")),
            calls=len(self._numbers(start, end, "ask")),
            validation=number_of(data.get("validation")),
            graded=_mapping(data.get("graded")),
            final=_mapping(data.get("final")),
            reward=number_of(data.get("reward")),
            changes=changes_of(data.get("changes")),
            cwd=text_of(data.get("cwd")),
            faults=self._faults(start, end),
        )


def read_subject(manifest: Mapping[str, Any]) -> Subject:
    """Return what a record is about, as far as its manifest says so."""
    told = _mapping(manifest.get("subject")) or {}
    scores = _mapping(told.get("evaluation")) or {}
    unit = _mapping(told.get("unit")) or {}
    budget = _mapping(unit.get("budget")) or {}
    shown = ("options", "packages", "egress", "draws", "env", "task_digest", "command_seconds")
    return Subject(
        task=text_of(told.get("task")),
        agent=text_of(told.get("agent")),
        model=text_of(told.get("model")),
        seed=count_of(told.get("seed")),
        instruction=text_of(told.get("description")),
        metric=text_of(scores.get("metric")),
        lower=scores.get("direction") == "lower",
        baseline=number_of(scores.get("baseline")),
        threshold=number_of(scores.get("threshold")),
        max_steps=count_of(budget.get("max_steps")),
        created=text_of(manifest.get("created")),
        details={
            **{name: told[name] for name in shown if name in told},
            "provenance": manifest.get("provenance", {}),
        },
    )


def changes_of(value: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the changes of a step, as far as they have the form of changes."""
    if not isinstance(value, list):
        return ()
    return tuple(one for one in value if isinstance(one, dict) and isinstance(one.get("path"), str))


def action_of(value: Any) -> tuple[str, str]:
    """Return the tool that was called, and the action as text."""
    if isinstance(value, str):
        return "", value
    if not isinstance(value, Mapping):
        return "", ""
    arguments = value.get("arguments")
    arguments = arguments if isinstance(arguments, Mapping) else {}
    if len(arguments) == 1 and isinstance(only := next(iter(arguments.values())), str):
        return text_of(value.get("tool")), only
    lines = [
        f"{name}: {one if isinstance(one, str) else json.dumps(one, default=str)}"
        for name, one in arguments.items()
    ]
    return text_of(value.get("tool")), "\n".join(lines)


def _short(step: Step) -> Step:
    """Return a step as lists need it, in bounded memory."""
    output, tail = step.output, step.tail
    if len(output) > 2 * _IN_LISTS:
        output, tail = output[:_IN_LISTS], tail or output[-_IN_LISTS:]
    return replace(
        step,
        output=output,
        tail=tail[-_IN_LISTS:],
        thought=step.thought[:_IN_LISTS],
        action=step.action[:_IN_LISTS],
        tool=step.tool[:_IN_LISTS],
        stop=step.stop[:_IN_LISTS],
        graded=_verdict(step.graded),
        final=_verdict(step.final),
        changes=step.changes[:_MOST_CHANGES],
        faults=tuple(one[:_IN_LISTS] for one in step.faults),
    )


def _verdict(graded: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if graded is None:
        return None
    return {"score": number_of(graded.get("score"))}


def _cost(data: Mapping[str, Any], before: Mapping[str, Any]) -> float | None:
    now, then = number_of(data.get("cost")), number_of(before.get("cost"))
    return None if now is None else max(0.0, now - (then or 0.0))


def _tokens(now: Any, before: Any) -> dict[str, int]:
    """Return the tokens of a step: the difference of two sums."""
    now, before = _mapping(now) or {}, _mapping(before) or {}
    found = {}
    for name, key in _TOKENS.items():
        count = count_of(now.get(key))
        if count is not None:
            found[name] = max(0, count - (count_of(before.get(key)) or 0))
    return found


def _mapping(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, Mapping) else None
